"""Runs the scenes one after another, on one new file.

Everything is real: an event loop, one SQLite file, and two child processes that are
killed with SIGKILL, one while it writes and one in the midst of its work. Each step
checks what it says; one that does not hold fails the run. Nothing waits on seconds:
what must come later waits for an event.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from tenure import open_ledger
from tenure_gate.demo import crash, flags, relay, restart, terms
from tenure_gate.demo.telling import Telling

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run the demonstration; return 0 if everything happened as it must."""
    parser = argparse.ArgumentParser(
        prog="tenure demo",
        description="A relay with late leftovers, the rule of flags that dies of them, "
        "processes that are killed, and the recovery after it.",
    )
    parser.add_argument(
        "--ledger",
        type=Path,
        metavar="PATH",
        help="write to this new file and keep it (default: a temporary one)",
    )
    kept: Path | None = parser.parse_args(argv).ledger
    if kept is None:
        with TemporaryDirectory(prefix="tenure-demo-") as folder:
            return _run(
                Path(folder, "relay.db"), "To keep it: tenure demo --ledger PATH"
            )
    if os.path.lexists(kept):
        parser.error(f"{kept} exists: the story begins with a new file")
    return _run(kept, f"Kept: {kept}")


def _run(path: Path, last_line: str) -> int:
    tell = Telling(sys.stdout)
    tell.title(f"A new ledger: {path}")
    url = f"sqlite:///{quote(os.fsencode(path.absolute()))}"
    with open_ledger(url) as ledger:
        relay.run(tell, ledger)
        flags.run(tell, ledger)
        one = terms.first_term(tell, ledger)
        two = terms.second_term(tell, ledger, one)
        head = ledger.head()
    acknowledged = crash.kill_a_writer(tell, url, two)
    with open_ledger(url) as ledger:
        crash.read_what_is_left(tell, ledger, acknowledged)
        terms.third_term(tell, ledger)
        restart.run(tell, ledger, url)
        terms.verify(tell, ledger, head)
    tell.end(last_line)
    return 1 if tell.failed else 0
