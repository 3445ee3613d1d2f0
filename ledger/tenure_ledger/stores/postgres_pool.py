"""Connections that wait for their next use, through restarts, failovers and forks."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from time import monotonic

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.stores.postgres_connect import Connector
from tenure_ledger.stores.postgres_faults import translate, unreachable
from tenure_ledger.stores.postgres_wire import ConnectionLost, ServerError, Wire

__all__ = ["Pool"]

_IDLE_MAX = 16
_CONNECT_SECONDS_MIN = 5.0
"""Also whoever waits for nobody must get the time to connect."""
_PAUSE_SECONDS = 0.05, 0.5
"""Between two tries to connect to a server that was there before: first, longest."""
_STARTING = frozenset({"57P03", "53300", "57P01", "57P02"})


class Pool:
    """Lend out connections; as many as are asked for at once."""

    def __init__(
        self, connector: Connector, check: Callable[[Wire, float], None]
    ) -> None:
        self._connector = connector
        self._check = check
        self._idle: deque[Wire] = deque()
        self._pid = os.getpid()
        self._closed = False
        self._reached = False
        self._same: str | None = None
        self.opened = 0
        """How many connections were ever opened."""

    def take(self, deadline: float) -> Wire:
        """Return a connection. Raises StoreUnavailable and other faults.

        A server that was there before is waited for, up to the deadline.
        """
        if self._pid != os.getpid():
            self.forget()
        wire = self._idle_one() or self._open(deadline)
        if self._same is not None:
            wire.guard(self._same)
        return wire

    def guard(self, same: str) -> None:
        """Have all connections put this for `postgres_wire.SAME`."""
        self._same = same

    def _idle_one(self) -> Wire | None:
        while self._idle:
            try:
                wire = self._idle.pop()
            except IndexError:
                break
            # Of what was opened to a server whose place another took, nothing is used.
            if wire.timeline >= self._connector.timeline and not wire.stale():
                return wire
            wire.close()
        return None

    def _open(self, deadline: float) -> Wire:
        started = monotonic()
        until = max(deadline, started + _CONNECT_SECONDS_MIN)
        pause, longest = _PAUSE_SECONDS
        name = self._connector.place.name
        while True:
            try:
                wire = self._connector.open(until)
                try:
                    self._check(wire, until)
                except BaseException:
                    wire.close()
                    raise
            except ServerError as error:
                if error.code not in _STARTING:
                    raise translate(error, name) from error
                problem: Exception = error
            except (ConnectionLost, StoreUnavailable) as error:
                problem = error
            else:
                self._reached = True
                self.opened += 1
                return wire
            if not self._reached or monotonic() + pause >= deadline:
                if isinstance(problem, StoreUnavailable):
                    raise problem
                raise unreachable(problem, name) from problem
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def give(self, wire: Wire) -> None:
        """Take a connection back; one too many, or a broken one, is closed."""
        if (
            wire.broken
            or wire.in_transaction
            or self._closed
            or len(self._idle) >= _IDLE_MAX
            or self._pid != os.getpid()
        ):
            wire.close()
        else:
            self._idle.append(wire)

    def close(self) -> None:
        """Close what is idle now and what comes back later."""
        self._closed = True
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def forget(self) -> None:
        """Begin again without the parent's connections, after a fork.

        libpq closes an inherited one without a word to the server: it knows the
        process that opened it.
        """
        self._pid = os.getpid()
        self._idle = deque()
