"""The tables as the ledger's writer takes them: rows in the events' transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, compress
from operator import attrgetter, is_not

from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.lean import load
from tenure_ledger.rows import Row, RowChange, Snapshot, TableSpec
from tenure_projections.tables import TABLES, Table
from tenure_projections.tables.shape import Body, Key

__all__ = ["LiveTables", "rows_of"]


_PARTS = sorted(frozenset[str]().union(*(table.parts for table in TABLES)))
"""The parts of a state that any table is made from."""
_parts = attrgetter(*_PARTS)


class LiveTables:
    """Every table of design section 8."""

    specs: Sequence[TableSpec] = tuple(table.spec for table in TABLES)

    def changes(self, changes: Sequence[Change], body: Body, /) -> Iterator[RowChange]:
        """Yield the row changes of one command: releases before binds.

        Nothing is read before the first is asked for: the bodies are stored by then.
        """
        for table in _concerned(changes):
            of_table = [
                RowChange(table.spec.name, key, table.row(change.after, key, body))
                for change in changes
                for key in _keys(table, change)
            ]
            if len(of_table) > 1 and table.unique is not None:
                of_table.sort(key=partial(_binds, table))
            yield from of_table

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


def _concerned(changes: Sequence[Change]) -> Iterable[Table]:
    """Return the tables of which a row may have changed: no other costs anything."""
    parts: set[str] = set()
    for change in changes:
        before, after = change.before, change.after
        if before.quarantine or after.quarantine or after.too_new:
            return TABLES
        parts.update(compress(_PARTS, map(is_not, _parts(before), _parts(after))))
    return _OF_PARTS[frozenset(parts)]


def _of_parts() -> dict[frozenset[str], tuple[Table, ...]]:
    """Return for every set of parts of a state the tables that are made from them."""
    every = [
        frozenset(parts)
        for count in range(len(_PARTS) + 1)
        for parts in combinations(_PARTS, count)
    ]
    return {
        parts: tuple(table for table in TABLES if parts & table.parts)
        for parts in every
    }


_OF_PARTS = _of_parts()


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
