"""A row says of each column what is in it, or that nothing is: any mixture, any order.

A store may put rows with different columns left empty by different statements.
"""

from __future__ import annotations

from itertools import product

from stored import AnyStore
from tenure_ledger.rows import Row, RowChange, TableSpec

NAMES = tuple("abcdefgh")
WIDE = TableSpec(
    "wide",
    ("k", *NAMES),
    ("k",),
    {
        "sqlite": "CREATE TABLE IF NOT EXISTS wide (k PRIMARY KEY, "
        + ", ".join(NAMES)
        + ")",
        "postgres": "CREATE TABLE IF NOT EXISTS wide (k bigint PRIMARY KEY, "
        + ", ".join(f"{name} text" for name in NAMES)
        + ")",
    },
)
MIXTURES: list[tuple[str | None, ...]] = list(
    product(*((name, None) for name in NAMES))
)
"""More of them than any store keeps statements for."""


def put(store: AnyStore, rows: list[Row]) -> None:
    """Put the rows in one unit."""
    with store.write(10.0) as unit:
        changes = [RowChange("wide", row[:1], row) for row in rows]
        unit.add([], None, changes=changes)
        unit.commit()


def stored(store: AnyStore) -> list[Row]:
    """Return the table's rows, by key."""
    with store.snapshot() as snapshot:
        return list(snapshot.rows("wide"))


def test_rows_of_every_mixture_of_columns_are_read_back(store: AnyStore) -> None:
    store.define([WIDE])
    rows: list[Row] = [(at, *mixture) for at, mixture in enumerate(MIXTURES)]
    put(store, rows)
    assert stored(store) == rows


def test_a_row_put_again_leaves_nothing_of_the_row_before_it(store: AnyStore) -> None:
    store.define([WIDE])
    put(store, [(at, *mixture) for at, mixture in enumerate(MIXTURES)])
    turned: list[Row] = [(at, *row) for at, row in enumerate(reversed(MIXTURES))]
    put(store, turned)
    assert stored(store) == turned
