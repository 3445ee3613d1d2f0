"""The ledger in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from tenure_ledger.errors import Contended, StoreUnavailable
from tenure_ledger.rows import SETUP_SECONDS, EventRow, Fill, TableSpec
from tenure_ledger.stores import sqlite_fork
from tenure_ledger.stores.copies import of_a_copy
from tenure_ledger.stores.sqlite_backup import back_up
from tenure_ledger.stores.sqlite_connect import (
    Access,
    Durability,
    Place,
    connect,
    sql,
)
from tenure_ledger.stores.sqlite_faults import moved, translate
from tenure_ledger.stores.sqlite_pulse import Pulse
from tenure_ledger.stores.sqlite_reading import Reading
from tenure_ledger.stores.sqlite_recorder import (
    Datastore,
    ReaderPool,
    Recorder,
)
from tenure_ledger.stores.sqlite_schema import APPLICATION_ID, missing, prepare
from tenure_ledger.stores.sqlite_tables import Tables
from tenure_ledger.stores.sqlite_unit import (
    BODY,
    TAIL,
    SQLiteUnit,
    event_rows,
    tail_rows,
)
from tenure_ledger.stores.sqlite_writer import Writer

__all__ = ["SQLiteStore"]

_EVENTS_PAGE = sql("events_page")
_HASHES_PAGE = sql("hashes_page")
_HEAD_POSITION = sql("head_position")
_COUNT = sql("count")
_TABLES = sql("tables")

_PAGE_ROWS = 2000
_POSITION_MAX = 2**63 - 1

_Row = TypeVar("_Row", bound=tuple[Any, ...])
_Fetch = Callable[[sqlite3.Connection, str, tuple[object, ...]], list[_Row]]


class SQLiteStore:
    """Keep a ledger in one file, for any number of threads and processes.

    Nothing is opened before the first use, which makes the tables if need be. One
    connection writes; readers see what is committed and never wait for it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        tables: Sequence[TableSpec] = (),
        fill: Fill | None = None,
        on_connect: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self._place = Place(str(Path(path).absolute()), durability, on_connect)
        self._tables = Tables(tables, fill)
        self._setup_lock = threading.Lock()
        self._pid = os.getpid()
        self._closed: str | None = None
        self._file: tuple[int, int] | None = None
        self._access: Access = "read"
        self._copied = False
        self._restoring = False
        self._pool = ReaderPool(self._place, self._ready)
        self._pulse = Pulse(self._place, self._ready)
        self._writer = Writer(self._place, self._ready_to_write, self._close_readers)
        self.recorder = Recorder(
            Datastore(self._pool), lambda: self.write(SETUP_SECONDS), self.setup
        )
        sqlite_fork.watch(self)

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self._place.path

    def exists(self) -> bool:
        """Say whether there is such a file; nothing is opened or made."""
        return self._stat() is not None

    def write(self, deadline_seconds: float) -> SQLiteUnit:
        """Return a unit that may write; wait for other writers up to the deadline."""
        self._check()
        return SQLiteUnit(
            self._writer, self._tables, self._place.path, deadline_seconds
        )

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's durable rows with a version >= ``version``."""
        return self._read(TAIL, (stream, version), tail_rows)

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        rows: list[tuple[bytes]] = self._read(BODY, (stream, digest))
        return rows[0][0] if rows else None

    def events(self, after: int, upto: int | None = None) -> Iterator[EventRow]:
        """Yield rows with ``after`` < position (<= ``upto``), in order, by pages."""
        last = _POSITION_MAX if upto is None else upto
        while True:
            rows = self._read(_EVENTS_PAGE, (after, last, _PAGE_ROWS), event_rows)
            yield from rows
            if len(rows) < _PAGE_ROWS:
                return
            after = rows[-1].position

    def hashes(
        self, after: int, upto: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (position, hash) with ``after`` < position (<= ``upto``), in order."""
        last = _POSITION_MAX if upto is None else upto
        while True:
            rows: list[tuple[int, bytes]]
            rows = self._read(_HASHES_PAGE, (after, last, _PAGE_ROWS))
            yield from rows
            if len(rows) < _PAGE_ROWS:
                return
            after = rows[-1][0]

    def head_position(self) -> int:
        """Return the highest position, 0 when the ledger is empty."""
        rows: list[tuple[int]] = self._read(_HEAD_POSITION, ())
        return rows[0][0]

    def count(self, upto: int) -> int:
        """Return how many events there are with a position <= ``upto``."""
        rows: list[tuple[int]] = self._read(_COUNT, (upto,))
        return rows[0][0]

    def horizon(self) -> int:
        """Return the head's position: one unit at a time gives positions and commits.

        What a unit that was undone had taken is given again to the next.
        """
        return self.head_position()

    @contextmanager
    def snapshot(self) -> Generator[Reading]:
        """Return what is durable now, to be read at leisure; no writer waits for it."""
        with self._reader() as db:
            db.execute("BEGIN")
            try:
                yield Reading(db, self._tables, self._place.path)
            finally:
                db.execute("ROLLBACK")

    def pulse(self) -> object:
        """Return a value that is another one after every commit of anybody."""
        return self._pulse.read()

    def define(
        self, specs: Sequence[TableSpec], deadline_seconds: float = SETUP_SECONDS
    ) -> None:
        """Create further tables, which only their own writer keeps, if missing."""
        self._check()
        with self._tables.defining(specs):
            self._prepare(deadline_seconds)

    def lacking(self, specs: Sequence[TableSpec]) -> frozenset[str]:
        """Return the names of those tables that are not there."""
        rows: list[tuple[str, str]] = self._read(_TABLES, ())
        return frozenset(spec.name for spec in specs) - {name for name, _ in rows}

    def setup(self, deadline_seconds: float = SETUP_SECONDS) -> None:
        """Create or migrate what is missing; safe to call again and at once."""
        self._check()
        self._prepare(deadline_seconds)

    def missing(self) -> str:
        """Return the SQL that `setup` would run, empty where it has nothing to do."""
        self._check()
        try:
            return missing(self._place, self._tables)
        except sqlite3.Error as error:
            raise translate(error, self._place.path) from error

    def grants(self) -> str:
        """Return nothing: there are no roles."""
        return ""

    @contextmanager
    def restoring(self) -> Generator[None]:
        """Write to a copy; left without an exception it is the ledger from now on."""
        self._restoring = True
        try:
            yield
            self._ready()
            if self._copied:
                self._adopt()
        finally:
            self._restoring = False

    def back_up(self, to: str | os.PathLike[str]) -> str:
        """Copy the file while others write; return the URL of the copy.

        The copy can be read, and is written to only after `restoring`.
        """
        self._ready()
        path = Path(to).absolute()
        back_up(self._place, path)
        return f"sqlite:///{quote(str(path))}"

    def _adopt(self) -> None:
        try:
            with closing(connect(self._place, "write")) as db:
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        except sqlite3.Error as error:
            raise translate(error, self._place.path) from error
        self._copied = False

    def close(self) -> None:
        """Release connections; a second call does nothing.

        A unit that is running in another thread can still commit; its connection is
        closed when it ends.
        """
        if self._pid != os.getpid():
            self.after_fork_in_child()
        self._closed = "The store is closed: open another."
        self._pool.close()
        self._pulse.close_idle()
        self._writer.close()

    def close_idle(self) -> bool:
        """Close what nobody uses; return whether there is nothing to wait for."""
        readers, writer = self._close_readers(), self._writer.close_idle()
        return readers and writer

    def _close_readers(self) -> bool:
        readers, pulse = self._pool.close_idle(), self._pulse.close_idle()
        return readers and pulse

    def after_fork_in_child(self) -> None:
        """Begin again without the parent's connections."""
        self._pid = os.getpid()
        self._setup_lock = threading.Lock()
        inherited: list[object] = [
            *self._pool.forget(),
            *self._pulse.forget(),
            *self._writer.forget(),
        ]
        if inherited:
            for connection in inherited:
                sqlite_fork.keep_for_ever(connection)
            self._closed = (
                "This process was forked while the ledger was in use, so SQLite's "
                "locks cannot be trusted in it: fork where the ledger is idle, or "
                "spawn."
            )

    def _read(
        self,
        query: str,
        values: tuple[object, ...],
        fetch: _Fetch[_Row] | None = None,
    ) -> list[_Row]:
        with self._reader() as db:
            if fetch is not None:
                return fetch(db, query, values)
            return db.execute(query, values).fetchall()

    @contextmanager
    def _reader(self) -> Generator[sqlite3.Connection]:
        """Lend a connection; one that something went wrong with is closed."""
        try:
            connection = self._pool.get_connection()
            try:
                yield connection.raw
            except BaseException:
                connection.close()
                raise
            finally:
                self._pool.put_connection(connection)
        except sqlite3.Error as error:
            raise translate(error, self._place.path) from error

    def _ready(self, deadline_seconds: float = SETUP_SECONDS) -> Access:
        """Make the file ready on first use, and see that it is still the same one."""
        self._check()
        if self._access == "immutable":
            # Read without locks: look again each time whether somebody writes by now.
            self._pool.close_idle()
            self._file = None
        if self._file is None:
            self._prepare(deadline_seconds)
        elif self._file != self._stat():
            raise moved(self._place.path)
        return self._access

    def _ready_to_write(self, deadline_seconds: float) -> None:
        self._ready(deadline_seconds)
        if self._copied and not self._restoring:
            # It may have become the ledger by now.
            self._file = None
            self._ready(deadline_seconds)
            if self._copied:
                raise of_a_copy(self._place.path)

    def _check(self) -> None:
        if self._pid != os.getpid():
            # Forked by something that does not call Python's hooks.
            self.after_fork_in_child()
        if self._closed is not None:
            raise StoreUnavailable(self._closed)

    def _prepare(self, deadline_seconds: float) -> None:
        if not self._setup_lock.acquire(timeout=max(deadline_seconds, 0)):
            raise Contended("Another thread is still opening the store: call again.")
        try:
            self._access, self._copied = prepare(
                self._place, self._tables, deadline_seconds
            )
            self._file = self._stat()
        finally:
            self._setup_lock.release()

    def _stat(self) -> tuple[int, int] | None:
        try:
            # Path.stat costs three times as much, and this is asked at every call.
            found = os.stat(self._place.path)  # noqa: PTH116
        except OSError:
            return None
        return found.st_dev, found.st_ino
