"""Has anybody committed events? One look at what lies above what is settled."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tenure_ledger.stores.postgres_columns import integer
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_wire import Call, Result

__all__ = ["Pulse"]

_PULSE = sql("pulse")
_HORIZON = sql("horizon")
_AHEAD_MAX = 200
"""Events above the settled position that are counted before one settles anew."""


class Pulse:
    """Counts how often something new was seen.

    A transaction may commit below one that has committed already, so the highest
    position does not tell. How many there are above a settled one does: below it
    nothing can appear, and above it events are only added.
    """

    def __init__(
        self, ask: Callable[[list[Call]], list[Result]], opened: Callable[[], int]
    ) -> None:
        self._ask = ask
        self._opened = opened
        self._lock = threading.Lock()
        self._settled = -1
        self._ahead = -1
        self._beats = 0

    def read(self) -> object:
        """Return a value that is another one after every commit of events."""
        with self._lock:
            if self._settled < 0:
                self._settle()
            ahead = self._number(_PULSE, self._settled)
            if ahead != self._ahead:
                self._ahead = ahead
                self._beats += 1
            if ahead > _AHEAD_MAX:
                self._settle()
            return self._opened(), self._beats

    def _settle(self) -> None:
        settled = self._number(_HORIZON) - 1
        if settled > self._settled:
            # What came since the last look may be counted here for the first time.
            self._beats += 1
            self._settled = settled
            self._ahead = self._number(_PULSE, settled)

    def _number(self, query: str, *values: int) -> int:
        call = Call(query, [b"%d" % value for value in values], [0] * len(values))
        (result,) = self._ask([call])
        return integer(result.get_value(0, 0))

    def forget(self) -> None:
        """Begin again, after a fork."""
        self._lock = threading.Lock()
        self._settled = -1
