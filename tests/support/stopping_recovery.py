"""A recovery run that stops in one of its writes, to be killed there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from stopping import StoppingStore, stop
from tenure import (
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    recover,
    recover_each,
)
from tenure_ledger.methods.recovering import RecoveryWriter, Seen
from tenure_ledger.process import process_name
from tenure_ledger.shell import Shell
from tenure_projections.live import LiveTables

__all__ = [
    "C1",
    "POINTS",
    "S1",
    "S2",
    "S3",
    "TOGETHER",
    "WRITES",
    "D",
    "open_live",
    "prepare",
    "stop_in",
]

S1, S2, S3 = (OwnerRef("session", f"ses_{number}") for number in (1, 2, 3))
C1, D = OwnerRef("subagent", "c1"), OwnerRef("subagent", "d")
WRITES = (S1, C1, D, S2)
"""What the run settles, in its order; ``ses_3`` only waits for its next term."""
TOGETHER = ((S1, S2), (C1,), (D,))
"""What shares a commit in `recover`: none is above another."""
POINTS = (
    "before BEGIN",
    "between two events",
    "before COMMIT",
    "after COMMIT, before the answer",
)


def open_live(path: str | Path) -> tuple[Ledger, StoppingStore]:
    """Open a ledger with its own tables, as this process, on a store that stops."""
    store = StoppingStore(str(path), LiveTables.specs)
    shell = Shell(
        store,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        process=process_name,
        deadline_seconds=30.0,
        tables=LiveTables(),
    )
    return Ledger(shell), store


def prepare(path: str) -> None:
    """Work with everything in it that a restart can meet, and stop in the midst."""
    ledger, _ = open_live(path)
    loop = RuntimeRestartReactionLoopState(consecutive_batches=1)
    one = ledger.claim(S1, "manager/1", "host", first=First("m1", "human"))
    ledger.mark_output_started(one, "m1")
    child = ledger.spawn(one, C1, "kid/c1", author="manager/1")
    ledger.admit(child, "t1", "assistant_run")
    ledger.start(child, "t1")
    ledger.save_checkpoint(child, loop)
    ledger.spawn(child, D, "kid/d", author="kid/c1")
    two = ledger.claim(S2, "manager/2", "host", first=First("m1", "human"))
    ledger.start(two, "m1")
    ledger.admit(two, "m2", "human")
    ledger.start(two, "m2")
    ledger.begin_tool_call(two, "m1", "call", "mail", {"to": "ann"})
    ledger.save_checkpoint(two, loop, keys=["m1"])
    three = ledger.claim(S3, "manager/3", "host", first=First("m1", "human"))
    ledger.retire(three, "continue", "Next: C.")
    stop("prepared")


def stop_in(path: str, write: int, point: str, *, together: bool = False) -> None:
    """Recover, and stop at the point of that write (0: the first).

    Each owner is written alone, or ``together`` with those that share its commit.
    """
    ledger, store = open_live(path)
    ledger.head()
    settle, count = RecoveryWriter.settle, iter(range(len(WRITES)))

    def armed(writer: RecoveryWriter, seen: Sequence[Seen]) -> object:
        if next(count) == write:
            store.arm(point)
        return settle(writer, seen)

    setattr(RecoveryWriter, "settle", armed)  # noqa: B010  mypy forbids a method
    if together:
        recover(ledger)
    else:
        for _ in recover_each(ledger):
            pass
    stop("nowhere")
