"""All that a SQLite file holds at one moment: one read transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tenure_ledger.rows import Column, EventRow
from tenure_ledger.stores.sqlite_connect import sql
from tenure_ledger.stores.sqlite_faults import translate
from tenure_ledger.stores.sqlite_tables import Tables
from tenure_ledger.stores.sqlite_unit import BODY, TAIL, tail_rows

__all__ = ["Reading"]

_HEAD_POSITION = sql("head_position")
_NEXT_STREAM = sql("next_stream")


class Reading:
    """Read on a connection whose transaction somebody else begins and ends."""

    def __init__(self, db: sqlite3.Connection, tables: Tables, path: str) -> None:
        self._db = db
        self._tables = tables
        self._path = path
        ((position,),) = self._fetch(_HEAD_POSITION, ())
        self.position = int(position)

    def streams(self) -> Iterator[str]:
        """Yield the name of every stream, in order of their UTF-8 bytes."""
        last = ""
        # A look-up in the index for each: a DISTINCT would read every row.
        while rows := self._fetch(_NEXT_STREAM, (last,)):
            ((last,),) = rows
            yield last

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        try:
            return tail_rows(self._db, TAIL, (stream, version))
        except sqlite3.Error as error:
            raise translate(error, self._path) from error

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        rows = self._fetch(BODY, (stream, digest))
        return rows[0][0] if rows else None

    def rows(
        self, table: str, where: Mapping[str, Column] | None = None
    ) -> Iterator[tuple[Column, ...]]:
        """Yield a table's rows by key. Raises InvalidInput."""
        query, values = self._tables.select(table, where or {})
        try:
            yield from self._rows(query, values)
        except sqlite3.Error as error:
            raise translate(error, self._path) from error

    def _rows(
        self, query: str, values: tuple[Column, ...]
    ) -> Iterator[tuple[Column, ...]]:
        done = 0
        try:
            for row in self._db.execute(query, values):
                yield row
                done += 1
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) is not None:
                raise
            # The module's own error: it could not decode what only another program can
            # have written. Who looks for such rows must be shown them.
            self._db.text_factory = _escaped
            try:
                yield from islice(self._db.execute(query, values), done, None)
            finally:
                self._db.text_factory = str

    def _fetch(self, query: str, values: tuple[object, ...]) -> list[tuple[Any]]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise translate(error, self._path) from error


def _escaped(data: bytes) -> str:
    return data.decode(errors="surrogateescape")
