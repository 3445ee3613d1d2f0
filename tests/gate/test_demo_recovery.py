"""The demonstration's restart: what it says of each owner is what the ledger has."""

import io
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenure import (
    NOTICE,
    ChatExecutionKey,
    Ledger,
    OwnerIsLive,
    OwnerRef,
    RecoveryEnvironment,
    RecoveryReport,
    open_ledger,
    recover,
)
from tenure_gate import demo
from tenure_gate.demo import restart, work
from tenure_gate.demo.telling import Telling

LINES = [
    r"SIGKILL +process \d+, which held ten owners",
    r"a dry run +17 results, 0 events",
    r"cron hourly +cron_exec_timeout +closed, for good",
    r"cron nightly +scheduled_work +resumed: RunJob",
    r"ses_1 +accepted +succeed is due",
    r"ses_10 +no_checkpoint +closed; succeed is due",
    r"ses_2 +alive +left alone",
    r"ses_3 +alive +left alone",
    r"ses_4 +tool_approval_wait +resumed: AwaitApproval, GoOn",
    r"ses_5 +queued_submission +resumed: QueueSubmission",
    r"ses_6 +reaction_loop +resumed: KeepOutput, TellCall, RunCall, GoOn",
    r"ses_7 +visible_output_started +closed; succeed is due",
    r"ses_8 +user_cancelled +closed; succeed is due",
    r"ses_9 +missing_conversation +closed; succeed is due",
    r"subagent helper +invalid_structural_owner_identity +closed, for good",
    r"recover again +0 new events",
    r"ses_7, its history +msg_1, answer_1, msg_2",
    re.escape(NOTICE) + r" Output to the user had started\.",
    r"ses_8, its notice +The user cancelled this\. Do not redo it unless asked\.",
    r"call_1 +not run; the history gets: the result \{'sent': 'anna'\}",
    r"call_2 +not run; the history gets: unknown",
    r"call_3 +run; the history gets: its mail to cleo is sent",
    r"the loop goes on +msg_1 is completed",
    r"verify",
]
MODES = {
    work.ASKED: "tool_approval_wait",
    work.QUEUED: "queued_submission",
    work.NIGHTLY: "scheduled_work",
    work.LOOP: "reaction_loop",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Ledger]]:
    """What one run said, and the ledger that it left."""
    kept = tmp_path_factory.mktemp("demo") / "relay.db"
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        assert demo.main(["--ledger", str(kept)]) == 0
    with open_ledger(f"sqlite:///{kept}") as ledger:
        yield out.getvalue(), ledger


def test_each_owner_is_told_with_its_reason_and_what_happened(
    told: tuple[str, Ledger],
) -> None:
    joined = re.sub(r"\n {20,}", " ", told[0])
    places: list[int] = []
    for line in LINES:
        found = re.search(rf"^ok +{line}", re.sub(r" +", " ", joined), re.MULTILINE)
        assert found is not None, line
        places.append(found.start())
    assert places == sorted(places)


def test_the_ledger_has_what_was_told(told: tuple[str, Ledger]) -> None:
    ledger = told[1]
    assert ledger.verify().ok
    for owner, mode in MODES.items():
        seen = ledger.owner(owner)
        assert (seen.status, seen.generation) == ("live", 2), owner
        assert seen.checkpoint is not None
        assert seen.checkpoint.mode == mode
    ends = {
        owner: ledger.owner(owner).status
        for owner in (work.HOURLY, work.HELPER, work.BARE, work.DELETED)
    }
    assert [*ends.values()] == ["terminal", "terminal", "cut", "cut"]
    outcomes = [
        execution.outcome
        for owner in (work.SPOKEN, work.CANCELLED, work.BARE, work.LOOP)
        if (execution := ledger.execution(ChatExecutionKey(owner.owner_id, "msg_1")))
    ]
    closed = "closed_in_recovery"
    assert outcomes == [closed, "cancelled", closed, "completed"]
    calls = [ledger.tool_call(work.LOOP, "msg_1", f"call_{at}") for at in (1, 2, 3)]
    states = [call.state for call in calls if call is not None]
    assert states == ["completed", "unknown", "completed"]


def test_the_plan_of_the_queue_waits_with_all_that_it_absorbed(
    told: tuple[str, Ledger],
) -> None:
    (lead, absorbed) = (
        told[1].execution(ChatExecutionKey(work.QUEUED.owner_id, name))
        for name in ("msg_2", "msg_1")
    )
    assert lead is not None
    assert absorbed is not None
    assert lead.absorbed == ("msg_1",)
    assert (absorbed.absorbed_by, absorbed.settled) == ("msg_2", 0)


@contextmanager
def _ledger(folder: Path) -> Generator[tuple[Ledger, str]]:
    url = f"sqlite:///{folder / 'relay.db'}"
    with open_ledger(url) as ledger:
        yield ledger, url


def test_a_daemon_that_does_not_come_up_fails_its_check_and_ends_the_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(silent))
    out = io.StringIO()
    tell = Telling(out)
    with _ledger(tmp_path) as (ledger, url):
        restart.run(tell, ledger, url)
        assert (tell.checked, tell.failed) == (1, 1)
        assert ledger.owner(OwnerRef("session", "ses_6")).status == "absent"
    assert "The next process recovers" not in out.getvalue()


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scene be told alone: the sessions of the others are not there."""
    rows = [row for row in restart.EXPECTED if row.owner not in restart.BEFORE]
    monkeypatch.setattr(restart, "EXPECTED", rows)


@pytest.mark.usefixtures("alone")
def test_the_scene_is_the_same_on_a_file_and_on_a_server(place: str) -> None:
    out = io.StringIO()
    tell = Telling(out)
    with open_ledger(place) as ledger:
        restart.run(tell, ledger, place)
        assert ledger.owner(work.LOOP).generation == 2
    said = out.getvalue()
    assert len(_rows(said, "ok")) == 10
    # How many are left as they are is counted over the whole story.
    assert re.findall(r"^FAIL +(.*?)  ", said, re.MULTILINE) == ["recover again"]
    assert tell.checked > 15


def _rows(said: str, mark: str) -> list[str]:
    """Return the owners whose rows have the mark."""
    table = said.partition("what happened\n")[2].partition("recover again")[0]
    return re.findall(rf"^{mark} +((?:\w+ )?\w+) +\w+  ", table, re.MULTILINE)


@pytest.mark.usefixtures("alone")
def test_an_owner_that_is_settled_otherwise_than_expected_fails_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No conversation is said to be deleted: that session is resumed, with its helper.
    monkeypatch.setattr(work, "DELETED", OwnerRef("session", "nobody"))
    out = io.StringIO()
    with _ledger(tmp_path) as (ledger, url):
        restart.run(Telling(out), ledger, url)
    said = out.getvalue()
    assert _rows(said, "FAIL") == ["ses_9", "subagent helper"]
    assert len(_rows(said, "ok")) == 8


@pytest.mark.usefixtures("alone")
def test_a_report_that_the_ledger_does_not_bear_out_fails_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_say(
        ledger: Ledger, environment: RecoveryEnvironment, *, dry_run: bool = True
    ) -> RecoveryReport:
        assert dry_run
        return recover(ledger, environment, dry_run=True)

    monkeypatch.setattr(restart, "recover", only_say)
    out = io.StringIO()
    with _ledger(tmp_path) as (ledger, url), pytest.raises(OwnerIsLive):
        restart.run(Telling(out), ledger, url)
    assert _rows(out.getvalue(), "ok") == []
    assert len(_rows(out.getvalue(), "FAIL")) == 10


@pytest.mark.parametrize(
    ("holds", "mark"), [(True, "ok "), (False, "FAIL "), (None, "  ")]
)
def test_a_row_that_does_not_hold_is_marked_and_counted(
    holds: bool | None,  # noqa: FBT001  a parameter of the test
    mark: str,
) -> None:
    out = io.StringIO()
    tell = Telling(out)
    tell.row("ses_1", "reason", "one two " * 5, holds=holds)
    assert (tell.checked, tell.failed) == (holds is not None, holds is False)
    first, *more = out.getvalue().splitlines()
    assert first.startswith(mark)
    assert [line.strip() for line in more] == ["one two one two"]
