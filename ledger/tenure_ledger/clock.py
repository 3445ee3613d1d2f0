"""The ledger's clock: what a caller's clock may say, and what it is in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, datetime

from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import kind_of

__all__ = ["Clock", "read_clock"]

Clock = Callable[[], datetime]
"""Returns the time now, with a time zone."""

_YEARS = range(MINYEAR + 1, MAXYEAR - 99)
"""Behind them there is room for the longest lease and for any zone."""


def read_clock(clock: Clock) -> datetime:
    """Return the time in UTC. Raises `InvalidInput` for what cannot be the time."""
    now: object = clock()
    if type(now) is datetime and now.tzinfo is UTC and now.year in _YEARS:
        return now
    if not isinstance(now, datetime) or now.utcoffset() is None:
        which = "one without" if isinstance(now, datetime) else kind_of(now)
        msg = f"the clock must return a datetime with a time zone, not {which}"
        raise InvalidInput(msg)
    if now.year not in _YEARS:
        msg = f"the clock says {now}: set it to the time that it is"
        raise InvalidInput(msg)
    return now.astimezone(UTC)
