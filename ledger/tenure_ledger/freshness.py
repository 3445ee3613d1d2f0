"""States that are surely those of the durable head, without reading it each time."""

from __future__ import annotations

from collections.abc import Callable

from tenure_ledger.folds.stream import State

__all__ = ["Freshness"]

STREAMS_MAX = 4096


class Freshness:
    """Remembers what was read while nobody committed.

    A lagging memory must never say no (design section 6). So what is remembered hangs
    on a pulse that was asked before the reading: as long as it beats the same, nothing
    was committed since, by anybody; once it differs, all is forgotten.
    """

    def __init__(
        self, pulse: Callable[[], object], load: Callable[[str], State]
    ) -> None:
        self._pulse = pulse
        self._load = load
        # One value, so that no thread puts a state under a pulse that it did not ask.
        self._known: tuple[object, dict[str, State]] = (None, {})

    def state(self, stream: str) -> State:
        """Return the stream's state at its durable head."""
        pulse = self._pulse()
        known = self._known
        if known[0] != pulse:
            known = self._known = (pulse, {})
        state = known[1].get(stream)
        if state is None:
            if len(known[1]) >= STREAMS_MAX:
                known[1].clear()
            state = known[1][stream] = self._load(stream)
        return state
