"""Read the ledger from a position on, and wait for what comes.

Whoever waits looks at the store's pulse again and again, and holds nothing in between.
A pulse that is missed loses nothing: after a second the events are read all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from time import monotonic

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import EventRow, Store

__all__ = ["FIRST_SECONDS", "POLL_SECONDS", "follow", "settled", "wait"]

FIRST_SECONDS, POLL_SECONDS = 0.005, 0.04
"""How long whoever waits does not look: first, and at most. Each time by a half longer,
so what follows soon is seen soon, and where nothing happens few looks are taken."""
LOOK_SECONDS = 1.0
"""How long one trusts the pulse."""


def settled(store: Store, after: int) -> Iterator[EventRow]:
    """Yield the rows above ``after`` below which nothing can appear any more.

    All that follows the ledger reads through here: what it has seen is a prefix of the
    ledger for ever, and ends with a whole command. Ends where there is no more now.
    """
    horizon = store.horizon()
    if horizon > after:
        yield from store.events(after, horizon)


def wait(store: Store, seen: object, stop: Event, over: Callable[[], bool]) -> None:
    """Return when the pulse is another one than ``seen``, or it is all ``over``.

    ``stop`` ends the wait at once. It never lasts longer than `LOOK_SECONDS`.
    """
    until = monotonic() + LOOK_SECONDS
    pause = FIRST_SECONDS
    while not (over() or stop.wait(pause)):
        if store.pulse() != seen or monotonic() >= until:
            return
        pause = min(1.5 * pause, POLL_SECONDS)


def follow(
    store: Store, after: int, stop: Event, closed: Callable[[], bool]
) -> Iterator[EventRow]:
    """Yield the rows above ``after`` and wait for more, until one of the two says end.

    Raises what reading raises.
    """

    def over() -> bool:
        return stop.is_set() or closed()

    try:
        while not over():
            seen = store.pulse()
            for row in settled(store, after):
                if over():
                    return
                yield row
                after = row.position
            wait(store, seen, stop, over)
    except StoreUnavailable:
        # Closed between two looks.
        if not closed():
            raise
