"""`tenure gate` shows what a model would see of a transcript, and writes nothing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privileges import without_privileges
from tenure import (
    Authority,
    Boundary,
    First,
    NarrativeTransform,
    OwnerRef,
    SessionWideGuard,
    open_ledger,
)
from tenure_gate.cli import main
from tenure_gate.readers import load_transcript

SAMPLES = Path(__file__).resolve().parents[2] / "docs" / "transcripts"
S = OwnerRef("session", "ses_1")
VERDICTS = {
    "msg_1": "history",
    "msg_2": "queued",
    "msg_3": "successor",
    "msg_1_retry": "stale_unadmitted",
}
"""Of the story that each sample tells, two terms into it."""


def relayed(url: str) -> Authority:
    """The ledger of the samples' story: manager 2 was woken by ``msg_3``."""
    with open_ledger(url) as ledger:
        one = ledger.claim(S, "manager/1", "host", first=First("msg_1", "human"))
        ledger.start(one, "msg_1")
        ledger.settle(one, "msg_1", "completed")
        ledger.accept(S, "msg_2", "inbox", human=True)
        boundary = Boundary("msg_1")
        ledger.retire(one, "continue", "Next: payments.", boundary)
        first = First("msg_3", "continue_relay")
        return ledger.succeed(S, "manager/2", "host", first=first)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any user may reach: the folders above `tmp_path` are private."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        yield path
        path.chmod(0o777)


@pytest.fixture
def url(folder: Path) -> str:
    return f"sqlite:///{folder}/relay.db"


def snapshot(folder: Path) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in folder.iterdir()}


def gate(url: str, *words: str | Path) -> int:
    command = ["gate", "--ledger", url, "--session", "ses_1", *map(str, words)]
    return main(command)


def shown(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_samples_are_shown_as_the_gate_itself_would_show_them(
    folder: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    two = relayed(url)
    before = snapshot(folder)
    samples = sorted(SAMPLES.glob("*.json*"))
    assert len(samples) == 3
    views: list[list[Any]] = []
    for sample in samples:
        assert gate(url, sample, "--acting", "msg_3", "--explain") == 0
        out, said = capsys.readouterr()
        views.append(shown(out))
        lines = [line.split(maxsplit=2) for line in said.splitlines()]
        assert {key: name for name, key, _ in lines} == VERDICTS
        assert all(key in why for _, key, why in lines)
    assert snapshot(folder) == before
    with open_ledger(url) as ledger:
        for sample, view in zip(samples, views, strict=True):
            loaded = load_transcript(sample.read_text(encoding="utf-8"))
            guard = SessionWideGuard(lambda _: None)
            real = NarrativeTransform(ledger, guard, reader=loaded.reader)
            seen = real.apply(S, loaded.messages, authority=two, acting="msg_3")
            assert seen.messages == view


def test_nothing_is_said_without_being_asked(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    relayed(url)
    assert gate(url, SAMPLES / "openai.jsonl", "--acting", "msg_3") == 0
    assert capsys.readouterr().err == ""


def test_where_nothing_may_be_said_the_view_and_the_verdict_are_shown(
    folder: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    relayed(url)
    before = snapshot(folder)
    # Nothing is started, so the last request is the one asked about: a leftover.
    assert gate(url, SAMPLES / "openai.jsonl") == 1
    out, said = capsys.readouterr()
    assert "msg_1_retry" not in {message.get("id") for message in shown(out)}
    verdict, why, *instead = said.splitlines()
    assert verdict == "msg_1_retry is stale_unadmitted"
    assert why.startswith("tenure: do not call the model for session ses_1: ")
    assert instead == [
        f"it may be called with --acting {key}" for key in ("msg_2", "msg_3")
    ]
    assert snapshot(folder) == before


def test_an_acting_request_that_is_not_in_the_list_is_nothing_to_say(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    relayed(url)
    assert gate(url, SAMPLES / "openai.jsonl", "--acting", "msg_9") == 1
    assert "tenure: do not call the model" in capsys.readouterr().err


def test_a_session_between_two_terms_has_nothing_to_say(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    two = relayed(url)
    with open_ledger(url) as ledger:
        ledger.retire(two, "accepted")
    assert gate(url, SAMPLES / "openai.jsonl", "--acting", "msg_3") == 1
    assert "nobody holds" in capsys.readouterr().err


@pytest.mark.parametrize("read_only_folder", [False, True])
def test_a_ledger_that_may_only_be_read_is_judged(
    folder: Path,
    url: str,
    capsys: pytest.CaptureFixture[str],
    *,
    read_only_folder: bool,
) -> None:
    relayed(url)
    (folder / "relay.db").chmod(0o444)
    if read_only_folder:
        folder.chmod(0o555)
    before = snapshot(folder)
    text = (SAMPLES / "openai.jsonl").read_bytes()
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(text))
    try:
        with without_privileges():
            assert gate(url, "-", "--acting", "msg_3") == 0
    finally:
        sys.stdin = stdin
    assert len(shown(capsys.readouterr().out)) == 4
    # Where SQLite may, it puts its own two files beside the ledger.
    beside = set[str]() if read_only_folder else {"relay.db-shm", "relay.db-wal"}
    after = {
        name: data for name, data in snapshot(folder).items() if name not in beside
    }
    assert after == before


def test_standard_input_is_a_file_like_another(url: str) -> None:
    relayed(url)
    ran = subprocess.run(
        [sys.executable, "-m", "tenure", "gate", "--session", "ses_1", "-"],
        env={**os.environ, "TENURE_URL": url, "PYTHONIOENCODING": "ascii"},
        input='[{"role": "user", "id": "msg_3", "content": "接力 \\ud83d"}]',
        encoding="utf-8",
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert shown(ran.stdout) == [
        {"role": "user", "id": "msg_3", "content": "接力 \ud83d"}
    ]


def test_a_format_that_is_named_is_not_guessed(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    relayed(url)
    file = tmp_path / "list.json"
    file.write_text('[{"role": "user", "id": "msg_3", "content": "go on"}]')
    assert gate(url, file, "--format", "opencode") == 2
    assert "info must be a dict" in capsys.readouterr().err
    assert gate(url, file, "--format", "anthropic") == 0


def test_another_owner_than_a_session_is_named_with_its_class(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = OwnerRef("job", "nightly")
    with open_ledger(url) as ledger:
        held = ledger.claim(job, "worker/1", "host", first=First("msg_3", "human"))
        assert held.generation == 1
    text = '{"role": "user", "id": "msg_3", "content": "go on"}'
    file = Path(url.removeprefix("sqlite:///")).with_name("list.jsonl")
    file.write_text(text)
    words = ["--session", "nightly", str(file)]
    assert main(["gate", "--ledger", url, *words]) == 2
    assert "session nightly" in capsys.readouterr().err
    assert main(["gate", "--ledger", url, "--class", "job", *words]) == 0
    assert capsys.readouterr().out == f"{text}\n"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("missing.json", None, "cannot be read"),
        ("latin.json", b'["\xe9"]', "no UTF-8: invalid continuation byte at byte 2"),
        ("broken.json", b"[{]", "line 1: this is no JSON"),
        ("half.jsonl", b'{"role": "user"\n', "this is no JSON"),
        ("odd.json", b'[{"role": "user", "content": 7}]', "index 0|message 0"),
    ],
)
def test_a_transcript_that_cannot_be_read_is_one_line_and_status_2(
    tmp_path: Path,
    url: str,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes | None,
    why: str,
) -> None:
    relayed(url)
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    assert gate(url, file) == 2
    out, said = capsys.readouterr()
    assert out == ""
    (line,) = said.splitlines()
    assert line.startswith("tenure: ")
    assert any(part in line for part in why.split("|")), line


def test_no_ledger_is_made_where_there_is_none(
    folder: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate(url, SAMPLES / "openai.jsonl") == 2
    assert "there is no ledger at" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_a_session_that_nobody_heard_of_is_status_2(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    relayed(url)
    command = ["gate", "--ledger", url, "--session", "ses_9"]
    assert main([*command, str(SAMPLES / "openai.jsonl")]) == 2
    assert "ses_9" in capsys.readouterr().err


def test_help_tells_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["gate", "--help"])
    assert stop.value.code == 0
    told = capsys.readouterr().out
    assert "Exit status: 0: " in told
    assert "--acting ID" in told


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_output_that_cannot_be_written_is_no_verdict(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url) as ledger:
        ledger.claim(OwnerRef("session", "ses_1"), "a", "host")
    command = [sys.executable, "-m", "tenure", "gate", "--ledger", url]
    transcript = str(
        Path(__file__).parents[2] / "docs" / "transcripts" / "openai.jsonl"
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, "--session", "ses_1", transcript],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "output cannot be written" in done.stderr
