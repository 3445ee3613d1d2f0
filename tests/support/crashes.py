"""A host that is killed at work, for real, and the ledger that it leaves behind."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent

from processes import other
from tenure import Ledger, open_ledger

__all__ = ["killed_at_work", "reopened"]

BEGIN = """
from tenure import *
ledger = open_ledger("sqlite:///" + sys.argv[1])
S = OwnerRef("session", "ses_1")
KID = OwnerRef("subagent", "kid_1")
def begin():
    held = ledger.claim(S, "manager/1", "host", first=First("m1", "human"))
    ledger.start(held, "m1")
    return held
"""
END = """
say("at work")
hear()
"""


def killed_at_work(path: Path, work: str) -> None:
    """Do this work in another process, and kill it as `kill -9` does."""
    with other(BEGIN + dedent(work) + END, path) as host:
        assert host.hear() == "at work"
        assert host.kill() == []


@contextmanager
def reopened(path: Path, *, after_seconds: float = 0.0) -> Generator[Ledger]:
    """Open what is left, as another process and so many seconds later."""
    later = timedelta(seconds=after_seconds)
    url = f"sqlite:///{path}"
    with open_ledger(url, clock=lambda: datetime.now(UTC) + later) as ledger:
        yield ledger
