"""Two process spaces under one host name, for real: `unshare` makes the second one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tenure import First, OwnerRef, Skipped, open_ledger, recover

pytestmark = pytest.mark.prove

SESSION = OwnerRef("session", "ses_1")
WORK = """
import os, sys
from tenure import First, OwnerRef, open_ledger
ledger = open_ledger("sqlite:///" + sys.argv[1])
session = OwnerRef("session", "ses_1")
held = ledger.claim(session, "manager/1", "host", first=First("m1", "human"))
ledger.start(held, "m1")
print(ledger.owner(session).process, flush=True)
sys.stdin.readline()
"""
RECOVER = """
import sys
from tenure import open_ledger, recover
with open_ledger("sqlite:///" + sys.argv[1]) as ledger:
    for one in recover(ledger).results:
        print(type(one).__name__, getattr(one, "why", ""), flush=True)
"""
UNSHARED = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def running(script: str, path: Path, *before: str) -> subprocess.Popen[str]:
    """Run the script, in a process space of its own if ``before`` says so."""
    return subprocess.Popen(
        [*before, sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_nobody_is_gone_in_a_process_space_that_cannot_be_seen(tmp_path: Path) -> None:
    """The same host name, the same boot, and number 1 in both: not the same process."""
    path = tmp_path / "relay.db"
    with running(WORK, path, *UNSHARED) as contained:
        process = line(contained)
        assert ";pid=1;" in process
        with open_ledger(f"sqlite:///{path}") as ledger:
            (left,) = recover(ledger).results
            assert isinstance(left, Skipped)
            assert (left.owner, left.why) == (SESSION, "cannot_tell")
        contained.kill()
    # Gone with its space, and still: it is not ours to tell.
    with open_ledger(f"sqlite:///{path}") as ledger:
        (left,) = recover(ledger).results
        assert isinstance(left, Skipped)
        assert left.why == "cannot_tell"


def test_from_within_a_space_nobody_outside_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        first = First("m1", "human")
        held = ledger.claim(SESSION, "manager/1", "host", first=first)
        with running(RECOVER, path, *UNSHARED) as contained:
            assert line(contained) == "Skipped cannot_tell"
            assert contained.wait() == 0
        ledger.check(held)
