"""What the tables must hold: every row made anew from the events, and nothing else."""

from __future__ import annotations

from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load
from tenure_ledger.rows import Column, RowChange, Store
from tenure_projections.live import rows_of
from tenure_projections.tables import TABLES

__all__ = ["Rows", "mend", "right_tables", "stored_tables"]

Rows = dict[str, dict[tuple[Column, ...], tuple[Column, ...]]]
"""Table, key, row."""


def right_tables(store: Store) -> Rows:
    """Return all rows as the events make them."""
    found: Rows = {table.spec.name: {} for table in TABLES}
    with store.snapshot() as snapshot:
        for stream in snapshot.streams():
            state = load(State(stream), snapshot.tail(stream, 0))
            for table in TABLES:
                found[table.spec.name].update(rows_of(table, state, snapshot.body))
    return found


def stored_tables(store: Store) -> Rows:
    """Return all rows as they are stored."""
    found: Rows = {}
    with store.snapshot() as snapshot:
        for table in TABLES:
            spec = table.spec
            places = [spec.columns.index(column) for column in spec.key]
            found[spec.name] = {
                tuple(row[place] for place in places): row
                for row in snapshot.rows(spec.name)
            }
    return found


def mend(store: Store, stream: str) -> None:
    """Put the rows of one stream, to which something was appended by no command."""
    with store.write(10.0) as unit:
        state = load(State(stream), unit.tail(stream, 0))
        changes = [
            RowChange(table.spec.name, key, row)
            for table in TABLES
            for key, row in rows_of(table, state, unit.body)
        ]
        unit.add((), None, (), changes)
        unit.commit()
