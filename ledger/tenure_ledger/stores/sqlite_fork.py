"""Keep SQLite connections out of child processes.

SQLite counts its file locks per process, in memory that a fork copies: a child that
inherits an open connection believes that it holds the parent's locks, and everything it
opens on that file later goes unlocked (tried: the parent removed the log in which the
child's commit lay). Neither using nor dropping an inherited connection helps. So before
a fork everything is closed, and both sides open again on their next use.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref
from typing import Protocol

__all__ = ["CONNECTING", "Forkable", "keep_for_ever", "watch"]

CONNECTING = threading.RLock()
"""Held while a connection is opened, and across a fork: none is open in between."""

_WAIT_SECONDS = 1.0
# Time for the reads and units of other threads to end.


class Forkable(Protocol):
    """Something that owns connections."""

    def close_idle(self) -> bool:
        """Close what nobody uses; return whether there is nothing to wait for."""
        ...

    def after_fork_in_child(self) -> None:
        """Begin again without connections, or refuse to work."""
        ...


_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(owner: Forkable) -> None:
    """Close the owner's connections before each fork of this process."""
    with CONNECTING:
        _watched.add(owner)


def keep_for_ever(connection: object) -> None:
    """Never close an inherited connection, not even when the interpreter ends.

    Closing would undo the parent's transaction in the memory that both share.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _before() -> None:
    CONNECTING.acquire()
    deadline = time.monotonic() + _WAIT_SECONDS
    for owner in tuple(_watched):
        while not owner.close_idle() and time.monotonic() < deadline:
            time.sleep(0.001)


def _in_child() -> None:
    # The thread that forked is the one that is left, and it holds the lock.
    CONNECTING.release()
    for owner in tuple(_watched):
        owner.after_fork_in_child()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_before,
        after_in_parent=CONNECTING.release,
        after_in_child=_in_child,
    )
