"""`eventsourcing` on our table: its recorder, its datastore and its pool.

The pool holds the connections of all readers, the store's own as well. It has no writer
lock (the stock one is lost when opening a connection fails) and lets no reader wait for
a writer. Everything that writes goes through one `Writer`.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)

from tenure_ledger.stores.recording import Write, record
from tenure_ledger.stores.sqlite_connect import Access, Place, connect
from tenure_ledger.stores.sqlite_fork import CONNECTING

__all__ = ["Datastore", "ReaderConnection", "ReaderPool", "Recorder"]

_IDLE_MAX = 16


class _Row(sqlite3.Row):
    """A row in which ``rowid`` is found under the name of its alias."""

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401  as the base class has it
        return super().__getitem__("position" if key == "rowid" else key)


class ReaderConnection(SQLiteConnection):
    """A connection that cannot write: ``raw`` gives tuples, `cursor` gives rows."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        super().__init__(raw, max_age=None)
        self.raw = raw

    def cursor(self) -> SQLiteCursor:
        """Return a cursor as `eventsourcing` reads it, with columns by name."""
        cursor = self.raw.cursor()
        cursor.row_factory = _Row
        return SQLiteCursor(cursor)


class ReaderPool(SQLiteConnectionPool):
    """Lend out connections for reading; as many as are asked for at once."""

    def __init__(self, place: Place, ready: Callable[[], Access]) -> None:
        super().__init__(db_name=place.path)
        self._place = place
        self._ready = ready
        self._idle: deque[ReaderConnection] = deque()
        self._lent: set[ReaderConnection] = set()

    def get_connection(
        self,
        timeout: float | None = None,  # noqa: ARG002  nobody waits
        *,
        is_writer: bool | None = None,  # noqa: ARG002  none of them writes
    ) -> ReaderConnection:
        """Return an idle connection or a new one. Raises what opening can raise."""
        access = self._ready()
        try:
            connection = self._idle.pop()
        except IndexError:
            with CONNECTING:
                connection = ReaderConnection(connect(self._place, access))
        self._lent.add(connection)
        return connection

    def put_connection(self, conn: SQLiteConnection) -> None:
        """Take a connection back; one too many is closed."""
        assert isinstance(conn, ReaderConnection)  # noqa: S101  for the type checkers
        self._lent.discard(conn)
        if conn.closed:
            return
        if self._closed or len(self._idle) >= _IDLE_MAX:
            conn.close()
        else:
            self._idle.append(conn)

    def close_idle(self) -> bool:
        """Close what nobody uses; return whether nothing is lent."""
        while self._idle:
            self._idle.pop().close()
        return not self._lent

    def close(self) -> None:
        """Close what is idle now and what comes back later."""
        self._closed = True
        self.close_idle()

    def forget(self) -> list[ReaderConnection]:
        """Return all connections without closing them, and begin again."""
        inherited = [*self._idle, *self._lent]
        self._idle.clear()
        self._lent.clear()
        return inherited


class Datastore(SQLiteDatastore):
    """The stock datastore for reading, on our pool."""

    def __init__(self, pool: ReaderPool) -> None:
        super().__init__(db_name=pool.db_name, originator_id_type="text")
        self.pool: ReaderPool = pool


class Recorder(SQLiteApplicationRecorder):
    """The stock recorder: its reading as it is, its writing through a unit of ours."""

    def __init__(
        self, datastore: Datastore, write: Write, setup: Callable[[], None]
    ) -> None:
        super().__init__(datastore)
        self._write = write
        self._setup = setup

    def create_table(self) -> None:
        """Create or migrate what is missing."""
        self._setup()

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,  # noqa: ANN401, ARG002  the signature that is overridden
    ) -> Sequence[int]:
        """Append events with the hash of each and return their positions.

        Raises IntegrityError (of `eventsourcing`) when a version exists already.
        """
        return record(self._write, stored_events)
