"""The one connection of a process that writes, and whose turn it is."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from tenure_ledger.stores.fair_lock import FairLock, overdue
from tenure_ledger.stores.sqlite_connect import BUSY_SLICE_SECONDS, Place, connect
from tenure_ledger.stores.sqlite_faults import contended, is_busy, translate
from tenure_ledger.stores.sqlite_fork import CONNECTING

__all__ = ["Writer"]


class Writer:
    """Begin and end write transactions, one at a time.

    Whatever happens inside a transaction, `end` leaves either a connection without a
    transaction or none at all, so the next `begin` works.
    """

    def __init__(
        self,
        place: Place,
        ready: Callable[[float], object],
        close_readers: Callable[[], object],
    ) -> None:
        self._place = place
        self._ready = ready
        self._close_readers = close_readers
        self._lock = FairLock()
        self._thread = 0
        self.db: sqlite3.Connection | None = None
        """The open connection; a transaction runs on it while somebody has the turn."""
        self._closed = False

    def begin(self, token: object, deadline_seconds: float) -> sqlite3.Connection:
        """Wait for the turn of ``token`` and start its transaction.

        Raises Contended at the deadline, else what opening a file can raise.
        """
        deadline = time.monotonic() + deadline_seconds
        try:
            if not self._lock.acquire(token, deadline_seconds):
                raise overdue(self._place.path)  # noqa: TRY301  undone just below
            self._thread = threading.get_ident()
            self._ready(deadline - time.monotonic())
            return self._begin(deadline)
        except BaseException as error:
            self.end(token)
            if isinstance(error, sqlite3.Error):
                raise translate(error, self._place.path) from error
            raise

    def _begin(self, deadline: float) -> sqlite3.Connection:
        while True:
            try:
                db = self.db
                if db is None:
                    with CONNECTING:
                        db = self.db = connect(self._place, "write")
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                if not is_busy(error):
                    self.give_up()
                    raise
                if time.monotonic() >= deadline:
                    raise contended(self._place.path) from error
                # SQLite has waited already, except where it sees no use in it.
                time.sleep(BUSY_SLICE_SECONDS / 50)
            else:
                return db

    def end(self, token: object) -> None:
        """Undo what is not committed, and hand the turn over."""
        if self._lock.holder is token:
            db = self.db
            if db is not None and db.in_transaction:
                try:
                    db.execute("ROLLBACK")
                except sqlite3.Error:
                    self.discard()
            if self._closed:
                self.discard()
        self._lock.release(token)

    def discard(self) -> None:
        """Close the connection, which rolls back; the next `begin` opens another."""
        db, self.db = self.db, None
        if db is not None:
            db.close()

    def give_up(self) -> None:
        """Close what may be broken, so that the next use opens everything again.

        Readers too: SQLite shares a read-only log index among a process's connections.
        """
        self.discard()
        self._close_readers()

    def close_idle(self) -> bool:
        """Close the connection unless a transaction is running.

        Return whether there is nothing to wait for: it is closed, or this thread is
        the one that would have to go on.
        """
        token = object()
        if not self._lock.acquire(token, 0):
            return self._thread == threading.get_ident()
        try:
            self.discard()
        finally:
            self._lock.release(token)
        return True

    def close(self) -> None:
        """Close the connection now, or when the running transaction ends."""
        self._closed = True
        self.close_idle()

    def drop_log(self) -> None:
        """Empty the write-ahead log, in which erased bodies lie, if nobody reads it."""
        if self.db is not None:
            # What is committed is not undone by this failing: later commits do it.
            with suppress(sqlite3.Error):
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def forget(self) -> list[sqlite3.Connection]:
        """Return the connection without closing it, and begin again without any."""
        inherited = [] if self.db is None else [self.db]
        self.db = None
        self._lock = FairLock()
        return inherited
