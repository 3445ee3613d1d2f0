"""Statements for the tables that are written with the events, made once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tenure_ledger.columns import check_columns
from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import Column, Fill, Row, RowChange, TableSpec
from tenure_ledger.stores.known_tables import KnownTables, listed, quote
from tenure_ledger.stores.postgres_columns import TIMESTAMPTZ, data_of, encode
from tenure_ledger.stores.postgres_joined import ADDED, Joined
from tenure_ledger.stores.postgres_pending import (
    INSERT_BODY,
    INSERT_COMMAND,
    INSERT_EVENTS,
)
from tenure_ledger.stores.postgres_wire import SAME, Call

__all__ = ["ColumnType", "Tables"]

ColumnType = tuple[int, str]
"""The type of a column: its number, and its name in SQL."""

TEXT = 25


class Tables(KnownTables):
    """Put, delete and find rows of the tables that a store was opened with."""

    def __init__(
        self, specs: Sequence[TableSpec] = (), fill: Fill | None = None
    ) -> None:
        super().__init__(specs, fill)
        self._types: dict[str, Mapping[str, ColumnType]] = {}
        self._sql: dict[tuple[str, ...], str] = {}
        self._puts: dict[str, TableSpec] = {}
        """By statement, the table that it puts a row of."""
        self._formats: dict[tuple[object, ...], Sequence[int]] = {}
        self.joined = Joined(INSERT_EVENTS, (INSERT_COMMAND, INSERT_BODY), self._joins)

    def learn(self, types: Mapping[str, Mapping[str, ColumnType]]) -> None:
        """Take in what the server says about the columns of each table."""
        if {**self._types, **types} != self._types:
            self._sql.clear()
            self._formats.clear()
            self._types.update(types)
            self.joined.forget()

    def part(self, table: str, where: Mapping[str, Column]) -> str | None:
        """Return which part of the table these rows are, None: any (`TableSpec`)."""
        column = self.spec(table).apart
        value = where.get(column) if column is not None else None
        return None if value is None else str(value)

    def change(self, change: RowChange) -> Call:
        """Return the call that puts or deletes a row. Raises InvalidInput."""
        table, key, row = change
        spec = self.spec(table)
        if row is None:
            return self._call("delete", spec, spec.key, key)
        return self._call("put", spec, spec.columns, row)

    def select(self, table: str, where: Mapping[str, Column]) -> Call:
        """Return the call for rows with these values, by key. Raises InvalidInput."""
        spec = self.spec(table)
        check_columns(spec, where)
        named = tuple(
            column if value is not None else f"{column} "
            for column, value in where.items()
        )
        values = [value for value in where.values() if value is not None]
        columns = [column for column, value in where.items() if value is not None]
        sql = self._sql.get(("find", table, *named))
        if sql is None:
            sql = _find(spec, named, self._types.get(table, {}))
            self._sql["find", table, *named] = sql
        return self._encoded(sql, table, columns, values)

    def _call(
        self, what: str, spec: TableSpec, columns: Sequence[str], values: Row
    ) -> Call:
        sql = self._sql.get((what, spec.name))
        if sql is None:
            types = self._types.get(spec.name, {})
            sql = _put(spec, types) if what == "put" else _delete(spec)
            self._sql[what, spec.name] = sql
            if what == "put":
                self._puts[sql] = spec
        return self._encoded(sql, spec.name, columns, values)

    def _joins(self, sql: str, first: int) -> tuple[str, str] | None:
        spec = self._puts.get(sql)
        if spec is None:
            return None
        types = self._types.get(spec.name, {})
        return spec.name, _put(spec, types, first=first, source=ADDED)

    def _encoded(
        self, sql: str, table: str, columns: Sequence[str], values: Iterable[Column]
    ) -> Call:
        given = tuple(values)
        # Formats hang on the statement and on the types of the values alone.
        kind = (sql, *map(type, given))
        formats = self._formats.get(kind)
        if formats is None:
            formats = self._formats_of(table, columns, given)
            if len(self._formats) >= _FORMATS_MAX:
                self._formats.clear()
            self._formats[kind] = formats
        return Call(sql, data_of(given), formats)

    def _formats_of(
        self, table: str, columns: Sequence[str], values: Row
    ) -> Sequence[int]:
        types = self._types.get(table, {})
        formats: list[int] = []
        for column, value in zip(columns, values, strict=True):
            oid, _ = types.get(column, (0, ""))
            if value is not None and isinstance(value, str) and oid not in _TEXTS:
                raise InvalidInput(f"{table}.{column} takes no text: {value!r:.80}.")
            formats.append(encode(value, oid)[1])
        return formats


_TEXTS = frozenset({0, TEXT, 1043, TIMESTAMPTZ})
_FORMATS_MAX = 1024


def _find(
    spec: TableSpec, where: Sequence[str], types: Mapping[str, ColumnType]
) -> str:
    matches: list[str] = []
    number = 0
    for column in where:
        if column.endswith(" "):
            matches.append(f"{quote(column[:-1])} IS NULL")
        else:
            number += 1
            matches.append(f"{quote(column)} = ${number}")
    matches.append(SAME)
    order = ", ".join(
        quote(column) + (' COLLATE "C"' if types.get(column, (0,))[0] == TEXT else "")
        for column in spec.key
    )
    return (
        f"SELECT {listed(spec.columns)} FROM {quote(spec.name)} "  # noqa: S608
        f"WHERE {' AND '.join(matches)} ORDER BY {order}"
    )


def _put(
    spec: TableSpec,
    types: Mapping[str, ColumnType],
    *,
    first: int = 1,
    source: str | None = None,
) -> str:
    """Return the statement, with places from ``first`` on; it may have a ``source``."""
    places = {column: f"${at}" for at, column in enumerate(spec.columns, first)}
    values = dict(places)
    if spec.unique is not None:
        # A value that another row has is put as NULL: the first row keeps it.
        kind = types.get(spec.unique, (TEXT, "text"))[1]
        taken = f"{places[spec.unique]}::{kind}"
        own = ", ".join(f"o.{quote(column)}" for column in spec.key)
        key = ", ".join(
            f"{places[column]}::{types.get(column, (TEXT, 'text'))[1]}"
            for column in spec.key
        )
        values[spec.unique] = (
            f"CASE WHEN EXISTS (SELECT 1 FROM {quote(spec.name)} AS o "  # noqa: S608
            f"WHERE o.{quote(spec.unique)} = {taken} AND ({own}) <> ({key})) "
            f"THEN NULL ELSE {taken} END"
        )
    rest = [column for column in spec.columns if column not in spec.key]
    changes = ", ".join(f"{quote(c)} = excluded.{quote(c)}" for c in rest)
    row = ", ".join(values.values())
    return (
        f"INSERT INTO {quote(spec.name)} ({listed(spec.columns)}) "
        f"SELECT {row} {f'FROM {source}' if source else f'WHERE {SAME}'} "
        f"ON CONFLICT ({listed(spec.key)}) "
        + (f"DO UPDATE SET {changes}" if rest else "DO NOTHING")
    )


def _delete(spec: TableSpec) -> str:
    match = " AND ".join(
        f"{quote(column)} = ${at}" for at, column in enumerate(spec.key, 1)
    )
    return f"DELETE FROM {quote(spec.name)} WHERE {SAME} AND {match}"  # noqa: S608
