"""What differs between two readings of a table, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from tenure_ledger.columns import sql_order
from tenure_ledger.rows import Column, Row
from tenure_projections.tables.shape import Key, Table

__all__ = ["Difference", "difference", "unlike"]


class Difference(NamedTuple):
    """One row that differs.

    Of a rebuild: what was stored, and what the ledger says. Of `Ledger.diff`: the row
    at the first moment and at the second.
    """

    table: str
    key: tuple[Column, ...]
    """The values of the table's key."""
    before: dict[str, Column] | None
    """None: there was no such row."""
    after: dict[str, Column] | None
    """None: there is no such row."""


class Unlike(NamedTuple):
    """A key whose rows are not the same on both sides."""

    key: Key
    left: Row | None
    right: Row | None


def unlike(table: Table, left: Iterator[Row], right: Iterator[Row]) -> Iterator[Unlike]:
    """Walk two readings of a table, both by key, and yield where they differ."""
    keys = itemgetter(*map(table.spec.columns.index, table.spec.key))

    def key_of(row: Row | None) -> Key:
        key: Key | Column = () if row is None else keys(row)
        # Of one column it is the value itself.
        return key if isinstance(key, tuple) else (key,)

    one, two = next(left, None), next(right, None)
    while one is not None or two is not None:
        if one == two:
            one, two = next(left, None), next(right, None)
            continue
        at = key_of(one), key_of(two)
        if at[0] == at[1]:
            yield Unlike(at[0], one, two)
            one, two = next(left, None), next(right, None)
        elif two is None or (one is not None and _order(at[0]) < _order(at[1])):
            yield Unlike(at[0], one, None)
            one = next(left, None)
        else:
            yield Unlike(at[1], None, two)
            two = next(right, None)


def difference(table: Table, found: Unlike) -> Difference:
    """Return what is told of it."""
    before, after = (
        None if row is None else dict(zip(table.spec.columns, row, strict=True))
        for row in (found.left, found.right)
    )
    return Difference(table.spec.name, found.key, before, after)


def _order(key: Key) -> list[tuple[int, Column]]:
    return [sql_order(column) for column in key]
