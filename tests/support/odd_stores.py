"""Real stores in which one thing goes otherwise, and ledgers on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

from tenure import Ledger
from tenure_ledger.rows import Conflict, Doubtful, EventRow, Store
from tenure_ledger.shell import Shell
from tenure_ledger.stores import SQLiteStore
from tenure_ledger.stores.sqlite_unit import SQLiteUnit

__all__ = ["HastyStore", "LaggingStore", "Loss", "LossyStore", "NumbStore", "ledger_on"]


def ledger_on(store: Store, deadline_seconds: float = 30.0) -> Ledger:
    """Open a ledger on a store."""
    shell = Shell(
        store,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        process=lambda: "p1",
        deadline_seconds=deadline_seconds,
    )
    return Ledger(shell)


Loss = Literal["stored", "not stored", "conflict"]


class LossyStore(SQLiteStore):
    """Commits end in doubt, or in a conflict, for as long as there is a loss left."""

    losses: list[Loss]

    def write(self, deadline_seconds: float) -> SQLiteUnit:
        """Return a real unit that may lose the answer to its commit."""
        unit = super().write(deadline_seconds)
        commit = unit.commit

        def lossy() -> None:
            loss = self.losses.pop(0) if self.losses else None
            if loss == "conflict":
                raise Conflict(loss)
            if loss != "not stored":
                commit()
            if loss is not None:
                raise Doubtful(loss)

        setattr(unit, "commit", lossy)  # noqa: B010  mypy forbids a method
        return unit


class LaggingStore(SQLiteStore):
    """Nobody may read behind ``safe`` yet: an older transaction may still commit."""

    safe = 0

    def horizon(self) -> int:
        """Return as much as is safe."""
        return min(self.safe, super().horizon())


class HastyStore(SQLiteStore):
    """Somebody else does something just behind a reading of a stream."""

    behind_tail: Callable[[], object] | None = None

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the rows of the stream, and let the other do it, once."""
        rows = super().tail(stream, version)
        behind, self.behind_tail = self.behind_tail, None
        if behind is not None:
            behind()
        return rows


class NumbStore(SQLiteStore):
    """Has no pulse: nobody is ever told that something was committed."""

    def pulse(self) -> object:
        """Return the same value always."""
        return None
