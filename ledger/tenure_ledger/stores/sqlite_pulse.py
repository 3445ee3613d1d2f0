"""Has anybody committed? Asked of SQLite itself, in some microseconds."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from time import monotonic

from tenure_ledger.stores.sqlite_connect import Access, Place, connect, sql
from tenure_ledger.stores.sqlite_faults import translate
from tenure_ledger.stores.sqlite_fork import CONNECTING

__all__ = ["Pulse"]

_DATA_VERSION = sql("data_version")


_LOOK_SECONDS = 0.005
"""How long a pulse trusts that the path still names the file that it has open."""


class Pulse:
    """One connection that never reads a row, since its answers compare only so."""

    def __init__(self, place: Place, ready: Callable[[], Access]) -> None:
        self._place = place
        self._ready = ready
        self._lock = threading.Lock()
        self._cursor: sqlite3.Cursor | None = None
        self._opened = 0
        self._trusted_until = 0.0

    def read(self) -> object:
        """Return a value that is another one after every commit of anybody."""
        with self._lock:
            try:
                cursor = self._cursor
                if cursor is None or monotonic() >= self._trusted_until:
                    cursor = self._look()
                if cursor is None:
                    return object()
                version = cursor.execute(_DATA_VERSION).fetchone()[0]
            except sqlite3.Error as error:
                self._close()
                raise translate(error, self._place.path) from error
            return self._opened, version

    def _look(self) -> sqlite3.Cursor | None:
        """See that the file is the same; None where nothing tells who writes to it."""
        access = self._ready()
        if access == "immutable":
            self._close()
            return None
        if self._cursor is None:
            with CONNECTING:
                self._cursor = connect(self._place, access).cursor()
            self._opened += 1
        self._trusted_until = monotonic() + _LOOK_SECONDS
        return self._cursor

    def close_idle(self) -> bool:
        """Close the connection unless it is in use; return whether it is closed."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._close()
        finally:
            self._lock.release()
        return True

    def forget(self) -> list[object]:
        """Return the connection without closing it, and begin again without any."""
        inherited: list[object] = []
        if self._cursor is not None:
            inherited = [self._cursor, self._cursor.connection]
        self._cursor = None
        self._lock = threading.Lock()
        return inherited

    def _close(self) -> None:
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            cursor.connection.close()
