"""A host that is killed at work, for real, and the ledger that it leaves behind."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent

from processes import other
from tenure import Ledger, OwnerRef, RecoveryReport, open_ledger, recover
from tenure_ledger import events as e
from witness import violations
from workshop import hand

__all__ = [
    "copied",
    "died_in_the_midst",
    "held_in_recovery",
    "killed_at_work",
    "recovered",
    "reopened",
]

END = """
say("at work")
hear()
"""


def killed_at_work(place: str, work: str) -> None:
    """Do this work in another process, and kill it as `kill -9` does."""
    with hand(place, dedent(work) + END) as host:
        assert host.hear() == "at work"
        host.kill()


def died_in_the_midst(folder: Path) -> Path:
    """Return the file of a process killed at the work of `stopping_recovery`."""
    path = folder / "relay.db"
    script = "from stopping_recovery import prepare; prepare(sys.argv[1])"
    with other(script, path) as host:
        assert host.hear() == "prepared"
        host.kill()
    return path


def copied(path: Path, folder: Path) -> Path:
    """Return a copy of a ledger's file, with what lies in its journal."""
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder / file.name)
    return folder / path.name


@contextmanager
def reopened(place: str, *, after_seconds: float = 0.0) -> Generator[Ledger]:
    """Open what is left, as another process and so many seconds later."""
    later = timedelta(seconds=after_seconds)
    with open_ledger(place, clock=lambda: datetime.now(UTC) + later) as ledger:
        yield ledger


def recovered(ledger: Ledger) -> RecoveryReport:
    """Recover by the default environment; again, and nothing is appended."""
    report = recover(ledger)
    assert report.failed == ()
    before = ledger.head().position
    recover(ledger)
    assert ledger.head().position == before
    return report


def held_in_recovery(ledger: Ledger) -> None:
    """Hold I12, from the log: each resume and close decided once, over a holding gone.

    And that after one more run, by the default environment, the next appends nothing.
    """
    assert violations([*ledger.events()]) == []
    assert ledger.verify().ok
    for row in ledger.rows("recovery_owners"):
        owner = OwnerRef(str(row["recovery_class"]), str(row["owner_id"]))
        events = [one.event for one in ledger.history(owner)]
        decided = [one for one in events if isinstance(one, e.RecoveryDecided)]
        assert len({one.generation for one in decided}) == len(decided)
        assert {one.evidence.kind for one in decided if one.evidence} <= {"gone"}
        restarts = [
            one.generation
            for one in events
            if isinstance(one, e.GenerationAdvanced)
            and one.reason == "instance_restart"
        ]
        resumed = [
            one.generation + 1 for one in decided if one.disposition == "resumed"
        ]
        assert {*resumed} <= {*restarts}
        assert len({*restarts}) == len(restarts)
        told = [one for one in events if isinstance(one, e.NoticeIssued)]
        assert len({one.notice for one in told}) == len(told)
    recovered(ledger)
