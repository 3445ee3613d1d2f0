"""States kept in memory, caught up with the store before each use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

from tenure_ledger.collecting import collecting_later
from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load
from tenure_ledger.rows import EventRow

__all__ = ["Cache", "caught_up"]

CACHED_STREAMS_MAX = 4096


class Cache:
    """The states of the streams used last; versions decide, never the cache."""

    def __init__(self, streams_max: int = CACHED_STREAMS_MAX) -> None:
        self._streams_max = streams_max
        self.renew()

    def renew(self) -> None:
        """Begin empty, with a lock that no thread holds: after a fork, for example."""
        self._states: OrderedDict[str, State] = OrderedDict()
        self._lock = Lock()

    def get(self, stream: str) -> State:
        """Return the state as it was seen last."""
        with self._lock:
            state = self._states.get(stream)
            if state is None:
                return State(stream)
            self._states.move_to_end(stream)
            return state

    def put(self, state: State) -> None:
        """Remember a state that is durable."""
        with self._lock:
            states, stream = self._states, state.stream
            known = states.get(stream)
            if known is None:
                states[stream] = state
                if len(states) > self._streams_max:
                    states.popitem(last=False)
            elif known.version <= state.version:
                states[stream] = state

    def __contains__(self, stream: str) -> bool:
        with self._lock:
            return stream in self._states

    def forget(self, stream: str) -> None:
        """Drop a state that the store contradicts."""
        with self._lock:
            self._states.pop(stream, None)


def caught_up(
    cache: Cache,
    stream: str,
    tail: Callable[[str, int], Sequence[EventRow]],
    head: Callable[[str], tuple[int, bytes] | None] | None = None,
) -> State:
    """Return the state at the stream's durable head, and remember it.

    The row at the cached version is read again: a file that was put back to an older
    state is noticed, and the stream is folded anew. ``head`` asks for less of it.
    """
    state = cache.get(stream)
    if not state.version:
        if head is not None and stream in cache and head(stream) is None:
            return state
        state = _from_zero(stream, tail)
    elif head is not None and head(stream) == (state.version, state.hash):
        return state
    else:
        rows = tail(stream, state.version)
        if not rows or rows[0].hash != state.hash:
            cache.forget(stream)
            state = _from_zero(stream, tail)
        elif len(rows) == 1:
            return state
        else:
            state = load(state, rows[1:])
    cache.put(state)
    return state


def _from_zero(stream: str, tail: Callable[[str, int], Sequence[EventRow]]) -> State:
    with collecting_later():
        return load(State(stream), tail(stream, 0))
