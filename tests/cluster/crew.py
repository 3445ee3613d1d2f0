"""The processes of a run: started together, told to stop together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from nodes import SUPPORT

__all__ = ["HERE", "Crew", "environment"]

HERE = Path(__file__).parent


class Crew:
    """Some processes that work on one ledger; what they are told is in a folder."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self._running: dict[str, subprocess.Popen[str]] = {}

    def start(self, role: str, name: str, *more: str) -> None:
        """Start one and wait until it is at work."""
        script = str(HERE / "process.py")
        command = [sys.executable, script, role, name, self.url, str(self.folder)]
        with (self.folder / f"{name}.err").open("wb") as errors:
            one = subprocess.Popen(
                [*command, *more],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment(),
            )
        assert one.stdout is not None
        self._running[name] = one
        if one.stdout.readline() != "ready\n":
            raise RuntimeError(f"{name}: {self._errors(name)}")

    def stop(self) -> list[str]:
        """Stop all, and return what is wrong with how they ended."""
        wrong: list[str] = []
        for one in self._running.values():
            assert one.stdin is not None
            try:
                one.stdin.close()
            except BrokenPipeError:
                continue
        for name, one in self._running.items():
            try:
                code = one.wait(timeout=90)
            except subprocess.TimeoutExpired:
                one.kill()
                code = one.wait()
            if code:
                wrong.append(f"{name} ended with {code}: {self._errors(name)}")
        self._running.clear()
        return wrong

    def kill(self) -> None:
        """Leave nothing running."""
        for one in self._running.values():
            one.kill()
            one.wait()
        self._running.clear()

    def _errors(self, name: str) -> str:
        text = (self.folder / f"{name}.err").read_text("utf-8", "replace")
        return text[-1500:]


def environment() -> dict[str, str]:
    """Return the environment in which a process finds the modules of the tests."""
    paths = [str(HERE), str(SUPPORT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
