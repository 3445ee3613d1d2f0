"""What a follower costs while nothing happens, and how soon it has handled an event."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import psycopg
from figures import Figures
from written_postgres import Place, connect

from tenure import (
    First,
    Follower,
    ModelRows,
    ModelTable,
    OwnerRef,
    Recorded,
    open_ledger,
)
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
        passed = {_Model(nth).name: 0 for nth in range(count)}
        handled = Event()
        followers: list[Follower] = []
        for nth in range(count):
            follower = reader.follower(_Model(nth))
            follower.catch_up()
            followers.append(follower)
        opened.enter_context(_noticed(passed, handled))
        for follower in followers:
            opened.enter_context(follower)
        db = opened.enter_context(closing(connect(place.conninfo, schema)))
        looks, server, client = _idle(db, seconds)
        for nth in range(commits):
            # At any moment between two looks.
            handled.wait(rng.random() * 0.06)
            handled.clear()
            writer.admit(held, f"m{nth}", "assistant_run")
            began = time.perf_counter()
            while min(passed.values()) < nth + 1:
                handled.wait(1.0)
                handled.clear()
            took.add(max(max(_ENDED) - began, 0.0))
    name = "one follower" if count == 1 else f"{count} followers of different models"
    return Followed(name, looks, server, client, took)


_ENDED: list[float] = [0.0]
"""When the last batch of any follower was committed."""


@contextmanager
def _instead(at: type, name: str, call: Callable[..., object]) -> Generator[None]:
    """Let a method be another one for the length of a block."""
    plain = getattr(at, name)
    setattr(at, name, call)
    try:
        yield
    finally:
        setattr(at, name, plain)


def _noticed(passed: dict[str, int], handled: Event) -> AbstractContextManager[None]:
    """Note each batch that a follower has committed, by its name, and when."""
    forward = Work.forward

    def noticed(
        work: Work, source: Source, go_on: Callable[[], bool], deadline_seconds: float
    ) -> int:
        done = forward(work, source, go_on, deadline_seconds)
        if done:
            passed[work.name] += done
            _ENDED[0] = time.perf_counter()
            handled.set()
        return done

    return _instead(Work, "forward", noticed)


def _idle(db: psycopg.Connection[Any], seconds: float) -> tuple[float, float, float]:
    """Return calls, server CPU and client CPU, each for one second."""
    looks = 0
    run = Wire.run

    def counted(wire: Wire, calls: Sequence[Call], deadline: float) -> list[Result]:
        nonlocal looks
        looks += 1
        return run(wire, calls, deadline)

    with _instead(Wire, "run", counted):
        began, server, client = time.perf_counter(), _server(db), time.process_time()
        Event().wait(seconds)
        worked, busy = _server(db) - server, time.process_time() - client
        lasted = time.perf_counter() - began
    return looks / lasted, worked / lasted, busy / lasted


def _server(db: psycopg.Connection[Any]) -> float:
    """Return how long the server's processes for other clients have worked."""
    found = db.execute(
        "SELECT pid FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    ).fetchall()
    times = [Path(f"/proc/{pid}/schedstat").read_text().split()[0] for (pid,) in found]
    return sum(map(int, times)) / 1e9
