"""One transaction on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import (
    BodyRow,
    Column,
    CommandRow,
    Conflict,
    EventRow,
    Row,
    RowChange,
    RowRefused,
)
from tenure_ledger.stores.sqlite_connect import sql
from tenure_ledger.stores.sqlite_faults import at_commit, translate
from tenure_ledger.stores.sqlite_tables import Tables
from tenure_ledger.stores.sqlite_writer import Writer

__all__ = ["BODY", "TAIL", "SQLiteUnit", "event_rows", "tail_rows"]

TAIL = sql("tail")
BODY = sql("body")
_HEAD = sql("head")
_COMMAND = sql("command")
_INSERT_EVENT = sql("insert_event")
_INSERT_NEXT_EVENT = sql("insert_next_event")
_INSERT_COMMAND = sql("insert_command")
_INSERT_BODY = sql("insert_body")
_ERASE_BODIES = sql("erase_bodies")

_E = TypeVar("_E", bound=BaseException)


class SQLiteUnit:
    """Read and add between BEGIN IMMEDIATE and COMMIT: nobody else writes meanwhile.

    A statement that fails ends the unit: nothing of it can be committed any more.
    """

    _begun = False
    _db: sqlite3.Connection | None = None
    """The connection while the unit can go on."""
    _failure: BaseException | None = None
    """What ended it."""
    _next_position: int | None = None
    _erased = False

    def __init__(
        self, writer: Writer, tables: Tables, path: str, deadline_seconds: float
    ) -> None:
        self._writer = writer
        self._tables = tables
        self._path = path
        self._deadline_seconds = deadline_seconds
        self._token = object()

    def __enter__(self) -> Self:
        self._begun = True
        self._db = self._writer.begin(self._token, self._deadline_seconds)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db = None
        try:
            self._writer.end(self._token)
        except BaseException:
            self._writer.end(self._token)
            raise
        self._begun = False

    def __del__(self) -> None:
        # A signal between two lines of `with` can leave a unit that nobody exits.
        if self._begun:
            self._writer.end(self._token)

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        try:
            return tail_rows(self._open(), TAIL, (stream, version))
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def head(self, stream: str) -> tuple[int, bytes] | None:
        """Return version and hash of the stream's last row, None when it has none."""
        try:
            found: tuple[int, bytes] | None
            found = self._open().execute(_HEAD, (stream,)).fetchone()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) is None:
                # A hash that is a text, and no UTF-8: the tail says what is wrong.
                return None
            raise self._broken(error) from error
        return found

    def command(self, stream: str, command_id: str) -> CommandRow | None:
        """Return the accepted command of that id, in this unit or before it."""
        try:
            row = self._open().execute(_COMMAND, (stream, command_id)).fetchone()
        except sqlite3.Error as error:
            raise self._broken(error) from error
        return None if row is None else CommandRow._make(row)

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        try:
            row = self._open().execute(BODY, (stream, digest)).fetchone()
        except sqlite3.Error as error:
            raise self._broken(error) from error
        return None if row is None else row[0]

    def rows(self, table: str, where: Mapping[str, Column]) -> Sequence[Row]:
        """Return a table's rows with these values, by key. Raises InvalidInput."""
        query, values = self._tables.select(table, where)
        try:
            return self._open().execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def add(
        self,
        events: Sequence[EventRow],
        command: CommandRow | None,
        bodies: Sequence[BodyRow] = (),
        changes: Iterable[RowChange] = (),
        erase: Sequence[str] = (),
    ) -> Sequence[int]:
        """Add one command's rows; what it erases goes first, its own bodies stay.

        Raises Conflict when a version or the command exists already, RowRefused
        when a table refuses its row; either way the unit is over, nothing is written.
        """
        db = self._open()
        refused = _refused_event
        try:
            positions = self._insert(db, events)
            if command is not None:
                self._tables.check_all_kept(self._path)
                db.execute(_INSERT_COMMAND, _command_values(command))
            refused = _refused_row
            for stream in erase:
                self._erased = True
                db.execute(_ERASE_BODIES, (stream,))
            if bodies:
                db.executemany(_INSERT_BODY, bodies)
            self._tables.apply(db, changes)
        except sqlite3.IntegrityError as error:
            raise self._failed(refused(error, self._path)) from error
        except sqlite3.Error as error:
            raise self._broken(error) from error
        except BaseException as error:
            self._failed(error)
            raise
        return positions

    def expect(self, reads: Mapping[str, int]) -> None:
        """Do nothing: nobody else writes after BEGIN IMMEDIATE."""

    def confirm(self) -> None:
        """Write the schema version that is there: a page for the commit to sync."""
        try:
            db = self._open()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            db.execute(f"PRAGMA user_version = {version}")
        except sqlite3.Error as error:
            raise self._failed(translate(error, self._path)) from error

    def commit(self) -> None:
        """Make everything durable.

        Raises Doubtful after an input or output error, a fault when nothing was
        written.
        """
        try:
            self._open().execute("COMMIT")
        except sqlite3.Error as error:
            raise self._broken(error, at_commit) from error
        self._db = None
        if self._erased:
            self._writer.drop_log()

    def _insert(
        self, db: sqlite3.Connection, events: Sequence[EventRow]
    ) -> Sequence[int]:
        """Insert the events: SQLite gives the unit's first position, we the others."""
        if not events:
            return ()
        first, rest = self._next_position, events
        if first is None:
            first = db.execute(_INSERT_NEXT_EVENT, _event_values(events[0])).lastrowid
            assert first is not None  # noqa: S101  an INSERT has one
            rest = events[1:]
        positions = range(first, first + len(events))
        if rest:
            given = positions[len(events) - len(rest) :]
            db.executemany(
                _INSERT_EVENT,
                [
                    (at, *_event_values(row))
                    for at, row in zip(given, rest, strict=True)
                ],
            )
        self._next_position = positions.stop
        return positions

    def _open(self) -> sqlite3.Connection:
        db = self._db
        if db is None or db is not self._writer.db:
            # Also in a process that was forked inside the unit.
            raise self._failure or StoreUnavailable("This unit is over: begin another.")
        return db

    def _broken(
        self,
        error: sqlite3.Error,
        meaning: Callable[[sqlite3.Error, str], Exception] = translate,
    ) -> Exception:
        """Give up the connection too: it may be what is wrong."""
        self._writer.give_up()
        return self._failed(meaning(error, self._path))

    def _failed(self, failure: _E) -> _E:
        self._db, self._failure = None, failure
        return failure


_blob = bytearray
"""Of bytes the module asks each time what they should be adapted to, which takes longer
than to bind them; a bytearray it takes as it is. (None: see `Tables`.)"""


def _event_values(row: EventRow) -> tuple[object, ...]:
    _position, stream, version, topic, state, hashed = row
    return stream, version, topic, _blob(state), _blob(hashed)


def _command_values(row: CommandRow) -> tuple[object, ...]:
    stream, command_id, digest, first_version, outcome = row
    return stream, command_id, _blob(digest), first_version, _blob(outcome)


# What EventRow._make does, without a call of Python code for each of many rows.
_event_row = cast(
    "Callable[[tuple[Any, ...]], EventRow]", partial(tuple[Any, ...].__new__, EventRow)
)


def event_rows(
    db: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> list[EventRow]:
    """Return all rows of a query whose columns are those of `EventRow`."""
    return _decoded(_event_rows, db, query, values)


def tail_rows(
    db: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> list[EventRow]:
    """Return all rows of the stream that ``values`` names first.

    Its name is not read again with each row: a third of the time of a long stream.
    """
    return _decoded(_tail_rows, db, query, values)


_Rows = Callable[[sqlite3.Connection, str, tuple[object, ...]], list[EventRow]]


def _event_rows(
    db: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> list[EventRow]:
    return list(map(_event_row, db.execute(query, values)))


def _tail_rows(
    db: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> list[EventRow]:
    stream = values[0]
    return [
        _event_row((position, stream, version, topic, state, hashed))
        for position, version, topic, state, hashed in db.execute(query, values)
    ]


def _decoded(
    rows: _Rows, db: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> list[EventRow]:
    """Return the rows of a query.

    A text that is no UTF-8, which only another program can have written, comes as the
    bytes that it is: so one bad row is found, and named, by whoever reads it.
    """
    try:
        return rows(db, query, values)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) is not None:
            raise
    # The module's own error: it could not decode.
    db.text_factory = _text_or_bytes
    try:
        return rows(db, query, values)
    finally:
        db.text_factory = str


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _refused_event(error: sqlite3.IntegrityError, path: str) -> Exception:
    return Conflict(f"Somebody else wrote to {path} first ({error}).")


def _refused_row(error: sqlite3.IntegrityError, path: str) -> Exception:
    return RowRefused(
        f"A table in {path} refused a row ({error}); nothing was written. The table "
        "does not agree with the ledger: make it anew with `tenure rebuild`."
    )
