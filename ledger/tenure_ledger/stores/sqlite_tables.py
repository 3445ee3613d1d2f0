"""Statements for the tables that are written with the events, made once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, repeat
from operator import is_not

from tenure_ledger.columns import check_columns, without_unique
from tenure_ledger.rows import Column, Fill, Row, RowChange, TableSpec
from tenure_ledger.stores.known_tables import KnownTables, listed, quote

__all__ = ["Tables"]

_PUTS_MAX = 96


class Tables(KnownTables):
    """Put, delete and find rows of the tables that a store was opened with."""

    def __init__(
        self, specs: Sequence[TableSpec] = (), fill: Fill | None = None
    ) -> None:
        super().__init__(specs, fill)
        self._select: dict[tuple[str, ...], str] = {}
        self._put: dict[tuple[str, tuple[bool, ...]], str] = {}
        self._delete: dict[str, str] = {}

    def know_anew(self) -> None:
        """Forget the statements that were made for other tables of these names."""
        self._select.clear()
        self._put.clear()
        self._delete.clear()

    def apply(self, db: sqlite3.Connection, changes: Iterable[RowChange]) -> None:
        """Make the changes in their order. Raises InvalidInput, sqlite3.Error."""
        for table, key, row in changes:
            if row is None:
                db.execute(self._deleting(table), key)
            else:
                try:
                    db.execute(*self._putting(table, row))
                except sqlite3.IntegrityError:
                    spared = without_unique(self.spec(table), row)
                    if spared == row:
                        raise
                    db.execute(*self._putting(table, spared))

    def _deleting(self, table: str) -> str:
        statement = self._delete.get(table)
        if statement is None:
            statement = self._delete[table] = _delete(self.spec(table))
        return statement

    def _putting(self, table: str, row: Row) -> tuple[str, Row]:
        """Return the statement that puts the row, and the values to give it.

        What is NULL stands in the text: of None, as of bytes, the module asks each time
        what it should be adapted to, which takes longer than to bind a value.
        """
        given = tuple(map(is_not, row, repeat(None)))
        statement = self._put.get((table, given))
        if statement is None:
            if len(self._put) >= _PUTS_MAX:
                # One for all further kinds of rows: the connection keeps so many.
                given = (True,) * len(row)
            key = table, given
            statement = self._put.get(key) or _put(self.spec(table), given)
            self._put[key] = statement
        return statement, tuple(compress(row, given))

    def select(
        self, table: str, where: Mapping[str, Column]
    ) -> tuple[str, tuple[Column, ...]]:
        """Return the query for rows with these values, by key. Raises InvalidInput."""
        asked = (table, *where)
        query = self._select.get(asked)
        if query is None:
            spec = self.spec(table)
            check_columns(spec, where)
            query = self._select[asked] = _find(spec, where)
        return query, tuple(where.values())


def _find(spec: TableSpec, where: Iterable[str]) -> str:
    match = " AND ".join(f"{quote(column)} IS ?" for column in where)
    return (
        f"SELECT {listed(spec.columns)} FROM {quote(spec.name)} "  # noqa: S608
        f"{'WHERE ' + match if match else ''} ORDER BY {listed(spec.key)}"
    )


def _put(spec: TableSpec, given: Sequence[bool]) -> str:
    rest = [column for column in spec.columns if column not in spec.key]
    changes = ", ".join(f"{quote(c)} = excluded.{quote(c)}" for c in rest)
    return (
        f"INSERT INTO {quote(spec.name)} ({listed(spec.columns)}) "  # noqa: S608
        f"VALUES ({', '.join('?' if there else 'NULL' for there in given)}) "
        f"ON CONFLICT ({listed(spec.key)}) "
        + (f"DO UPDATE SET {changes}" if rest else "DO NOTHING")
    )


def _delete(spec: TableSpec) -> str:
    match = " AND ".join(f"{quote(column)} = ?" for column in spec.key)
    return f"DELETE FROM {quote(spec.name)} WHERE {match}"  # noqa: S608
