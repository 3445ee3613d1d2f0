"""The front pages: the files that a reader is told to make run, alone and again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pages
from tenure import First, OwnerRef, open_ledger

FRONTS = ("README.md", "README.zh.md")


def _files(front: str) -> tuple[str, str, str, str]:
    """Return the first file, made of two blocks, and the three that stand alone."""
    first, added, *alone = (at.code for at in pages.blocks(pages.ROOT / front))
    look, go_on, recover = alone
    return first + added, look, go_on, recover


def _run(code: str, folder: Path) -> str:
    """Run the code as a file of its own and return what it printed."""
    file = folder / "program.py"
    file.write_text(code, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_both_front_pages_show_the_same_files() -> None:
    assert _files(FRONTS[0]) == _files(FRONTS[1])


def test_each_file_runs_alone_and_the_last_again(tmp_path: Path) -> None:
    first, look, go_on, recover = _files(FRONTS[0])
    assert "manager/ses_1/2 holds it at generation 2: stop working" in _run(
        first, tmp_path
    )
    assert "live manager/ses_1/2 2" in _run(look, tmp_path)
    printed = [_run(go_on, tmp_path).splitlines() for _ in range(2)]
    assert printed == [["3", "msg_2 continue_relay"], ["4", "msg_2 continue_relay"]]
    assert _run(recover, tmp_path).splitlines() == [
        "Closed session ses_1",
        "SuccessionDue session ses_1",
    ]
    with open_ledger(f"sqlite:///{tmp_path / 'relay.db'}") as ledger:
        seen = ledger.owner(OwnerRef("session", "ses_1"))
        assert (seen.status, seen.generation) == ("cut", 4)


def test_what_may_be_alive_is_left_alone_by_the_file_that_recovers(
    tmp_path: Path,
) -> None:
    *_, recover = _files(FRONTS[0])
    url = f"sqlite:///{tmp_path / 'relay.db'}"
    with open_ledger(url) as ledger:
        owner = OwnerRef("session", "ses_1")
        ledger.claim(owner, "manager/ses_1/1", "host", first=First("msg_1", "human"))
        # This process holds it, and is alive.
        assert _run(recover, tmp_path).splitlines() == ["Skipped session ses_1"]
        assert ledger.owner(owner).generation == 1


@pytest.mark.parametrize("front", FRONTS)
def test_a_front_page_leads_to_each_page_that_helps_to_do_something(
    front: str,
) -> None:
    text = (pages.ROOT / front).read_text(encoding="utf-8")
    howtos = [page.name for page in (pages.ROOT / "docs").glob("howto-*.md")]
    assert howtos
    assert [at for at in howtos if f"](docs/{at})" not in text] == []
    assert "](LICENSE)" in text
