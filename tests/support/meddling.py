"""A store on which something happens just before a unit begins, or is answered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from tenure import Ledger
from tenure_ledger.shell import Shell
from tenure_ledger.stores import MemoryStore, SQLiteStore
from tenure_ledger.stores.memory_contents import MemorySnapshot
from tenure_ledger.stores.memory_unit import MemoryUnit
from tenure_ledger.stores.sqlite_reading import Reading
from tenure_ledger.stores.sqlite_unit import SQLiteUnit
from tenure_projections.ledger import Ledger as FullLedger
from tenure_projections.live import LiveTables

__all__ = ["Meddled"]

_U = TypeVar("_U", MemoryUnit, SQLiteUnit)
START = datetime(2026, 1, 1, tzinfo=UTC)


class _Meddling:
    """What happens around each unit of a store."""

    def __init__(self) -> None:
        self.before: Callable[[], object] = lambda: None
        self.compared: Callable[[], object] = lambda: None
        self.snapshots = 0
        self.losses: list[Exception] = []
        self.lost = 0
        self.expected: Mapping[str, int] = {}

    def unit(self, unit: _U) -> _U:
        """Note what it expects; lose the answer to its commit while losses are left."""
        commit, expect = unit.commit, unit.expect
        self.expected = {}

        def note(reads: Mapping[str, int]) -> None:
            self.expected = reads
            expect(reads)

        def commit_and_lose() -> None:
            commit()
            if self.losses:
                self.lost += 1
                raise self.losses.pop()

        setattr(unit, "expect", note)  # noqa: B010  mypy forbids a method
        setattr(unit, "commit", commit_and_lose)  # noqa: B010  mypy forbids a method
        return unit

    def after_a_snapshot(self) -> None:
        """Let others act after the second of a rebuild: that of the comparison."""
        self.snapshots += 1
        if self.snapshots == 2:
            self.compared()


class MeddledMemory(MemoryStore):
    """The memory store, with a moment before each unit."""

    meddling = _Meddling()

    def write(self, deadline_seconds: float) -> MemoryUnit:
        """Let others act, then return the unit."""
        self.meddling.before()
        return self.meddling.unit(super().write(deadline_seconds))

    @contextmanager
    def snapshot(self) -> Generator[MemorySnapshot]:
        """Hand out a snapshot, after which others may act."""
        with super().snapshot() as snapshot:
            yield snapshot
        self.meddling.after_a_snapshot()


class MeddledSQLite(SQLiteStore):
    """The real store on a real file, with a moment before each unit."""

    meddling = _Meddling()

    def write(self, deadline_seconds: float) -> SQLiteUnit:
        """Let others act, then return the unit."""
        self.meddling.before()
        return self.meddling.unit(super().write(deadline_seconds))

    @contextmanager
    def snapshot(self) -> Generator[Reading]:
        """Hand out a snapshot, after which others may act."""
        with super().snapshot() as snapshot:
            yield snapshot
        self.meddling.after_a_snapshot()


class Meddled:
    """A ledger of which a test can act between the comparison and the unit.

    ``ledger`` rebuilds; ``other`` is another process's, on the same store.
    """

    def __init__(self, kind: str, folder: Path, deadline_seconds: float = 30.0) -> None:
        tables = LiveTables()
        self.store: MeddledMemory | MeddledSQLite
        if kind == "memory":
            self.store = MeddledMemory(tables=tables.specs)
        else:
            self.store = MeddledSQLite(
                folder / "relay.db",
                durability="normal",
                tables=tables.specs,
                fill=tables.fill,
            )
        self._meddling = self.store.meddling = _Meddling()
        self._deadline_seconds = deadline_seconds
        self.ledger = self._open(tables)
        self.other = self._open(tables)

    def _open(self, tables: LiveTables) -> FullLedger:
        return FullLedger(
            Shell(
                self.store,
                clock=lambda: START,
                process=lambda: "host",
                deadline_seconds=self._deadline_seconds,
                tables=tables,
            )
        )

    def before_the_unit(self, act: Callable[[Ledger], object]) -> None:
        """Let the other process act once, before the next unit begins."""

        def once() -> None:
            self._meddling.before = lambda: None
            act(self.other)

        self._meddling.before = once

    def after_comparing(self, act: Callable[[Ledger], object]) -> None:
        """Let the other process act once, when the next rebuild has compared."""
        self._meddling.snapshots = 0
        self._meddling.compared = lambda: act(self.other)

    def lose(self, *losses: Exception) -> None:
        """Store what the next units commit, and raise one of these instead."""
        self._meddling.losses = list(losses)

    @property
    def lost(self) -> int:
        """How many answers were lost."""
        return self._meddling.lost

    @property
    def expected(self) -> Mapping[str, int]:
        """What the last unit that was begun expects of streams."""
        return self._meddling.expected

    def close(self) -> None:
        """Close both."""
        self.ledger.close()
        self.other.close()
