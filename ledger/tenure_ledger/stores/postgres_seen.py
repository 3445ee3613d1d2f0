"""What a process has seen of a ledger, so that it need not ask before it writes.

None of it is trusted: whoever rests on it has it checked, in the transaction that
writes, or before a refusal leaves (`PostgresUnit`).
"""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic

__all__ = ["Head", "Seen"]

Head = tuple[int, bytes] | None
"""Version and hash of a stream's last row; None: it has none."""

_STREAMS_MAX = 8192
_LOCKING_AFTER = 2
"""Conflicts in a row, after which one waits in line for the stream ..."""
_LOCKING_SECONDS = 5.0
"""... and so long goes on doing so."""


class Seen:
    """Heads of streams, and which streams are fought over."""

    def __init__(self) -> None:
        self._heads: dict[str, Head] = {}
        self._conflicts: dict[str, int] = {}
        self._locking: dict[str, float] = {}
        self._safe: dict[str, Head] = {}

    def head(self, stream: str) -> tuple[Head] | None:
        """Return the head as it was seen last, in a tuple; None if it never was."""
        head = self._heads.get(stream, self)
        return None if isinstance(head, Seen) else (head,)

    def saw(self, stream: str, head: Head) -> None:
        """Remember a head that was read, or that was committed."""
        if len(self._heads) >= _STREAMS_MAX:
            self._heads.clear()
        self._heads[stream] = head

    def is_safe(self, stream: str, head: Head) -> bool:
        """Say whether the standbys surely have the stream up to this head."""
        return head is None or self._safe.get(stream) == head

    def made_safe(self, stream: str, head: Head) -> None:
        """Note that a commit behind this head was confirmed by the standbys."""
        if len(self._safe) >= _STREAMS_MAX:
            self._safe.clear()
        self._safe[stream] = head

    def forget(self, streams: Iterable[str]) -> None:
        """Ask for these again."""
        for stream in streams:
            self._heads.pop(stream, None)

    def lost(self, streams: Iterable[str]) -> None:
        """Count a conflict on each of these."""
        for stream in streams:
            self._heads.pop(stream, None)
            count = self._conflicts[stream] = self._conflicts.get(stream, 0) + 1
            if count >= _LOCKING_AFTER:
                self._locking[stream] = monotonic() + _LOCKING_SECONDS

    def won(self, stream: str) -> None:
        """Note that a write went through."""
        if self._conflicts:
            self._conflicts.pop(stream, None)

    def must_wait_in_line(self, stream: str) -> bool:
        """Say whether the stream is fought over (design section 5, rule 6)."""
        until = self._locking.get(stream)
        if until is None:
            return False
        if until > monotonic():
            return True
        self._locking.pop(stream, None)
        return False
