"""`tenure demo` tells the truth: what it prints happened, and a failure is an exit."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tenure import OwnerRef, open_ledger
from tenure_gate import demo
from tenure_gate.demo.telling import Telling

SESSIONS = [OwnerRef("session", f"ses_{number}") for number in (1, 2, 3)]
COMMAND = "import sys; from tenure_gate.cli import main; sys.exit(main())"
SEED = "RelayLifecycleGate: retired attempt interrupt failed: ManagedSessionRejection"
"""What the seed's process died of, word for word."""
KEY_LINES = [
    r"ok +manager 1 +retires; call_1, retry_1, probe_1 run on, msg_2 waits",
    r"ok +manager 2 +is woken by relay_1, a continue_relay; generation 2",
    r"ok +msg_1 +history\n +msg_1 was started",
    r"ok +msg_2 +queued\n +msg_2 was admitted",
    r"ok +relay_1 +successor\n +relay_1 was admitted at version \d+ \(generation 2\),",
    r"ok +the model sees +the hand-over instead of msg_1, a notice, and relay_1",
    r"ok +the retry calls +with what manager 1 had: TermRetired",
    r"ok +retry_1 +stale_unadmitted\n +nothing on record",
    r"ok +probe_1 +stale_admitted\n +probe_1 was admitted",
    r"ok +the guard, retry_1 +refuses: managed_session",
    r"ok +the guard, probe_1 +raises OSError: the model is not called",
    r"ok +the gate again +probe_1 is interrupted; the model is called",
    r"ok +the model saw +msg_1, relay_1$",
    r"ok +run_tests ends +TermRetired; the result is kept, at version \d+",
    r"ok +msg_2 +successor",
    r"ok +the model is told +call call_1 of run_tests in message msg_1: its output",
    r"ok +the ends +msg_1 retired, probe_1 stripped, relay_1 completed,",
    r"ok +relay_1 +freshRoot no, gatePhysical no, acceptedHuman no",
    rf"^  {SEED}$",
    r"ok +what is left +relay_1 was never started; msg_2 waits in vain",
    r"ok +claim +manager/1 holds session ses_3, generation 1",
    r"ok +accept msg_2 +on record .*: NotAdmitted",
    r"ok +begin_tool_call +send_mail is fresh: .*; asked again: unknown",
    r"ok +retire +msg_2 is retired; msg_3, msg_4 wait",
    r"ok +succeed +generation 2 admits msg_3, msg_4, relay_1",
    r"ok +manager/1 admits +refused: TermRetired",
    r"ok +manager/1 reports +refused: TermRetired, kept at version \d+",
    r"ok +SIGKILL +process \d+, after \d{2,} acknowledged messages",
    r"ok +read +\d+ acknowledged, \d+ on record, in order",
    r"ok +accept them again +0 new events",
    r"ok +take_over +without evidence: OwnerIsLive; with it: generation 4",
    r"ok +carried over +\d+ messages, msg_4 first",
    r"ok +pending_notices +msg_3 is retired, msg_2 too: both are listed",
    r"ok +verify +\d+ events, every one where it was",
    r"57 of 57 checks held",
]


def _demo(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "demo", *options],
        cwd=folder,
        env={"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_demo_tells_its_story_in_order_and_leaves_nothing(tmp_path: Path) -> None:
    done = _demo(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found = [re.search(line, done.stdout, re.MULTILINE) for line in KEY_LINES]
    missing = [at for at, hit in zip(KEY_LINES, found, strict=True) if not hit]
    assert missing == []
    places = [hit.start() for hit in found if hit]
    assert places == sorted(places)
    assert "FAIL" not in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines()[2:])) < 80
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


def test_two_runs_differ_in_numbers_and_places_only(tmp_path: Path) -> None:
    runs = [_demo(tmp_path).stdout for _ in range(2)]
    first, second = (re.sub(r"\d+|new ledger: .*", "#", run) for run in runs)
    assert first == second


def test_a_ledger_that_is_named_is_kept_and_holds_what_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "a relay?.db"
    assert demo.main(["--ledger", str(kept)]) == 0
    told = re.search(r"(\d+) acknowledged, (\d+) on", capsys.readouterr().out)
    assert told is not None
    with open_ledger(f"sqlite:///{str(kept).replace('?', '%3F')}") as ledger:
        assert ledger.verify().ok
        relay, flags, owner = map(ledger.owner, SESSIONS)
        assert (relay.status, relay.open_executions) == ("cut", ())
        assert [one.key for one in flags.open_executions] == ["msg_2", "relay_1"]
        assert (owner.agent_id, owner.generation) == ("manager/3", 4)
        names = [name for name in owner.waiting if name.startswith("mail_")]
    assert names == [f"mail_{at}" for at in range(1, int(told[2]) + 1)]
    assert int(told[1]) <= int(told[2]) <= int(told[1]) + 1


def test_a_file_that_exists_is_refused_and_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    kept.write_bytes(b"somebody's file")
    done = _demo(tmp_path, "--ledger", str(kept))
    assert (done.returncode, done.stdout) == (2, "")
    assert "exists" in done.stderr
    assert kept.read_bytes() == b"somebody's file"


def test_a_step_that_does_not_hold_fails_the_run(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A real program in the place of Python, which ends without a word.
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(silent))
    assert demo.main([]) == 1
    told = capsys.readouterr().out
    assert re.search(r"FAIL SIGKILL +process \d+, after 0 acknowledged", told)
    assert re.search(r"ok +verify", told), "the story is told to its end"
    assert not re.search(r"^57 of 57", told, re.MULTILINE)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("name", "value", "coloured"),
    [("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "", False)],
)
def test_only_a_terminal_that_wants_colours_gets_them(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, *, coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    for out, expected in ((Terminal(), coloured), (io.StringIO(), False)):
        tell = Telling(out)
        tell.title("Title")
        tell.step("did", "what", why="why", holds=True)
        tell.step("did", "what", why="why", holds=False)
        tell.end("the end")
        told = out.getvalue()
        assert ("\x1b" in told) is expected
        assert (tell.checked, tell.failed) == (2, 1)
        plain = re.sub(r"\x1b\[\d*m", "", told).splitlines()
        assert plain[2].split() == ["ok", "did", "what"]
        assert plain[4].split() == ["FAIL", "did", "what"]
        assert plain[-2:] == ["1 of 2 checks held", "the end"]
