"""`tenure recover` and `tenure reap` do what they say, after a process died."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from crashes import copied, died_in_the_midst
from processes import other
from stopping_recovery import C1, S1, S2
from tenure import First, OwnerRef, open_ledger
from tenure_gate.cli import main
from workshop import command

LIVES = """
    from tenure import First, OwnerRef, open_ledger
    ledger = open_ledger(url)
    held = ledger.claim(
        OwnerRef("subagent", "w\\x1b[2J"), "w", "host", first=First("m1", "human"),
        lease_seconds=0,
    )
    ledger.start(held, "m1")
    say("works")
    hear()
"""


@pytest.fixture(scope="module")
def died_at_work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a process that was killed in the midst of it."""
    return died_in_the_midst(tmp_path_factory.mktemp("died"))


@pytest.fixture
def url(died_at_work: Path, tmp_path: Path) -> str:
    """Give a copy of it."""
    return f"sqlite:///{copied(died_at_work, tmp_path)}"


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `tenure` in a process of its own."""
    return command(*arguments, "--ledger", url)


def lines(ran: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what it printed, with single spaces."""
    assert (ran.returncode, ran.stderr) == (0, "")
    return [re.sub(" +", " ", line) for line in ran.stdout.splitlines()]


def position(url: str) -> int:
    with open_ledger(url) as ledger:
        return ledger.head().position


def test_each_owner_is_one_line_with_its_reason_and_what_to_do_next(url: str) -> None:
    assert lines(run(url, "recover")) == [
        (
            "closed session:ses_1 visible_output_started, no_checkpoint; told in "
            "session:ses_1"
        ),
        "due session:ses_1 begin its next term with succeed",
        (
            "closed subagent:c1 invalid_structural_owner_identity: its parent session "
            "ses_1 is closed by a recovery; told in session:ses_1"
        ),
        (
            "closed subagent:d invalid_structural_owner_identity: its parent subagent "
            "c1 is terminal since version 9; told in session:ses_1"
        ),
        "resumed session:ses_2 generation 2; reaction_loop; plan: TellCall, GoOn",
        "due session:ses_3 begin its next term with succeed; waiting for it: m1",
        "3 closed, 2 due, 1 resumed",
    ]
    with open_ledger(url) as ledger:
        assert ledger.owner(S1).status == "cut"
        assert ledger.owner(C1).status == "terminal"
        assert ledger.owner(S2).generation == 2


def test_the_next_run_counts_what_is_resumed_again(url: str) -> None:
    run(url, "recover")
    assert lines(run(url, "recover"))[1:] == [
        (
            "resumed session:ses_2 generation 3; reaction_loop; plan: TellCall, GoOn; "
            "restart 2 of its term"
        ),
        "due session:ses_3 begin its next term with succeed; waiting for it: m1",
        "2 due, 1 resumed",
    ]


def test_a_dry_run_says_the_same_and_writes_nothing(url: str) -> None:
    before = position(url)
    first, *dry = lines(run(url, "recover", "--dry-run"))
    assert first == "a dry run: what would be done; nothing is written"
    assert position(url) == before
    assert lines(run(url, "recover")) == dry
    assert position(url) > before


def test_only_looks_at_these_and_takes_the_names_that_were_printed(url: str) -> None:
    only = ("--only", "session:ses_2", "--only", "session:unheard:of")
    assert lines(run(url, "recover", *only)) == [
        "resumed session:ses_2 generation 2; reaction_loop; plan: TellCall, GoOn",
        "skipped session:unheard:of nothing_to_do: absent",
        "1 resumed, 1 skipped",
    ]
    with open_ledger(url) as ledger:
        assert ledger.owner(S1).status == "live"


def test_what_is_older_than_the_age_limit_is_left_alone(url: str) -> None:
    before = position(url)
    found = lines(run(url, "recover", "--max-age", "60"))
    assert found[0].startswith("skipped session:ses_1 too_old: last seen 2026-01-01")
    assert found[-1].endswith("3 skipped, 1 due")
    assert position(url) == before


def test_what_lives_is_left_alone_and_shown_without_its_control_characters(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'relay.db'}"
    with other(LIVES, url) as worker:
        assert worker.hear() == "works"
        for asked in ("recover", "reap"):
            found = lines(run(url, asked))
            assert found[0].startswith(r"skipped subagent:w\x1b[2J alive: its process:")
            assert found[1:] == ["1 skipped"]
        worker.kill()
    assert lines(run(url, "reap")) == [
        r"closed subagent:w\x1b[2J runtime_work_reap; told in subagent:w\x1b[2J",
        "1 closed",
    ]
    assert lines(run(url, "reap")) == ["nothing is to be done"]


def test_that_only_the_program_can_judge_names_of_its_own_is_said_once_at_the_end(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'relay.db'}"
    with open_ledger(url, process="pod-7f/1") as ledger:
        for name in ("w1", "w2"):
            held = ledger.claim(
                OwnerRef("subagent", name),
                name,
                "host",
                first=First("m1", "human"),
                lease_seconds=0,
            )
            ledger.start(held, "m1")
    for asked in (("recover",), ("recover", "--dry-run"), ("reap",)):
        *_, counted, last = found = lines(run(url, *asked))
        assert "skipped subagent:w1 cannot_tell: its process: pod-7f/1" in found
        assert counted == "2 skipped"
        assert last.startswith("cannot_tell: whether a process= name of yours is gone")
        assert "RecoveryEnvironment(holder=...)" in last
        assert sum("RecoveryEnvironment" in line for line in found) == 1


def test_a_lease_that_has_not_run_out_is_not_reaped(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'relay.db'}"
    with other(LIVES.replace("lease_seconds=0", "lease_seconds=9999"), url) as worker:
        assert worker.hear() == "works"
        worker.kill()
    assert lines(run(url, "reap")) == ["nothing is to be done"]


def test_what_breaks_at_one_owner_is_its_line_and_status_1(url: str) -> None:
    path = url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as db, db:
        # The checkpoint of ses_2 is not what was stored any more.
        db.execute("DROP TRIGGER payloads_are_never_changed_on_update")
        db.execute("UPDATE payloads SET body = '{}' WHERE stream = ?", (S2.stream,))
    ran = run(url, "recover")
    assert (ran.returncode, ran.stderr) == (1, "")
    found = [re.sub(" +", " ", line) for line in ran.stdout.splitlines()]
    (broken,) = (line for line in found if line.startswith("failed"))
    assert broken.startswith("failed session:ses_2 Corrupt: the body")
    assert found[-1] == "3 closed, 2 due, 1 failed"


@pytest.mark.parametrize("command", ["recover", "reap"])
def test_where_there_is_no_ledger_none_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = tmp_path / "typo.db"
    assert main([command, "--ledger", f"sqlite:///{path}"]) == 2
    assert capsys.readouterr().err == f"tenure: there is no ledger at {path}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--only", "ses_1"), "an owner is CLASS:ID"),
        (("--only", "Session:ses_1"), "recovery_class must match"),
        (("--only", "session:"), "owner_id"),
        (("--max-age", "soon"), "--max-age"),
        (("--max-age", "nan"), "max_age_seconds must be"),
        (("--max-age", "-1"), "max_age_seconds must be"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_with_status_2(
    url: str, given: tuple[str, ...], said: str
) -> None:
    ran = run(url, "recover", *given)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_many_that_wait_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'relay.db'}"
    with open_ledger(url) as ledger:
        for number in range(7):
            ledger.accept(OwnerRef("session", "new"), f"m{number}", "inbox")
    assert main(["recover", "--ledger", url]) == 0
    (due, _) = capsys.readouterr().out.splitlines()
    assert due.endswith("with claim; waiting for it: m0, m1, m2, m3, m4 and 2 more")
