"""Ends a run's servers when the run's process is gone, however it went.

Started with the run's process id and folder. It inherits the run's lock, so that no
other run begins before everything of this one has ended.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
from pathlib import Path

from waiting import until

__all__ = ["end_all", "is_there", "keep", "pids"]


def pids(folder: Path) -> list[int]:
    """Return the processes that were started for this folder and still run.

    By the files that name them, and only if they are what was started: ids are used
    again.
    """
    named: list[int] = []
    for file in (*folder.glob("*.pid"), *folder.glob("*/postmaster.pid")):
        try:
            named.append(int(file.read_text().split()[0]))
        except (OSError, ValueError, IndexError):
            continue
    return [pid for pid in named if _is_ours(pid, folder)]


def _is_ours(pid: int, folder: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return str(folder).encode() in command


def is_there(pid: int) -> bool:
    """Say whether the process runs; one that is only not yet waited for does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def end_all(folder: Path) -> None:
    """Kill what was started for this folder, whoever starts whom anew meanwhile."""

    def nothing_left() -> bool:
        found = pids(folder)
        for pid in found:
            for how in (signal.SIGKILL, signal.SIGCONT):
                try:
                    os.kill(pid, how)
                except ProcessLookupError:
                    break
        return not [pid for pid in found if is_there(pid)]

    until(nothing_left)


def keep(owner: int, folder: Path) -> None:
    """Wait for the owner's end, then leave nothing."""
    try:
        here = os.pidfd_open(owner)
    except ProcessLookupError:
        pass
    else:
        # Readable once the process has ended.
        select.select([here], [], [])
    end_all(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for unwanted in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(unwanted, signal.SIG_IGN)
    keep(int(sys.argv[1]), Path(sys.argv[2]))
