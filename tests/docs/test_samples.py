"""The sample transcripts: what the page says is printed is what is printed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pages

PAGE = pages.ROOT / "docs" / "howto-gate.md"


def _shown(text: str) -> tuple[str, list[str]]:
    """Return the command for the samples, and the lines that the page has of it."""
    found = re.search(r"```sh\n(tenure gate [^`]*samples\.db[^`]*)```", text)
    assert found is not None
    _, output, _ = re.split(r"```(?:text)?\n", text[found.end() + 1 :], maxsplit=2)
    return found[1].replace("\\\n", " "), output.splitlines()


def test_the_samples_print_what_the_page_shows(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    command, expected = _shown(text)
    block = next(one.code for one in pages.blocks(PAGE) if "samples.db" in one.code)
    head = "from tenure import First, OwnerRef, open_ledger\n"
    session = 'session = OwnerRef("session", "ses_1")\n'
    (tmp_path / "docs").symlink_to(pages.ROOT / "docs")
    for program in ([sys.executable, "-c", head + session + block], _argv(command)):
        ran = subprocess.run(
            program, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
        )
        assert ran.returncode == 0, ran.stderr
    printed = [*ran.stdout.splitlines(), *ran.stderr.splitlines()]
    assert len(printed) == len(expected) > 4
    for line, shown in zip(printed, expected, strict=True):
        if shown.endswith("…"):
            assert line.startswith(shown.removesuffix("…").rstrip()), line
        else:
            assert line == shown


def _argv(command: str) -> list[str]:
    name, *rest = shlex.split(command)
    assert name == "tenure"
    return [sys.executable, "-m", "tenure", *rest]
