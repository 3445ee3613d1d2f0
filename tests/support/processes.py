"""Other processes for tests: started, spoken to line by line, and killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

SUPPORT = Path(__file__).parent
PRELUDE = """
import os, signal, sys
from stored import append, append_next, event
from tenure_ledger.errors import *
from tenure_ledger.rows import *
from tenure_ledger.stores import SQLiteStore, open_store
def say(*words):
    print(*words, flush=True)
def hear():
    return sys.stdin.readline()
url = sys.argv[1] if "://" in sys.argv[1] else f"sqlite:///{sys.argv[1]}"
store = open_store(url)
"""


class Other:
    """A running script that shares a database with the test."""

    def __init__(self, script: str, path: Path | str) -> None:
        paths = [str(SUPPORT), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + dedent(script), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        self.pid = self.process.pid

    def hear(self) -> str:
        """Wait for the next line that it says; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def say(self, word: str = "") -> None:
        """Let it go on from where it waits for a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def end(self) -> list[str]:
        """Let it run to its end and return what else it said."""
        said = self._rest()
        assert self.process.returncode == 0, said
        return said

    def kill(self) -> list[str]:
        """Kill it as `kill -9` does and return what else it had said."""
        self.process.kill()
        return self._rest()

    def _rest(self) -> list[str]:
        # Not `communicate`, which misses what `readline` has read ahead.
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        said = self.process.stdout.read().splitlines()
        self.process.stdout.close()
        self.process.wait()
        return said


@contextmanager
def other(script: str, path: Path | str) -> Generator[Other]:
    """Run a script with the store of a path, or URL, open in another process."""
    running = Other(script, path)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()
