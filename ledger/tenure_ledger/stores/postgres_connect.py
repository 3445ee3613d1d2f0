"""Open connections that a ledger can trust: to the right server, with its settings."""

from __future__ import annotations

from importlib.resources import files
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.stores.postgres_columns import rows
from tenure_ledger.stores.postgres_place import Place
from tenure_ledger.stores.postgres_wire import (
    Call,
    ConnectionLost,
    ServerError,
    Wire,
    connected,
)

__all__ = ["Connector", "sql"]

_HOST_SECONDS_MAX = 5.0
"""How long any of several hosts may take ..."""
_OTHERS_SECONDS = 1.0
"""... and how long the others, once one is there that takes writes."""
_LOOK_SECONDS = 2.0
"""How often one looks for another primary, while this one does not answer ..."""
_LOOK_HOST_SECONDS = 1.0
"""... and how long one of the hosts may take then."""


def sql(name: str) -> str:
    """Return the statement (or the schema) kept in ``postgres_sql/<name>.sql``."""
    place = files("tenure_ledger.stores").joinpath("postgres_sql", f"{name}.sql")
    return place.read_text("utf-8").strip()


_SESSION = sql("session")
_NO_USAGE = sql("no_usage")


class Connector:
    """Opens connections to the primary, and never to one that was left behind.

    Two servers can take writes for a while after a failover. A timeline, which every
    promotion raises, tells them apart: of several hosts the highest is taken, and none
    below the highest that was ever seen (design section 12).
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._risen = [0]
        """Timelines that were the highest; of two threads each adds its own."""
        self._look_at = 0.0

    @property
    def timeline(self) -> int:
        """The highest that was seen."""
        return max(self._risen)

    def open(self, deadline: float) -> Wire:
        """Return a connection. Raises ConnectionLost, ServerError, StoreUnavailable."""
        found, problems = self._ask_all(deadline)
        if not found:
            # Of those that answered one learns more.
            told = [one for one in problems if isinstance(one, StoreUnavailable)]
            raise (told or problems)[-1]
        found.sort(key=lambda one: one.timeline)
        chosen = found.pop()
        for other in found:
            other.close()
        if chosen.timeline < self.timeline:
            # Another thread has seen a higher one meanwhile.
            chosen.close()
            raise self._passed(chosen.timeline)
        self._rise(chosen.timeline)
        chosen.left_behind = lambda: self._left_behind(chosen.timeline)
        return chosen

    def _ask_all(self, deadline: float) -> tuple[list[Wire], list[Exception]]:
        """Ask all hosts at once: a machine that is silent holds up nobody for long."""
        if len(self.place.conninfos) == 1:
            return [self._open(self.place.conninfos[0], deadline)], []
        answers: SimpleQueue[Wire | Exception] = SimpleQueue()
        until = last = min(deadline, monotonic() + _HOST_SECONDS_MAX)
        over = Event()

        def ask(conninfo: str) -> None:
            try:
                answer: Wire | Exception = self._open(conninfo, last)
            except (ConnectionLost, ServerError, StoreUnavailable) as problem:
                answer = problem
            if over.is_set() and isinstance(answer, Wire):
                answer.close()
            answers.put(answer)

        for conninfo in self.place.conninfos:
            Thread(target=ask, args=(conninfo,), daemon=True).start()
        found: list[Wire] = []
        problems: list[Exception] = []
        for _ in self.place.conninfos:
            try:
                answer = answers.get(timeout=max(until - monotonic(), 0))
            except Empty:
                break
            if isinstance(answer, Wire):
                found.append(answer)
                until = min(until, monotonic() + _OTHERS_SECONDS)
            else:
                problems.append(answer)
        over.set()
        return found, problems or [ConnectionLost("no host answered in time")]

    def _rise(self, timeline: int) -> None:
        if timeline > self.timeline:
            self._risen.append(timeline)

    def _left_behind(self, timeline: int) -> bool:
        """Say whether a server on a higher timeline takes writes by now."""
        if timeline == self.timeline and monotonic() >= self._look_at:
            self._look_at = monotonic() + _LOOK_SECONDS
            for conninfo in self.place.conninfos:
                try:
                    other = self._open(conninfo, monotonic() + _LOOK_HOST_SECONDS)
                except (ConnectionLost, ServerError, StoreUnavailable):
                    continue
                other.close()
                self._rise(other.timeline)
            self._look_at = monotonic() + _LOOK_SECONDS
        return timeline < self.timeline

    def _open(self, conninfo: str, deadline: float) -> Wire:
        wire = connected(conninfo, deadline)
        try:
            schema = f'"{self.place.schema}", pg_temp'.encode()
            durability = b"full" if self.place.durable else b"normal"
            session = Call(_SESSION, [schema, durability], [0, 0])
            (result,) = wire.run([session], deadline)
            timeline, encoding, standbys, process = next(iter(rows(result)))[:4]
            self._judge(str(encoding), int(timeline or 0))
            self._judge_way(direct=process == wire.backend_pid)
        except BaseException:
            wire.close()
            raise
        wire.no_usage = _NO_USAGE
        wire.synchronous = bool(standbys)
        wire.timeline = int(timeline or 0)
        return wire

    def _judge(self, encoding: str, timeline: int) -> None:
        """Raise StoreUnavailable for a server that a ledger cannot be written to."""
        nothing = f"Nothing was written to {self.place.name}."
        if encoding != "UTF8":
            raise StoreUnavailable(
                f"The database keeps text as {encoding}: a ledger needs one with the "
                f"encoding UTF8. {nothing}"
            )
        if not timeline:
            raise StoreUnavailable(
                f"The server is a standby, which only reads: name the primary. "
                f"{nothing}"
            )
        if timeline < self.timeline:
            raise self._passed(timeline)

    def _judge_way(self, *, direct: bool) -> None:
        """Raise StoreUnavailable for a pooler of which the URL does not tell.

        ``direct``: the process that answers is the one that the connection leads to.
        """
        if not direct and not self.place.pooled:
            raise StoreUnavailable(
                "A pooler stands between; should it give connections away between "
                "transactions, another ledger would be written to. Name the server "
                "itself; or, if the pooler's pool_mode is session, say ?pooler=session "
                f"in the URL. Nothing was written to {self.place.name}."
            )

    def _passed(self, timeline: int) -> StoreUnavailable:
        return StoreUnavailable(
            f"The server is on timeline {timeline}, and {self.timeline} was seen: "
            "another took its place, which this URL should name. Nothing was written "
            f"to {self.place.name}."
        )
