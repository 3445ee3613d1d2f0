"""Make tables anew from the events beside the live ones, compare, put right.

Writers go on meanwhile. The events up to one position are folded, stream by stream,
into a shadow. A snapshot of the ledger, later by then, is what the live rows are
compared in; streams that changed in between are folded again there. Rows that differ
are put right in one unit, in which the shadow catches up once more. No event is
written and nothing is answered, so no reaction can fire (design section 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import NamedTuple, Protocol

from tenure_ledger.errors import Contended, Corrupt, StoreUnavailable
from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load
from tenure_ledger.rows import (
    Conflict,
    Doubtful,
    EventRow,
    Row,
    RowChange,
    Snapshot,
    Store,
)
from tenure_projections.differences import Difference, difference, unlike
from tenure_projections.shadow import Progress, Shadow, fill
from tenure_projections.tables.shape import Key, Table

__all__ = ["DIFFERENCES_MAX", "Rebuilt", "rebuild"]

DIFFERENCES_MAX = 10_000
"""So many differing rows are told of a table; all are put right."""

_EVENTS_LEFT_TO_A_UNIT = 1000
_ROUNDS_MAX = 5
"""Of catching up with writers before they have to wait for the rest of it."""


class Rebuilt(NamedTuple):
    """What came out for one table."""

    table: str
    position: int
    """The moment in which it was compared."""
    streams: int
    """How many streams were folded ..."""
    events: int
    """... and how many events they had."""
    rows: int
    """How many rows they make."""
    differing: int
    """How many rows differed."""
    differences: tuple[Difference, ...]
    """The first of them, by key: at most 10000."""


class _Reader(Protocol):
    """A snapshot, or a unit."""

    def tail(self, stream: str, version: int) -> Sequence[EventRow]: ...

    def body(self, stream: str, digest: str) -> bytes | None: ...


def rebuild(
    store: Store,
    tables: Sequence[Table],
    deadline_seconds: float,
    *,
    check: bool,
    progress: Progress | None,
) -> list[Rebuilt]:
    """Compare these tables with the events, and put right what differs."""
    with Shadow(tables, spare=True) as shadow:
        position = store.horizon()
        folded = fill(shadow, store, position, progress)
        after, position = position, store.horizon()
        with store.snapshot() as snapshot:
            _catch_up(shadow, store, snapshot, after, snapshot.position)
            found = [_compared(shadow, snapshot, table, folded) for table in tables]
        wrong = {one.table for one in found if one.differing}
        for table in tables:
            if table.spec.name in wrong and not check:
                position = _put_right(shadow, store, table, position, deadline_seconds)
        return found


def _catch_up(
    shadow: Shadow,
    store: Store,
    reader: _Reader,
    after: int,
    position: int | None = None,
) -> None:
    """Make anew the rows of every stream that changed after one position."""
    events = store.events(after, position)
    for stream in dict.fromkeys(event.stream for event in events):
        state = load(State(stream), reader.tail(stream, 0))
        shadow.put(state, reader.body)


def _compared(
    shadow: Shadow, snapshot: Snapshot, table: Table, folded: tuple[int, int]
) -> Rebuilt:
    count = differing = 0

    def counted() -> Iterator[Row]:
        nonlocal count
        for count, row in enumerate(shadow.rows(table), 1):  # noqa: B007
            yield row

    told: list[Difference] = []
    for found in unlike(table, snapshot.rows(table.spec.name), counted()):
        row = found.right or found.left
        stream = None if row is None else table.stream(row)
        try:
            if found.right is None and shadow.is_spared(stream):
                continue
            shadow.note(table, found.key, stream)
        except UnicodeEncodeError as error:
            raise _no_text(table, found.key) from error
        differing += 1
        if differing <= DIFFERENCES_MAX:
            told.append(difference(table, found))
    return Rebuilt(
        table.spec.name, snapshot.position, *folded, count, differing, tuple(told)
    )


def _no_text(table: Table, key: Key) -> Corrupt:
    return Corrupt(
        f"a row of {table.spec.name} has a key that is no text ({key!r}): delete it "
        "with the client that wrote it, then rebuild again"
    )


def _put_right(
    shadow: Shadow, store: Store, table: Table, position: int, deadline_seconds: float
) -> int:
    """Write the right rows in one unit; return up to where the shadow is now."""
    until = monotonic() + deadline_seconds
    shadow.index(table)
    for _ in range(_ROUNDS_MAX):
        if (ahead := store.horizon()) - position <= _EVENTS_LEFT_TO_A_UNIT:
            break
        with store.snapshot() as snapshot:
            _catch_up(shadow, store, snapshot, position)
        position = ahead
    while True:
        try:
            with store.write(deadline_seconds) as unit:
                ahead = store.horizon()
                _catch_up(shadow, store, unit, position)
                position = ahead
                unit.expect(shadow.versions(table))
                unit.add((), None, (), _changes(shadow, table))
                unit.commit()
        except (Conflict, Doubtful) as problem:
            if monotonic() < until:
                continue
            if isinstance(problem, Conflict):
                msg = "other writers were faster until the deadline: rebuild again"
                raise Contended(msg) from problem
            msg = f"it is not known whether the rows were put right ({problem}): again"
            raise StoreUnavailable(msg) from problem
        else:
            return position


def _changes(shadow: Shadow, table: Table) -> Iterator[RowChange]:
    """Yield deletions first: a right row may take what a wrong one holds."""
    name = table.spec.name
    for key, row in shadow.noted(table):
        if row is None or table.unique is not None:
            yield RowChange(name, key, None)
    for key, row in shadow.noted(table):
        if row is not None:
            yield RowChange(name, key, row)
