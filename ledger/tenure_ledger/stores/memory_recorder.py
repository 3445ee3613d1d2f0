"""`eventsourcing`'s recorder for plain objects, with the hash of every event."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from operator import attrgetter
from threading import RLock
from typing import Any

from eventsourcing.persistence import StoredEvent
from eventsourcing.popo import POPOApplicationRecorder

from tenure_ledger.rows import EventRow
from tenure_ledger.stores.recording import Write, record

__all__ = ["Recorder"]

_VERSION = attrgetter("version")


class Recorder(POPOApplicationRecorder):
    """The stock recorder; what it writes goes through a unit of the store."""

    def __init__(self, write: Write) -> None:
        super().__init__()
        self._write = write
        self._hashes: dict[tuple[str, int], bytes] = {}
        self._rows: list[EventRow] = []
        self._streams: dict[str, list[EventRow]] = {}

    @property
    def lock(self) -> RLock:
        """Held while the ledger changes and while anybody reads it."""
        return self._database_lock

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,  # noqa: ANN401, ARG002  the signature that is overridden
    ) -> Sequence[int]:
        """Append events with the hash of each and return their positions.

        Raises IntegrityError (of `eventsourcing`) when a version exists already.
        """
        return record(self._write, stored_events)

    def append(self, rows: Sequence[EventRow]) -> None:
        """Store the rows of one unit. Raises IntegrityError, then nothing is stored."""
        with self.lock:
            self._insert_events(
                [StoredEvent(row[1], row[2], row[3], row[4]) for row in rows]
            )
            for row in rows:
                self._hashes[row.stream, row.version] = row.hash
                self._rows.append(row)
                insort(self._streams.setdefault(row.stream, []), row, key=_VERSION)
        self._notify_listeners()

    def has(self, stream: str, version: int) -> bool:
        """Return whether the version exists."""
        return (stream, version) in self._hashes

    def streams(self) -> list[str]:
        """Return the name of every stream."""
        with self.lock:
            return list(self._streams)

    def tail(self, stream: str, version: int) -> list[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        with self.lock:
            rows = self._streams.get(stream, [])
            return rows[bisect_left(rows, version, key=_VERSION) :]

    def last(self, stream: str) -> list[EventRow]:
        """Return the stream's last row, if there is one."""
        with self.lock:
            return self._streams.get(stream, [])[-1:]

    def page(self, after: int, upto: int | None, rows_max: int) -> list[EventRow]:
        """Return rows above ``after``, up to ``upto``; positions count from 1."""
        start = max(after, 0)
        stop = start + rows_max if upto is None else min(start + rows_max, upto)
        with self.lock:
            return self._rows[start : max(stop, start)]
