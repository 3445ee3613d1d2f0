"""The ledger in memory: the public twin of the durable stores, for tests and trials."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import SETUP_SECONDS, EventRow, TableSpec
from tenure_ledger.stores.fair_lock import FairLock
from tenure_ledger.stores.memory_contents import Contents, MemorySnapshot
from tenure_ledger.stores.memory_recorder import Recorder
from tenure_ledger.stores.memory_unit import MemoryUnit

__all__ = ["MemoryStore"]

_PAGE_ROWS = 2000
_RECORDER_SECONDS = 30.0


class MemoryStore:
    """Keep a ledger as long as the process lives; each store is a ledger of its own."""

    def __init__(self, *, tables: Sequence[TableSpec] = ()) -> None:
        self.recorder = Recorder(lambda: self.write(_RECORDER_SECONDS))
        self._contents = Contents(self.recorder, tables)
        self._turn = FairLock()
        self._closed = threading.Event()

    def write(self, deadline_seconds: float) -> MemoryUnit:
        """Return a unit that may write; wait for other writers up to the deadline."""
        return MemoryUnit(self._contents, self._turn, self._check, deadline_seconds)

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``."""
        self._check()
        return self.recorder.tail(stream, version)

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        self._check()
        return self._contents.body(stream, digest)

    def events(self, after: int, upto: int | None = None) -> Iterator[EventRow]:
        """Yield rows with ``after`` < position (<= ``upto``), in order, by pages."""
        while True:
            self._check()
            rows = self.recorder.page(after, upto, _PAGE_ROWS)
            yield from rows
            if len(rows) < _PAGE_ROWS:
                return
            after = rows[-1].position

    def hashes(
        self, after: int, upto: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (position, hash) with ``after`` < position (<= ``upto``), in order."""
        for row in self.events(after, upto):
            yield row.position, row.hash

    def head_position(self) -> int:
        """Return the highest position, 0 when the ledger is empty."""
        self._check()
        return self.recorder.max_notification_id() or 0

    def count(self, upto: int) -> int:
        """Return how many events there are with a position <= ``upto``."""
        return min(upto, self.head_position())

    def horizon(self) -> int:
        """Return the head's position: units are visible in the order of positions."""
        return self.head_position()

    @contextmanager
    def snapshot(self) -> Generator[MemorySnapshot]:
        """Return what is there now, to be read at leisure; no writer waits for it."""
        self._check()
        yield self._contents.snapshot()

    def pulse(self) -> object:
        """Return a value that is another one after every commit of anybody."""
        self._check()
        return self._contents.commits

    def define(
        self,
        specs: Sequence[TableSpec],
        deadline_seconds: float = SETUP_SECONDS,  # noqa: ARG002  nobody is waited for
    ) -> None:
        """Make further tables, if missing."""
        self._check()
        self._contents.define(specs)

    def lacking(self, specs: Sequence[TableSpec]) -> frozenset[str]:
        """Return the names of those tables that are not there."""
        self._check()
        return self._contents.lacking(specs)

    def setup(
        self,
        deadline_seconds: float = SETUP_SECONDS,  # noqa: ARG002  as in `define`
    ) -> None:
        """Do nothing: there is nothing to create."""
        self._check()

    def missing(self) -> str:
        """Return nothing: there is nothing to create."""
        self._check()
        return ""

    def grants(self) -> str:
        """Return nothing: there are no roles."""
        return ""

    @contextmanager
    def restoring(self) -> Generator[None]:
        """Do nothing: there are no copies."""
        yield

    def close(self) -> None:
        """Refuse what comes after; a second call does nothing."""
        self._closed.set()

    def _check(self) -> None:
        if self._closed.is_set():
            raise StoreUnavailable("The store is closed: open another.")
