"""Statements for the tables that are written with the events, made once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, repeat
from operator import is_not

from tenure_ledger.columns import (
    check_columns,
    taken_table,
    unknown_table,
    without_unique,
)
from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import Column, Fill, Row, RowChange, TableSpec

__all__ = ["Tables"]

_PUTS_MAX = 96


class Tables:
    """Put, delete and find rows of the tables that a store was opened with."""

    def __init__(
        self, specs: Sequence[TableSpec] = (), fill: Fill | None = None
    ) -> None:
        self.kept = tuple(specs)
        """Those that every writer keeps in the transaction of its events."""
        self.fill = fill
        self.lacking: frozenset[str] = frozenset()
        """Those that the file's writers keep and this store was not given."""
        self._others: dict[str, TableSpec] = {}
        self._specs: dict[str, TableSpec] = {}
        self._select: dict[tuple[str, ...], str] = {}
        self._put: dict[tuple[str, tuple[bool, ...]], str] = {}
        self._delete: dict[str, str] = {}
        self._learn(specs)

    def define(self, specs: Sequence[TableSpec]) -> None:
        """Know further tables. Raises InvalidInput for a name that is taken."""
        for spec in specs:
            if self._specs.get(spec.name, spec) != spec:
                raise taken_table(spec.name)
        self._others.update((spec.name, spec) for spec in specs)
        self._learn(specs)

    @property
    def others(self) -> tuple[TableSpec, ...]:
        """Those that their own writers keep."""
        return tuple(self._others.values())

    def forget(self, specs: Sequence[TableSpec]) -> None:
        """Know these no more: they could not be made."""
        gone = {spec.name for spec in specs} - {spec.name for spec in self.kept}
        for name in gone:
            self._others.pop(name, None)
            self._specs.pop(name, None)

    def _learn(self, specs: Sequence[TableSpec]) -> None:
        self._specs.update((spec.name, spec) for spec in specs)
        self._delete.update((spec.name, _delete(spec)) for spec in specs)
        self._put.clear()

    def check_all_kept(self, path: str) -> None:
        """Raise StoreUnavailable if a command would leave tables behind its events."""
        if self.lacking:
            raise StoreUnavailable(
                f"The writers of {path} keep tables beside its events "
                f"({', '.join(sorted(self.lacking))}), which this one was not given: "
                "open it with tenure.open_ledger. Nothing was written."
            )

    def apply(self, db: sqlite3.Connection, changes: Iterable[RowChange]) -> None:
        """Make the changes in their order. Raises InvalidInput, sqlite3.Error."""
        for table, key, row in changes:
            if table not in self._specs:
                raise unknown_table(table)
            if row is None:
                db.execute(self._delete[table], key)
            else:
                try:
                    db.execute(*self._putting(table, row))
                except sqlite3.IntegrityError:
                    spared = without_unique(self._specs[table], row)
                    if spared == row:
                        raise
                    db.execute(*self._putting(table, spared))

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
            statement = self._put.get(key) or _put(self._specs[table], given)
            self._put[key] = statement
        return statement, tuple(compress(row, given))

    def select(
        self, table: str, where: Mapping[str, Column]
    ) -> tuple[str, tuple[Column, ...]]:
        """Return the query for rows with these values, by key. Raises InvalidInput."""
        asked = (table, *where)
        query = self._select.get(asked)
        if query is None:
            spec = self._specs.get(table)
            if spec is None:
                raise unknown_table(table)
            check_columns(spec, where)
            query = self._select[asked] = _find(spec, where)
        return query, tuple(where.values())


def _find(spec: TableSpec, where: Iterable[str]) -> str:
    match = " AND ".join(f"{_quote(column)} IS ?" for column in where)
    return (
        f"SELECT {_list(spec.columns)} FROM {_quote(spec.name)} "  # noqa: S608
        f"{'WHERE ' + match if match else ''} ORDER BY {_list(spec.key)}"
    )


def _put(spec: TableSpec, given: Sequence[bool]) -> str:
    rest = [column for column in spec.columns if column not in spec.key]
    changes = ", ".join(f"{_quote(c)} = excluded.{_quote(c)}" for c in rest)
    return (
        f"INSERT INTO {_quote(spec.name)} ({_list(spec.columns)}) "  # noqa: S608
        f"VALUES ({', '.join('?' if there else 'NULL' for there in given)}) "
        f"ON CONFLICT ({_list(spec.key)}) "
        + (f"DO UPDATE SET {changes}" if rest else "DO NOTHING")
    )


def _delete(spec: TableSpec) -> str:
    match = " AND ".join(f"{_quote(column)} = ?" for column in spec.key)
    return f"DELETE FROM {_quote(spec.name)} WHERE {match}"  # noqa: S608


def _list(names: Sequence[str]) -> str:
    return ", ".join(_quote(name) for name in names)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
