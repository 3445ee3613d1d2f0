"""Wait for what can only be observed, in small steps: the one place that does."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from time import monotonic

__all__ = ["WAIT_SECONDS", "until"]

WAIT_SECONDS = 60.0
"""When a test gives up; none that passes waits so long."""


def until(holds: Callable[[], object]) -> None:
    """Return once it holds."""
    pause, deadline = Event(), monotonic() + WAIT_SECONDS
    while not holds():
        assert monotonic() < deadline, "it never came"
        pause.wait(0.001)
