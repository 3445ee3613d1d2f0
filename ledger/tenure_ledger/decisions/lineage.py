"""The way up: an owner, its parent and so on. The one walk over parents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef

__all__ = ["hangs_on", "known_line", "line"]


def line(
    owner: OwnerRef, state_of: Callable[[OwnerRef], State | None]
) -> Iterator[tuple[OwnerRef, State | None]]:
    """Yield the owner, its parent and so on, each with its state, each once.

    Where ``state_of`` knows no state it is None, and the way ends: who is above is not
    known. A stored history may name an owner as its own ancestor; the way ends there.
    """
    state = state_of(owner)
    yield owner, state
    seen = {owner.stream}
    while state is not None and state.ownership.parent is not None:
        at = state.ownership.parent
        if at.stream in seen:
            return
        seen.add(at.stream)
        state = state_of(at)
        yield at, state


def hangs_on(
    owner: OwnerRef, state_of: Callable[[OwnerRef], State | None]
) -> State | None:
    """Return the state of what has to be open for the owner to go on.

    Its parent; or, where that is a thing whose holding ended with that of its user,
    the user: the next holder there takes the thing again (design section 2). None: it
    has no parent, or it is not known.
    """
    for at, state in line(owner, state_of):
        if at != owner and (state is None or state.ownership.status != "revoked"):
            return state
    return None


def known_line(
    states: Mapping[str, State], owner: OwnerRef
) -> list[tuple[OwnerRef, State]]:
    """Return the owner, its parent and so on, as far as ``states`` holds them."""
    way = line(owner, lambda at: states.get(at.stream))
    return [(at, state) for at, state in way if state is not None]
