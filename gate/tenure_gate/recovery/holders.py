"""Is the process that holds an owner gone? Asked of this machine's own processes.

Gone is only said when it is sure: the same host, the same boot, the same space of
process ids, and no such process with that start; or the same host was booted again. A
process that waits to be collected by its parent runs no more. Source: design section 7,
step 0.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Literal

from tenure_ledger.process import NOBODY, process_name
from tenure_ledger.values import OwnerRef

__all__ = ["HolderAnswer", "holder_of_process"]

_PARTS = {"host", "boot", "pidns", "pid", "start"}
"""Those of this release; another one may add to them."""

HolderAnswer = Literal["gone", "alive", "cannot_tell"]


def holder_of_process(_owner: OwnerRef, process: str | None) -> HolderAnswer:
    """Say whether the process of that name is there, as `open_ledger` names it.

    A name of another making is not understood: ``cannot_tell``. What a restored backup
    holds is held by nobody.
    """
    if process == NOBODY:
        return "gone"
    ours, theirs = _parts(process_name()), _parts(process or "")
    if not theirs or not ours["boot"] or ours["host"] != theirs["host"]:
        return "cannot_tell"
    if ours["boot"] != theirs["boot"]:
        return "gone" if theirs["boot"] else "cannot_tell"
    if not ours["pidns"] or ours["pidns"] != theirs["pidns"]:
        return "cannot_tell"
    return _there(int(theirs["pid"]), theirs["start"])


@lru_cache(maxsize=256)
def _parts(name: str) -> dict[str, str]:
    """Return the parts of a process's name; empty when it is none of ours."""
    pairs = [part.partition("=") for part in name.split(";")]
    parts = {key: value for key, _, value in pairs}
    if not parts.keys() >= _PARTS:
        return {}
    pid = parts["pid"]
    return parts if pid.isascii() and pid.isdigit() and int(pid) > 0 else {}


def _there(pid: int, start: str) -> HolderAnswer:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except (PermissionError, OverflowError):
        pass  # it is somebody else's; what it is, the next lines say
    state, started = _stat(pid)
    if not start or not started:
        return "cannot_tell"
    # Another start: that process is gone, and its number was given again.
    return "gone" if started != start or state in {"Z", "X"} else "alive"


def _stat(pid: int) -> tuple[str, str]:
    """Return state and start of a process: fields 3 and 22 of proc(5) stat."""
    try:
        # Not by pathlib, which takes twice as long; a recovery asks for each owner.
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()
    return (fields[0], fields[19]) if len(fields) > 19 else ("", "")  # noqa: PLR2004
