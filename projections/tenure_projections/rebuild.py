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
    RowRefused,
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
    """Walk through both, and note the keys of the rows that are not as they should."""
    count, differing = 0, 0
    stream: str | None = None
    key: Key = ()
    told: list[Difference] = []

    def right() -> Iterator[Row]:
        nonlocal count, stream
        for row, stream in shadow.rows(table):  # noqa: B007  of the latest row
            count += 1
            yield row

    def wrong() -> Iterator[tuple[Key, str | None]]:
        nonlocal differing, key
        for found in unlike(table, snapshot.rows(table.spec.name), right()):
            key, of = found.key, stream
            if found.right is None:
                of = None if found.left is None else table.stream(found.left)
                if shadow.is_spared(of):
                    continue
            differing += 1
            if differing <= DIFFERENCES_MAX:
                told.append(difference(table, found))
            yield key, of

    try:
        shadow.note(table, wrong())
    except UnicodeEncodeError as error:
        raise _no_text(table, key) from error
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
        except RowRefused as refusal:
            raise _in_the_way(table, refusal) from refusal
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


def _in_the_way(table: Table, refusal: RowRefused) -> Corrupt:
    return Corrupt(
        f"{table.spec.name} refuses a row that the ledger makes "
        f"({refusal.__cause__ or refusal}); nothing was written to it. Somebody added "
        "an index, a trigger or the like to it: drop that, then rebuild again."
    )


def _changes(shadow: Shadow, table: Table) -> Iterator[RowChange]:
    """Yield the right rows in the place of the wrong ones."""
    name = table.spec.name
    if table.unique is not None:
        # A right row may take what a wrong one holds.
        for key, _ in shadow.noted(table):
            yield RowChange(name, key, None)
    for key, row in shadow.noted(table):
        yield RowChange(name, key, row)
