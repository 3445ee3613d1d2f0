"""Many threads that start at the same moment, and the answer that each one got."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Barrier, Event, Thread
from typing import TypeVar

from tenure_ledger.hook import Change
from tenure_ledger.rows import RowChange, Snapshot, TableSpec

__all__ = ["WAIT_SECONDS", "Hook", "HookError", "together"]

T = TypeVar("T")
WAIT_SECONDS = 60.0


def together(calls: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Run every call in a thread of its own; return or keep what each raised."""
    start = Barrier(len(calls))
    answers: list[T | BaseException] = [AssertionError("no answer")] * len(calls)

    def run(place: int, call: Callable[[], T]) -> None:
        start.wait()
        try:
            answers[place] = call()
        except BaseException as problem:  # noqa: BLE001  that is an answer too
            answers[place] = problem

    threads = [Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive(), "a waiter was never answered"
    return answers


class Hook:
    """Tables without a table: it can hold a command up, and fail for some."""

    specs: Sequence[TableSpec] = ()

    def __init__(self) -> None:
        self.entered = Event()
        self.go_on = Event()
        self.go_on.set()
        self.fails: Callable[[Change], bool] = lambda _: False
        self.commands = 0

    def hold(self) -> None:
        """Let the next command wait inside its transaction."""
        self.entered.clear()
        self.go_on.clear()

    def fill(self, _snapshot: Snapshot, _names: Sequence[str]) -> Sequence[RowChange]:
        """Return no rows."""
        return ()

    def changes(
        self, changes: Sequence[Change], _body: Callable[[str, str], bytes | None], /
    ) -> Sequence[RowChange]:
        """Return no rows."""
        self.entered.set()
        assert self.go_on.wait(WAIT_SECONDS)
        self.commands += 1
        if any(self.fails(change) for change in changes):
            raise HookError
        return ()


class HookError(Exception):
    """The tables' own mistake."""
