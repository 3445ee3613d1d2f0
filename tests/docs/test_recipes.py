"""What the pages give a reader to copy does what they say, where it matters most."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import pages
from tenure import OwnerRef, open_ledger
from tenure_ledger.process import process_name

HOLDER = """
import sys
from tenure import OwnerRef, open_ledger
with open_ledger(sys.argv[1]) as ledger:
    ledger.claim(OwnerRef("session", "ses_1"), "manager/1", "host")
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def is_gone() -> Callable[[str | None], bool]:
    """Take the recipe out of its page."""
    page = pages.ROOT / "docs" / "howto-takeover.md"
    (recipe,) = (at.code for at in pages.blocks(page) if "def is_gone(" in at.code)
    names: dict[str, Callable[[str | None], bool]] = {}
    exec(recipe.partition("\n\nseen = ")[0], names)  # noqa: S102  running it is the test
    return names["is_gone"]


def test_a_holder_is_gone_once_its_process_has_ended(
    is_gone: Callable[[str | None], bool], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'relay.db'}"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with open_ledger(url) as ledger:
            alive = ledger.owner(OwnerRef("session", "ses_1")).process
        assert not is_gone(alive)
        holder.kill()
    assert is_gone(alive)


def _told(**changes: str) -> str:
    """Return the name of this process with some parts changed."""
    parts = dict(part.split("=", 1) for part in process_name().split(";"))
    return ";".join(f"{name}={part}" for name, part in {**parts, **changes}.items())


@pytest.mark.parametrize(
    ("process", "gone"),
    [
        (process_name(), False),
        (_told(start="1"), True),
        (_told(boot="another"), True),
        (_told(host="another", start="1"), False),
        (_told(pidns="pid:[1]", start="1"), False),
        (_told(boot="", start="1"), False),
        ("pod-7f9c/1", False),
        (None, False),
    ],
    # Without the texts, which differ in every process that runs a part of the tests.
    ids=[str(number) for number in range(8)],
)
def test_a_holder_is_called_gone_only_where_that_is_certain(
    is_gone: Callable[[str | None], bool], process: str | None, *, gone: bool
) -> None:
    assert is_gone(process) is gone


def test_the_name_of_a_process_has_the_parts_that_the_page_lists() -> None:
    text = (pages.ROOT / "docs" / "howto-takeover.md").read_text(encoding="utf-8")
    table = text.partition("| part | |")[2].partition("\n\n")[0]
    listed = [line.split("`")[1] for line in table.splitlines() if "`" in line]
    assert listed == [part.split("=")[0] for part in process_name().split(";")]
    assert f"pid={os.getpid()}" in process_name().split(";")
