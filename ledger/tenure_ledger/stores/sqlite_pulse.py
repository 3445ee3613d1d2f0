"""Has anybody committed? Asked of SQLite itself, in some microseconds."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable

from tenure_ledger.stores.sqlite_connect import Access, Place, connect, sql
from tenure_ledger.stores.sqlite_faults import translate
from tenure_ledger.stores.sqlite_fork import CONNECTING

__all__ = ["Pulse"]

_DATA_VERSION = sql("data_version")


class Pulse:
    """One connection that never reads a row, since its answers compare only so."""

    def __init__(self, place: Place, ready: Callable[[], Access]) -> None:
        self._place = place
        self._ready = ready
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._opened = 0

    def read(self) -> object:
        """Return a value that is another one after every commit of anybody."""
        with self._lock:
            try:
                access = self._ready()
                if access == "immutable":
                    # Nothing tells whether somebody writes by now.
                    self._close()
                    return object()
                db = self._db
                if db is None:
                    with CONNECTING:
                        db = self._db = connect(self._place, access)
                    self._opened += 1
                ((version,),) = db.execute(_DATA_VERSION)
            except sqlite3.Error as error:
                self._close()
                raise translate(error, self._place.path) from error
            return self._opened, int(version)

    def close_idle(self) -> bool:
        """Close the connection unless it is in use; return whether it is closed."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._close()
        finally:
            self._lock.release()
        return True

    def forget(self) -> list[sqlite3.Connection]:
        """Return the connection without closing it, and begin again without any."""
        inherited = [] if self._db is None else [self._db]
        self._db = None
        self._lock = threading.Lock()
        return inherited

    def _close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()
