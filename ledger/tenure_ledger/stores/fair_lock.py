"""A lock with a deadline that serves whoever has waited longest."""

from __future__ import annotations

import threading
import time
from collections import deque

from tenure_ledger.errors import Contended

__all__ = ["FairLock", "overdue"]


_LOOK_SECONDS = 0.25
"""How often a waiter looks by itself: a signal may end a release half way."""


class FairLock:
    """Hand the lock over in the order in which it was asked for.

    Holders are named by a token, so that a release can be asked for at any moment, by
    an exception handler that cannot know how far `acquire` got: it gives back what the
    token holds, or takes it out of the queue, or does nothing.
    """

    def __init__(self) -> None:
        # Re-entrant, because a finalizer may release inside an acquire.
        self._mutex = threading.RLock()
        self.holder: object | None = None
        """The token that holds the lock now."""
        self._queue: deque[tuple[object, threading.Lock]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait for it."""
        return len(self._queue)

    def acquire(self, token: object, timeout_seconds: float) -> bool:
        """Wait for the lock; return whether ``token`` holds it now."""
        with self._mutex:
            if self.holder is None:
                self.holder = token
                return True
            gate = threading.Lock()
            gate.acquire()
            self._queue.append((token, gate))
        until = time.monotonic() + timeout_seconds
        try:
            while not self._turn(token):
                left = until - time.monotonic()
                if left <= 0:
                    break
                gate.acquire(timeout=min(left, _LOOK_SECONDS))
        except BaseException:
            self.release(token)
            raise
        with self._mutex:
            # Handed over even if that happened just after the time-out.
            if self.holder is token:
                return True
            self.release(token)
            return False

    def _turn(self, token: object) -> bool:
        """Return whether it is the turn of ``token``, which waits."""
        with self._mutex:
            if self.holder is None and self._queue and self._queue[0][0] is token:
                # A signal ended a release before it woke its successor.
                self._queue.popleft()
                self.holder = token
            return self.holder is token

    def release(self, token: object) -> None:
        """Let the next in the queue go on, or take ``token`` out of the queue."""
        with self._mutex:
            if self.holder is not token:
                if self._queue:
                    self._queue = deque(w for w in self._queue if w[0] is not token)
                return
            if not self._queue:
                self.holder = None
                return
            self.holder, gate = self._queue[0]
            self._queue.popleft()
            gate.release()


def overdue(what: str) -> Contended:
    """Return the fault of a thread whose turn did not come in time."""
    return Contended(
        f"Other threads of this process wrote to {what} until the deadline; nothing "
        "was written. Call again. (A thread inside one unit cannot begin another.)"
    )
