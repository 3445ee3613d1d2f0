"""`tenure rebuild` says what it did, row by row, and exits with what it found."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tenure import First, OwnerRef, RuntimeRestartReactionLoopState, open_ledger
from tenure_gate.cli import main
from tenure_projections.tables import TABLES
from workshop import command

NAMES = [table.spec.name for table in TABLES]
S = OwnerRef("session", "ses\x1b[2J1")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Give a file with a session that runs."""
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url) as ledger:
        one = ledger.claim(S, "a", "host", first=First("m1", "human", "Ana"))
        loop = RuntimeRestartReactionLoopState(
            consecutive_batches=2, pending_compact="x" * 100
        )
        ledger.save_checkpoint(one, loop, {"model": "large"})
        ledger.accept(OwnerRef("session", "s2"), "m2", "inbox")
    return url


def run(url: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, with settings of its environment."""
    if not settings:
        return command("rebuild", *arguments, "--ledger", url)
    return subprocess.run(
        [sys.executable, "-m", "tenure", "rebuild", *arguments, "--ledger", url],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def spoil(url: str) -> None:
    """Change rows with SQLite's own client."""
    path = url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE chat_executions SET status = 'x', sender = NULL")
        db.execute("DELETE FROM recovery_owners")
        db.execute(
            "UPDATE runtime_restart_checkpoints SET generation = 9, "
            "payload_json = replace(payload_json, '2', '3'), mode = x'00'"
        )
        db.execute("INSERT INTO stream_states VALUES ('x', 'a', 'b', 'c', 'd', 1, 2)")


def test_a_sound_ledger_is_one_line_for_each_table_and_status_0(url: str) -> None:
    for arguments in ((), ("--check",)):
        ran = run(url, *arguments)
        assert (ran.returncode, ran.stderr) == (0, "folded 6 of 6 events\n")
        lines = ran.stdout.splitlines()
        assert [line.partition(":")[0] for line in lines] == NAMES
        assert lines[0] == "recovery_owners: 1 row from 6 events, no difference"
        assert all(line.endswith(", no difference") for line in lines)


def test_one_table_is_one_line(url: str) -> None:
    ran = run(url, "chat_executions", "--check")
    assert ran.returncode == 0
    assert ran.stdout == "chat_executions: 2 rows from 6 events, no difference\n"


def test_differences_are_told_row_by_row_and_put_right(url: str) -> None:
    spoil(url)
    first = "  session s2 m2: status 'x' instead of 'waiting'"
    second = r"  session 'ses\x1b[2J1' m1: status 'x' instead of 'admitted', "
    second += "sender NULL instead of 'Ana'"
    for _ in range(2):
        ran = run(url, "--check")
        assert ran.returncode == 1
        lines = ran.stdout.splitlines()
        assert lines[0] == "recovery_owners: 1 row from 6 events, 1 row to put right"
        assert lines[1] == r"  session 'ses\x1b[2J1': missing"
        at = lines.index("chat_executions: 2 rows from 6 events, 2 rows to put right")
        assert lines[at + 1 : at + 3] == [first, second]
        (snapshot,) = (line for line in lines if line.startswith("  a: "))
        assert "mode 1 byte instead of 'reaction_loop'" in snapshot
        assert "generation 9 instead of 1" in snapshot
        # Of a long text the part that differs is shown.
        assert """...'nsecutive_batches": 3, """ in snapshot
        assert """...'nsecutive_batches": 2, """ in snapshot
        assert len(snapshot) < 300
        assert lines[-1] == "  x: no event makes this row"
    ran = run(url)
    assert ran.returncode == 0
    assert "chat_executions: 2 rows from 6 events, 2 rows put right" in ran.stdout
    assert "\x1b" not in ran.stdout
    ran = run(url, "--check")
    assert (ran.returncode, ran.stdout.count("no difference")) == (0, len(NAMES))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_the_output_cannot_say_is_escaped(tmp_path: Path, encoding: str) -> None:
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url) as ledger:
        ledger.claim(OwnerRef("session", "会话 😀"), "a", "host")
    spoil(url)
    ran = run(url, "--check", PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stderr) == (1, "folded 2 of 2 events\n")
    assert "  session \\u4f1a\\u8bdd \\U0001f600: missing\n" in ran.stdout


def test_the_ledger_is_named_by_the_environment_too(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TENURE_URL", url)
    assert main(["rebuild", "--check"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(NAMES)
    monkeypatch.delenv("TENURE_URL")
    assert main(["rebuild"]) == 2
    assert "TENURE_URL" in capsys.readouterr().err


def test_where_there_is_no_ledger_none_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "typo.db"
    assert main(["rebuild", "--ledger", f"sqlite:///{path}"]) == 2
    assert capsys.readouterr().err == f"tenure: there is no ledger at {path}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["payloads"], ["--ledger", "x"]])
def test_what_cannot_be_done_is_one_line_and_status_2(
    url: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if "--ledger" not in arguments:
        arguments = [*arguments, "--ledger", url]
    assert main(["rebuild", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert shown.err.startswith("tenure: ")


def test_more_differences_than_are_kept_are_counted(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO stream_states VALUES (?, 'a', 'b', 'c', 'd', 1, 2)",
            ((f"s{number:05}",) for number in range(10_003)),
        )
    assert main(["rebuild", "stream_states", "--check", "--ledger", url]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("10003 rows to put right")
    assert lines[-1] == "  and 3 more"
    assert len(lines) == 10_002
