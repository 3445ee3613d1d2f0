"""The name of one run of one process (design section 2).

Host, boot, process id space, process id and start time: enough to ask later whether it
is gone. Never an order, never a fence. A host that knows better passes its own text.
"""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path

from tenure_ledger.values import ID_CHARACTERS_MAX

__all__ = ["NOBODY", "process_name"]

NOBODY = "tenure restored"
"""Holds what was held in a backup that was restored: no process has this name."""


def process_name() -> str:
    """Return the name of this process, another one after a fork."""
    return _name(os.getpid())


@lru_cache(maxsize=1)
def _name(pid: int) -> str:
    parts = {
        "host": socket.gethostname()[:64],
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        "pidns": _link("/proc/self/ns/pid"),
        "pid": str(pid),
        "start": _start_time(),
    }
    return ";".join(f"{name}={part}" for name, part in parts.items())[
        :ID_CHARACTERS_MAX
    ]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


def _start_time() -> str:
    """Return the start time in clock ticks since boot: field 22 of proc(5) stat."""
    fields = _read("/proc/self/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""  # noqa: PLR2004  as the line says
