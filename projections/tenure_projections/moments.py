"""Which position a moment is: of a time, and where a command is whole."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from tenure_ledger.events.envelope import UNSEALED
from tenure_ledger.rows import EventRow, Store

__all__ = ["latest_until", "whole"]


class _Envelope(msgspec.Struct, frozen=True, gc=False):
    """What says where an event belongs; the rest of its header is not read."""

    recorded_at: Annotated[datetime, msgspec.Meta(tz=True)] = UNSEALED
    command_id: str = ""
    index: int = 0
    count: int = 1


_decode = msgspec.json.Decoder(_Envelope).decode
_NONE = _Envelope()


def latest_until(store: Store, moment: datetime) -> int:
    """Return the highest position at and below which nothing is younger.

    Clocks jump back, so this is not the last event that is old enough, but the last
    before the first that is too young. Reads every event up to there.
    """
    position = 0
    for row in store.events(0, store.horizon()):
        if _envelope(row).recorded_at > moment:
            break
        position = row.position
    return position


def whole(store: Store, position: int) -> int:
    """Return the highest position, not above this one, that splits no command."""
    row = _last(store, position)
    if row is None or not _goes_on(row, _first_above(store, position)):
        return position
    while (before := _last(store, row.position - 1)) and _goes_on(before, row):
        row = before
    return row.position - 1


def _last(store: Store, position: int) -> EventRow | None:
    """Return the last event at or below a position."""
    after, width = position, 1
    # There may be holes: what was rolled back leaves one.
    while after > 0:
        after, width = max(0, position - width), 2 * width
        row = None
        for row in store.events(after, position):  # noqa: B007
            pass
        if row is not None:
            return row
    return None


def _first_above(store: Store, position: int) -> EventRow | None:
    """Return the first event above a position."""
    near = next(store.events(position, position + 1), None)
    return near or next(store.events(position), None)


def _goes_on(row: EventRow, following: EventRow | None) -> bool:
    """Say whether the two are neighbours in one command."""
    one = _envelope(row)
    if following is None or one.index + 1 >= one.count:
        return False
    two = _envelope(following)
    return (two.command_id, two.index, two.count) == (
        one.command_id,
        one.index + 1,
        one.count,
    )


def _envelope(row: EventRow) -> _Envelope:
    try:
        return _decode(row.state)
    except (msgspec.MsgspecError, ValueError, TypeError):
        # A later version's event may look otherwise: it is a command of its own.
        return _NONE
