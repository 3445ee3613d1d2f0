"""Keep a read model up to date: now, or in a thread until it is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event, Thread, current_thread
from types import TracebackType
from typing import Any, Self

from tenure_ledger.errors import (
    Contended,
    Fault,
    InvalidInput,
    OutcomeUnknown,
    SchemaMissing,
    StoreFull,
    StoreUnavailable,
)
from tenure_ledger.rows import Column, Store
from tenure_ledger.tailing import wait
from tenure_ledger.values import check_seconds
from tenure_projections.followers.model import ReadModel
from tenure_projections.followers.source import Source
from tenure_projections.followers.tracking import Parked
from tenure_projections.followers.work import Work

__all__ = ["Follower"]

RETRY_SECONDS = 0.5
"""How long the thread waits after a fault of the store."""
TURN_SECONDS = 1.0
"""How long the thread waits for its turn to write before it looks whether to end."""
CLOSE_SECONDS = 10.0

_PASSING = (Contended, SchemaMissing, StoreFull, StoreUnavailable, OutcomeUnknown)
"""Faults that may pass: the thread tries again. Tables are gone while somebody puts
another ledger in its place, which is told as such once it is there."""


class _GivenUp(BaseException):
    """Nobody waits for this thread any more: what it has not committed is undone."""


class Follower:
    """Hands every event to a read model, in order, exactly once.

    Made by `Ledger.follower`. Use the methods, or ``with follower:`` for a thread; in
    as many threads and processes at once as you like. Each method that works on the
    store waits for its turn as long as the ledger's deadline.
    """

    def __init__(
        self,
        store: Store,
        model: ReadModel,
        *,
        events_max: int,
        seconds_max: float,
        deadline_seconds: float,
        closed: Callable[[], bool],
    ) -> None:
        self._work = Work(store, model, events_max, seconds_max, deadline_seconds)
        self._store = store
        self._deadline_seconds = deadline_seconds
        self._closed = closed
        self._stop = Event()
        self._given_up = False
        self._thread: Thread | None = None
        self._error: BaseException | None = None
        self._fault: Fault | None = None

    @property
    def name(self) -> str:
        """The name of the read model."""
        return self._work.name

    @property
    def position(self) -> int:
        """The saved position: all events up to there are handled, or parked."""
        return self._work.saved()

    @property
    def running(self) -> bool:
        """Whether its thread is at work."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def fault(self) -> Fault | None:
        """The fault of the store that its thread is waiting out now, or None."""
        return self._fault

    def rows(self, table: str, /, **values: Column) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table of the model, by key: those with these values.

        All come from one moment, whatever is written meanwhile. Raises `InvalidInput`.
        """
        return self._work.rows(table, values)

    def parked(self) -> list[Parked]:
        """Return the streams whose events wait since one could not be handled."""
        return list(self._work.parked().values())

    def run_once(self) -> int:
        """Handle one batch; return how many events the position moved past."""
        return self._forward(Source(self._store))

    def catch_up(self) -> int:
        """Handle all that there is now; return how many events the position moved past.

        With a thread at work, too: afterwards the model shows your own last write.
        """
        source, horizon = Source(self._store), self._store.horizon()
        passed = self._forward(source)
        while self._work.saved() < horizon:
            passed += self._forward(source)
        return passed

    def retry(self, stream: str | None = None) -> int:
        """Handle what waits of a parked stream, or of all; return how many events.

        A stream that fails again stays parked, from the event that failed. Raises
        `NotFound` for a stream that is not parked.
        """
        streams = [stream] if stream is not None else list(self._work.parked())
        return sum(self._work.retry(one, self._deadline_seconds) for one in streams)

    def reset(self) -> None:
        """Delete the model's rows and what is parked, and begin again, in one step.

        Then the next batch begins at the first event; a thread at work goes on there.
        """
        self._work.reset(self._deadline_seconds)

    def start(self) -> Self:
        """Start a thread that handles what is there and what comes, until `close`.

        Raises `InvalidInput` when one is at work, and what reading the position raises.
        """
        if self.running:
            raise InvalidInput(f"the thread of {self.name} is at work: close it first")
        self._work.saved()
        self._stop.clear()
        self._given_up = False
        self._error = self._fault = None
        name = f"tenure-follower-{self.name}"
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        return self

    def close(self, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """End the thread after the command it is at; then raise what it ended with.

        That is what `handle` raised besides an `Exception`, or the store's fault that
        it could not wait out. Raises `TimeoutError` when `handle` has not returned in
        time: the thread is left alone, and what it is at is undone when it returns.
        Nothing happens when no thread was started.
        """
        seconds = check_seconds("timeout_seconds", timeout_seconds)
        if seconds is None:
            msg = "timeout_seconds must be a number of seconds"
            raise InvalidInput(msg)
        self._stop.set()
        thread = self._thread
        if thread is None or thread is current_thread():
            return
        thread.join(seconds)
        if thread.is_alive():
            self._given_up = True
            raise TimeoutError(
                f"{self.name}.handle has not returned in {seconds:g} seconds; "
                "what it is at will be undone"
            )
        self._thread = None
        error, self._error = self._error or self._fault, None
        self._fault = None
        if error is not None and not isinstance(error, Contended):
            raise error

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except BaseException as error:
            if problem is None:
                raise
            # What the block raised is what its reader must see first.
            problem.add_note(f"and the follower {self.name}: {error!r}")

    def _forward(self, source: Source) -> int:
        return self._work.forward(source, lambda: True, self._deadline_seconds)

    def _run(self) -> None:
        source = Source(self._store)
        try:
            while not self._over():
                try:
                    self._step(source)
                    self._fault = None
                except _PASSING as fault:
                    if self._over():
                        return
                    self._fault = fault
                    self._stop.wait(RETRY_SECONDS)
        except _GivenUp:
            return
        except BaseException as error:  # noqa: BLE001  `close` hands it on
            self._error = error

    def _step(self, source: Source) -> None:
        turn = min(TURN_SECONDS, self._deadline_seconds)
        seen = self._store.pulse()
        if not self._work.forward(source, self._go_on, turn):
            wait(self._store, seen, self._stop, self._over)

    def _go_on(self) -> bool:
        if self._given_up:
            raise _GivenUp
        return not self._over()

    def _over(self) -> bool:
        return self._stop.is_set() or self._closed()
