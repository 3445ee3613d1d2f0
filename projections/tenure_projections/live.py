"""The tables as the ledger's writer takes them: rows in the events' transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load
from tenure_ledger.rows import RowChange, Snapshot, TableSpec
from tenure_ledger.shell import Change
from tenure_projections.tables import TABLES, Table
from tenure_projections.tables.shape import Body, Key, Row

__all__ = ["LiveTables", "rows_of"]


class LiveTables:
    """Every table of design section 8."""

    specs: Sequence[TableSpec] = tuple(table.spec for table in TABLES)

    def changes(self, changes: Sequence[Change], body: Body, /) -> Iterator[RowChange]:
        """Return the row changes of one command: releases before binds."""
        for table in TABLES:
            found = list(_found(table, changes, body))
            if len(found) > 1:
                found.sort(key=lambda change: _binds(table, change))
            yield from found

    def fill(self, snapshot: Snapshot, names: Sequence[str]) -> Iterator[RowChange]:
        """Return the rows of these tables, which are new in a ledger with events."""
        wanted = [table for table in TABLES if table.spec.name in names]
        for stream in snapshot.streams():
            state = load(State(stream), snapshot.tail(stream, 0))
            for table in wanted:
                for key, row in rows_of(table, state, snapshot.body):
                    yield RowChange(table.spec.name, key, row)


def rows_of(table: Table, state: State, body: Body) -> Iterator[tuple[Key, Row]]:
    """Yield every row that the stream has in this table."""
    for key in table.keys(state):
        row = table.row(state, key, body)
        if row is not None:
            yield key, row


def _found(table: Table, changes: Sequence[Change], body: Body) -> Iterator[RowChange]:
    name = table.spec.name
    for change in changes:
        for key in _keys(table, change):
            yield RowChange(name, key, table.row(change.after, key, body))


def _keys(table: Table, change: Change) -> Iterable[Key]:
    if change.before.quarantine is None:
        return table.touched(change)
    # What was held is told at once when the quarantine ends: look at everything.
    return dict.fromkeys((*table.keys(change.before), *table.keys(change.after)))


def _binds(table: Table, change: RowChange) -> bool:
    """Say whether the row takes a value that another row may have to give up first."""
    if change.row is None or table.unique is None:
        return change.row is not None
    return change.row[table.spec.columns.index(table.unique)] is not None
