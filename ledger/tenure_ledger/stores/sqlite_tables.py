"""Statements for the tables that are written with the events, made once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from tenure_ledger.rows import RowChange, TableSpec
from tenure_ledger.stores.tables import unknown_table

__all__ = ["Tables"]


class Tables:
    """Put and delete rows of the tables that a store was opened with."""

    def __init__(self, specs: Sequence[TableSpec]) -> None:
        self.specs = tuple(specs)
        self._put = {spec.name: _put(spec) for spec in specs}
        self._delete = {spec.name: _delete(spec) for spec in specs}
        self._select = {spec.name: _select(spec) for spec in specs}

    def apply(self, db: sqlite3.Connection, changes: Iterable[RowChange]) -> None:
        """Make the changes in their order. Raises InvalidInput, sqlite3.Error."""
        for table, key, row in changes:
            if table not in self._put:
                raise unknown_table(table)
            if row is None:
                db.execute(self._delete[table], key)
            else:
                db.execute(self._put[table], row)

    def select(self, table: str) -> str:
        """Return the query for all rows, by key. Raises InvalidInput."""
        if table not in self._select:
            raise unknown_table(table)
        return self._select[table]


def _put(spec: TableSpec) -> str:
    rest = [column for column in spec.columns if column not in spec.key]
    changes = ", ".join(f"{_quote(c)} = excluded.{_quote(c)}" for c in rest)
    return (
        f"INSERT INTO {_quote(spec.name)} ({_list(spec.columns)}) "  # noqa: S608
        f"VALUES ({', '.join('?' * len(spec.columns))}) "
        f"ON CONFLICT ({_list(spec.key)}) "
        + (f"DO UPDATE SET {changes}" if rest else "DO NOTHING")
    )


def _delete(spec: TableSpec) -> str:
    match = " AND ".join(f"{_quote(column)} = ?" for column in spec.key)
    return f"DELETE FROM {_quote(spec.name)} WHERE {match}"  # noqa: S608


def _select(spec: TableSpec) -> str:
    return (
        f"SELECT {_list(spec.columns)} FROM {_quote(spec.name)} "  # noqa: S608
        f"ORDER BY {_list(spec.key)}"
    )


def _list(names: Sequence[str]) -> str:
    return ", ".join(_quote(name) for name in names)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
