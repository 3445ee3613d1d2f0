"""What a follower costs while nothing happens, and how soon it has handled an event."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import psycopg
from figures import Figures
from written_postgres import Place, connect

from tenure import First, ModelRows, ModelTable, OwnerRef, Recorded, open_ledger
from tenure_ledger.stores.postgres_wire import Call, Result, Wire
from tenure_projections.followers.source import Source
from tenure_projections.followers.work import Work

__all__ = ["Followed", "followed"]

_COUNTS = (1, 4)


class Followed(NamedTuple):
    """Some followers of different models in one process."""

    name: str
    looks: float
    """Calls to the server for each second in which nothing is committed."""
    server: float
    """Seconds of the server's processor for each such second."""
    client: float
    took: Figures
    """From a commit by another to that of the last follower that has handled it."""


class _Model:
    """Counts events by their type."""

    def __init__(self, nth: int) -> None:
        self.name = f"counts_{nth}"
        columns = {"topic": str, "n": int}
        self.tables = (ModelTable(f"counted_{nth}", columns, "topic"),)

    def handle(self, recorded: Recorded, rows: ModelRows) -> None:
        """Take one event in."""
        table, topic = self.tables[0].name, recorded.event.topic
        found = rows.get(table, topic=topic)
        rows.put(table, topic=topic, n=1 + (found["n"] if found else 0))


def followed(place: Place, seconds: float, commits: int) -> Iterator[Followed]:
    """Measure one follower, and several: idle for so long, then so many commits."""
    for count in _COUNTS:
        yield _measured(place, count, seconds, commits)


def _measured(place: Place, count: int, seconds: float, commits: int) -> Followed:
    schema, _ = place.build(1, 0)
    owner = OwnerRef("session", "followed")
    took, rng = Figures(), random.Random(1)  # noqa: S311  no secret
    with ExitStack() as opened:
        writer = opened.enter_context(open_ledger(place.url(schema)))
        held = writer.claim(owner, "agent", "host", first=First("m", "human"))
        reader = opened.enter_context(open_ledger(place.url(schema)))
        passed: list[int] = [0] * count
        handled = Event()
        for nth in range(count):
            follower = reader.follower(_Model(nth))
            _notice(follower._work, nth, passed, handled)  # noqa: SLF001
            follower.catch_up()
            passed[nth] = 0
            opened.enter_context(follower)
        db = opened.enter_context(closing(connect(place.conninfo, schema)))
        looks, server, client = _idle(db, seconds)
        for nth in range(commits):
            # At any moment between two looks.
            handled.wait(rng.random() * 0.06)
            handled.clear()
            writer.admit(held, f"m{nth}", "assistant_run")
            began = time.perf_counter()
            while min(passed) < nth + 1:
                handled.wait(1.0)
                handled.clear()
            took.add(max(max(_ENDED) - began, 0.0))
    name = "one follower" if count == 1 else f"{count} followers of different models"
    return Followed(name, looks, server, client, took)


_ENDED: list[float] = [0.0]
"""When the last batch of any follower was committed."""


def _notice(work: Work, nth: int, passed: list[int], handled: Event) -> None:
    """Note each batch that the follower has committed, and when."""
    forward = work.forward

    def noticed(source: Source, *more: Any) -> int:  # noqa: ANN401  as it is given
        done = forward(source, *more)
        if done:
            passed[nth] += done
            _ENDED[0] = time.perf_counter()
            handled.set()
        return done

    work.forward = noticed  # type: ignore[method-assign]


def _idle(db: psycopg.Connection[Any], seconds: float) -> tuple[float, float, float]:
    """Return calls, server CPU and client CPU, each for one second."""
    calls = 0
    run = Wire.run

    def counted(wire: Wire, what: Sequence[Call], deadline: float) -> list[Result]:
        nonlocal calls
        calls += 1
        return run(wire, what, deadline)

    Wire.run = counted  # type: ignore[method-assign]
    try:
        began, server, client = time.perf_counter(), _server(db), time.process_time()
        Event().wait(seconds)
        worked, busy = _server(db) - server, time.process_time() - client
        lasted = time.perf_counter() - began
    finally:
        Wire.run = run  # type: ignore[method-assign]
    return calls / lasted, worked / lasted, busy / lasted


def _server(db: psycopg.Connection[Any]) -> float:
    """Return how long the server's processes for other clients have worked."""
    found = db.execute(
        "SELECT pid FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    ).fetchall()
    times = [Path(f"/proc/{pid}/schedstat").read_text().split()[0] for (pid,) in found]
    return sum(map(int, times)) / 1e9
