"""`tenure recover` and `tenure reap` say and do the same on a file and on a server."""

from __future__ import annotations

import re

import pytest

from crashes import held_in_recovery, killed_at_work, reopened
from recovering import KID, SESSION
from workshop import command

WORK = """
ledger.mark_output_started(begin(), "m1")
two = begin(OwnerRef("session", "ses_2"), "manager/2")
ledger.save_checkpoint(two, LOOP)
kid = ledger.claim(
    KID, "kid/1", "host", first=First("t1", "assistant_run"), lease_seconds=0
)
"""
CLOSED = "closed session:ses_1 visible_output_started, no_checkpoint; told in"
WOULD = "resumed session:ses_2 generation 2; reaction_loop; plan: GoOn"


def lines(place: str, *arguments: str) -> str:
    """Run a command of `tenure` in a process; return what it says, on one line."""
    ran = command(*arguments, "--ledger", place)
    assert (ran.returncode, ran.stderr) == (0, "")
    return re.sub(r"\s+", " ", ran.stdout)


@pytest.mark.parametrize("dry_run", [True, False])
def test_recover_says_and_does_the_same_on_each_store(
    place: str, *, dry_run: bool
) -> None:
    killed_at_work(place, WORK)
    said = lines(place, "recover", *(["--dry-run"] if dry_run else []))
    for line in (CLOSED, WOULD, "due session:ses_1"):
        assert line in said
    with reopened(place) as ledger:
        assert ledger.owner(SESSION).status == ("live" if dry_run else "cut")
        held_in_recovery(ledger)


def test_reap_says_and_does_the_same_on_each_store(place: str) -> None:
    killed_at_work(place, WORK)
    assert "closed subagent:kid_1 runtime_work_reap" in lines(place, "reap")
    with reopened(place) as ledger:
        assert ledger.owner(KID).status == "terminal"
        assert ledger.owner(SESSION).status == "live"
