"""Real processes for tests, forked from one that has everything imported already.

A script runs in a process of its own, with a number, a start time and a death of its
own, and costs no start of an interpreter. It has a ledger, and says and hears lines.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from waiting import until

__all__ = ["Hand", "hand", "serve"]

SUPPORT = Path(__file__).parent
SERVE = "import sys; from workshop import serve; serve(int(sys.argv[1]))"
NEEDED = ("recovering", "tenure_ledger.stores.postgres")
"""Imported before any fork, and not in each child."""
BROKE = "it broke: "


class Hand:
    """A process that runs a script beside the test."""

    def __init__(self, url: str, script: str) -> None:
        ours, its = socket.socketpair()
        job = json.dumps({"url": url, "script": dedent(script)}).encode()
        with its:
            workshop = _workshop(os.getpid())
            socket.send_fds(workshop, [job], [its.fileno()])
        self._line = ours.makefile("rw", encoding="utf-8")
        ours.close()
        self.pid = int(self.hear())

    def hear(self) -> str:
        """Wait for the next line that it says; empty when it has ended."""
        try:
            said = self._line.readline().rstrip("\n")
        except ConnectionResetError:
            return ""
        assert not said.startswith(BROKE), said.replace("\\n", "\n")
        return said

    def say(self, word: str = "") -> None:
        """Let it go on from where it waits for a line."""
        self._line.write(f"{word}\n")
        self._line.flush()

    def end(self) -> list[str]:
        """Let it run to its end and return what else it said."""
        self._line.flush()
        said = [*iter(self.hear, "")]
        self._gone()
        return said

    def kill(self) -> None:
        """Kill it as `kill -9` does; return when it is not there any more."""
        os.kill(self.pid, signal.SIGKILL)
        self._gone()

    @property
    def runs(self) -> bool:
        """Whether it is there."""
        return Path(f"/proc/{self.pid}").exists()

    def close(self) -> None:
        """Kill it if it still runs, and hang up."""
        if self.runs:
            self.kill()
        self._line.close()

    def _gone(self) -> None:
        until(lambda: not self.runs)


@contextmanager
def hand(url: str, script: str) -> Generator[Hand]:
    """Run a script with a ledger of this URL in another process."""
    running = Hand(url, script)
    try:
        yield running
    finally:
        running.close()


@cache
def _workshop(_pid: int) -> socket.socket:
    """Start the process that forks; it ends with the one that asked for it."""
    ours, its = socket.socketpair(type=socket.SOCK_SEQPACKET)
    paths = [str(SUPPORT), os.environ.get("PYTHONPATH", "")]
    with its:
        running = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(its.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )

    def close() -> None:
        ours.close()
        running.wait()

    atexit.register(close)
    return ours


def serve(number: int) -> None:
    """Fork a process for each script that comes; nobody waits for them."""
    for name in NEEDED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=number) as asked:
        for job, its in _jobs(asked):
            if not os.fork():
                asked.close()
                _work(job, its)
            os.close(its)


def _jobs(asked: socket.socket) -> Iterator[tuple[dict[str, str], int]]:
    while True:
        data, fds, _, _ = socket.recv_fds(asked, 1 << 17, 1)
        if not data:
            return
        yield json.loads(data), fds[0]


def _work(job: dict[str, str], its: int) -> None:
    """Run the script, and end without a word to the process it was forked from."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line = open(its, "r+b", buffering=0)  # noqa: SIM115  it ends with us

    def say(*words: object) -> None:
        line.write((" ".join(str(word) for word in words) + "\n").encode())

    def hear() -> str:
        return line.readline().decode().rstrip("\n")

    code = 1
    try:
        say(os.getpid())
        names: dict[str, Any] = {"url": job["url"], "say": say, "hear": hear}
        exec(compile(BEGIN + job["script"], "script", "exec"), names)  # noqa: S102
        code = 0
    except BaseException:  # noqa: BLE001  whatever it is, the test is told
        say(BROKE + traceback.format_exc().replace("\n", "\\n"))
    finally:
        os._exit(code)


BEGIN = """
from tenure import *
from recovering import KID, PAYLOADS, SESSION as S
ledger = open_ledger(url)
LOOP = PAYLOADS["reaction_loop"]
def begin(owner=S, agent="manager/1"):
    held = ledger.claim(owner, agent, "host", first=First("m1", "human"))
    ledger.start(held, "m1")
    return held
"""
