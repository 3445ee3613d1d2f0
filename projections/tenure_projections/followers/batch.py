"""What one batch of events does to a read model: no store, no clock, no thread.

A batch is whole commands. An event that cannot be handled parks its stream: the later
events of that stream wait, in their order, and all others go on.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tenure_ledger.codec import decode
from tenure_ledger.errors import Corrupt
from tenure_ledger.events import Event, Recorded
from tenure_ledger.rows import EventRow
from tenure_projections.followers.rows import ModelRows, WorkingRows
from tenure_projections.followers.tracking import Parked

__all__ = [
    "Batch",
    "Command",
    "Handle",
    "Unreadable",
    "commands",
    "error_text",
    "first_events",
    "handle",
]

ERROR_CHARACTERS_MAX = 2000

Handle = Callable[[Recorded, ModelRows], None]


class Unreadable(NamedTuple):
    """An event that somebody changed in the store."""

    position: int
    stream: str
    version: int
    problem: Corrupt


Command = Sequence[Recorded | Unreadable]
"""What one command appended, in however many streams."""


class Batch(NamedTuple):
    """What came of it."""

    position: int
    """Of the last event that was gone past; 0: of none."""
    passed: int
    """How many events were gone past: handled, parked, or left to wait."""
    handled: int
    parked: Mapping[str, Parked]
    """The streams that it parked."""


def commands(rows: Iterable[EventRow]) -> Iterator[Command]:
    """Group rows in the order of positions by the commands that wrote them."""
    command: list[Recorded | Unreadable] = []
    place = _Place("", 0, 0)
    for row in rows:
        one = _read(row)
        its = _place(one)
        if command and its != place._replace(nth=place.nth + 1):
            yield command
            command = []
        place = its
        command.append(one)
    if command:
        yield command


def first_events(given: Iterable[Command], events_max: int) -> Iterator[Command]:
    """Yield the first commands, up to this many events: at least one, if there is."""
    events = 0
    for command in given:
        yield command
        events += len(command)
        if events >= events_max:
            return


def handle(
    work: Handle,
    batch: Iterable[Command],
    rows: WorkingRows,
    parked: Container[str],
    bad: Mapping[int, str],
    after_each: Callable[[int], object],
    go_on: Callable[[], bool],
) -> Batch:
    """Hand each event of the batch to the model, as far as ``go_on`` says.

    Events of streams in ``parked`` wait. ``bad``: the positions of events that a table
    refused, and how; ``after_each`` takes the position of each that was handled. Raises
    what the store failed with, and what is no `Exception`.
    """
    position = passed = handled = 0
    now: dict[str, Parked] = {}
    for command in batch:
        for one in command:
            if one.stream in parked or one.stream in now:
                continue
            error = bad.get(one.position)
            if error is None:
                error = _handle(work, one, rows)
            if error is not None:
                now[one.stream] = Parked(one.stream, one.position, one.version, error)
            else:
                handled += 1
                after_each(one.position)
        position = command[-1].position
        passed += len(command)
        if not go_on():
            break
    return Batch(position, passed, handled, now)


def error_text(problem: BaseException) -> str:
    """Return what is kept of an exception: text that every store can keep."""
    text = "".join(traceback.format_exception_only(problem)).strip()
    plain = text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return plain[:ERROR_CHARACTERS_MAX]


def _handle(work: Handle, one: Recorded | Unreadable, rows: WorkingRows) -> str | None:
    """Handle one event; return what went wrong, and then nothing of it is kept."""
    if isinstance(one, Unreadable):
        return error_text(one.problem)
    keep = False
    rows.begin()
    try:
        work(one, rows)
        keep = True
    except Exception as problem:  # noqa: BLE001  whatever a user's code can raise
        if rows.fault is None:
            return error_text(problem)
    finally:
        rows.end(keep=keep)
    if rows.fault is not None:
        # Also where the model caught it: the transaction is over.
        raise rows.fault
    return None


def _read(row: EventRow) -> Recorded | Unreadable:
    try:
        return decode(row)
    except Corrupt as problem:
        # Without its place in the ledger nothing can be parked.
        named = type(row.stream) is str and type(row.version) is int
        if not named:
            raise
        return Unreadable(row.position, row.stream, row.version, problem)


class _Place(NamedTuple):
    """Where an event stands in its command; the same id may name several commands."""

    command_id: str
    nth: int
    of: int


def _place(one: Recorded | Unreadable) -> _Place:
    if isinstance(one, Unreadable):
        return _Place("", 0, 0)
    if isinstance(one.event, Event):
        return _Place(one.event.command_id, one.event.index, one.event.count)
    header = one.event.header
    index, count = header.get("index"), header.get("count")
    if not isinstance(index, int) or not isinstance(count, int):
        return _Place("", 0, 0)
    return _Place(str(header.get("command_id", "")), index, count)
