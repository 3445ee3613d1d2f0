"""Who takes what a generator of events gives, in a thread of its own."""

from __future__ import annotations

from collections.abc import Generator
from threading import Event, Thread

from tenure import Recorded
from waiting import WAIT_SECONDS

__all__ = ["Consumer"]


class Consumer:
    """Takes what a generator gives, in a thread, and says how far it is."""

    def __init__(self, following: Generator[Recorded]) -> None:
        self.positions: list[int] = []
        self.problem: Exception | None = None
        self._grown = Event()
        self._following = following
        self.thread = Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            for recorded in self._following:
                self.positions.append(recorded.position)
                self._grown.set()
        except Exception as problem:  # noqa: BLE001  the test looks at it
            self.problem = problem

    def reaches(self, position: int) -> bool:
        """Wait until it has an event."""
        while position not in self.positions:
            if not self._grown.wait(WAIT_SECONDS):
                return False
            self._grown.clear()
        return True

    def ends(self) -> bool:
        """Wait until it is at its end, and nothing was raised."""
        self.thread.join(WAIT_SECONDS)
        return self.problem is None and not self.thread.is_alive()
