"""Real processes for tests, forked from one that has everything imported already.

A script runs in a process of its own, with a number, a start time and a death of its
own, and costs no start of an interpreter. It says and hears lines, by ``sys.stdout``
and ``sys.stdin`` if it likes. A command of `tenure` is run likewise.
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
import tempfile
import traceback
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from waiting import until

__all__ = ["Hand", "command", "hand", "serve"]

SUPPORT = Path(__file__).parent
SERVE = "import sys; from workshop import serve; serve(int(sys.argv[1]))"
NEEDED = (
    "follow_stopping",
    "gate_writer",
    "racer",
    "recovering",
    "resume_host",
    "stopping_gate",
    "stopping_rebuild",
    "stopping_recovery",
    "stored",
    "tenure_gate.cli.gate",
    "tenure_gate.cli.rebuild",
    "tenure_gate.cli.recover",
    "tenure_ledger.stores.postgres",
)
"""Imported before any fork, and not in each child."""
BROKE = "it broke: "
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
"""What a script begins with, unless its test says something else."""
TENURE = """
import runpy, sys
try:
    runpy.run_module("tenure", run_name="__main__", alter_sys=True)
except SystemExit as ended:
    tell(ended.code)
"""


class Hand:
    """A process that runs a script beside the test."""

    def __init__(self, url: str, script: str, begin: str = BEGIN) -> None:
        self._socket, its = socket.socketpair()
        with its:
            _ask(begin + dedent(script), [url], [its.fileno()] * 2)
        self._line = self._socket.makefile("rw", encoding="utf-8")
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
        """Let it run to its end, hearing no more; return what else it said."""
        self._socket.shutdown(socket.SHUT_WR)
        said = self._rest()
        self._gone()
        return said

    def kill(self) -> list[str]:
        """Kill it as `kill -9` does; return, when it is gone, what else it had said."""
        os.kill(self.pid, signal.SIGKILL)
        self._gone()
        return self._rest()

    @property
    def runs(self) -> bool:
        """Whether it is there."""
        return Path(f"/proc/{self.pid}").exists()

    def close(self) -> None:
        """Kill it if it still runs, and hang up."""
        if self.runs:
            os.kill(self.pid, signal.SIGKILL)
            self._gone()
        self._line.close()
        self._socket.close()

    def _rest(self) -> list[str]:
        return [*iter(self.hear, "")]

    def _gone(self) -> None:
        until(lambda: not self.runs)


@contextmanager
def hand(url: str, script: str, begin: str = BEGIN) -> Generator[Hand]:
    """Run a script in another process; it is begun with a ledger of this URL."""
    running = Hand(url, script, begin)
    try:
        yield running
    finally:
        running.close()


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `tenure` as `python -m tenure` does."""
    ours, its = socket.socketpair()
    with ours, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with its:
            fds = [its.fileno(), out.fileno(), err.fileno()]
            _ask(TENURE, arguments, fds)
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile(encoding="utf-8") as line:
            _, ended = line.read().splitlines()
        for file in (out, err):
            file.seek(0)
        said, complained = (file.read().decode() for file in (out, err))
    assert not ended.startswith(BROKE), ended.replace("\\n", "\n")
    return subprocess.CompletedProcess(arguments, int(ended), said, complained)


def _ask(script: str, arguments: Sequence[str], fds: Sequence[int]) -> None:
    """Let a process run the script; ``fds``: its line and input, output, complaints."""
    job = [script, arguments, {**os.environ}]
    socket.send_fds(_workshop(os.getpid()), [json.dumps(job).encode()], fds)


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
        for job, fds in _jobs(asked):
            if not os.fork():
                asked.close()
                _work(job, fds)
            for fd in fds:
                os.close(fd)


def _jobs(asked: socket.socket) -> Iterator[tuple[Any, list[int]]]:
    while True:
        data, fds, _, _ = socket.recv_fds(asked, 1 << 17, 3)
        if not data:
            return
        yield json.loads(data), fds


def _work(job: tuple[str, list[str], dict[str, str]], fds: list[int]) -> None:
    """Run the script, and end without a word to the process it was forked from."""
    script, arguments, environment = job
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    for number, fd in enumerate(fds):
        os.dup2(fd, number)

    def tell(what: object) -> None:
        os.write(fds[0], f"{what}\n".encode())

    def say(*words: object) -> None:
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()

    def hear() -> str:
        return sys.stdin.readline().rstrip("\n")

    names = {"url": arguments[0], "tell": tell, "say": say, "hear": hear}
    status = 1
    try:
        tell(os.getpid())
        exec(compile(script, "script", "exec"), names)  # noqa: S102
        sys.stdout.flush()
        status = 0
    except SystemExit as ended:
        status = 1 if ended.code else 0
    except BaseException:  # noqa: BLE001  whatever it is, the test is told
        tell(BROKE + traceback.format_exc().replace("\n", "\\n"))
    finally:
        os._exit(status)  # which one, only a script that forks another can ask
