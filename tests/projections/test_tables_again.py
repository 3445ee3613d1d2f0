"""The tables are what a plain reading of the events says, and never apart from them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import pytest

from clients import client
from driving import Drive
from driving_steps import begin, steps
from driving_walk import chooser
from lives import Lives
from projected import Rows, stored_tables
from tables_again import tables_again, unlike
from tenure import RecoveryEnvironment, recover
from tenure_projections.tables import TABLES
from worlds import World

Ask = Callable[[str], list[tuple[Any, ...]]]
GONE = RecoveryEnvironment(holder=lambda _owner, _process: "gone")


def walk(world: World, seed: int, length: int) -> None:
    """Let two processes do whatever comes to them."""
    choose = chooser(seed)
    drive, theme = Drive(world), (0, 0, 1, 2)[seed % 4]
    begin(drive, choose, theme)
    for _ in range(length):
        choose(steps(theme))(drive, choose)


def apart(world: World) -> list[str]:
    """Return what the tables say otherwise than a plain reading of the events."""
    store = world.store()
    events = store.events(0)
    headers = [(one.stream, one.version, one.topic, one.state) for one in events]
    return unlike(stored_tables(store), tables_again(headers, store.body))


@pytest.mark.parametrize("world", ["memory"], indirect=True)
@pytest.mark.parametrize("seed", range(40))
def test_whatever_was_done_the_tables_say_what_the_events_say(
    world: World, seed: int
) -> None:
    walk(world, seed, 150)
    assert apart(world) == []
    recover(world.open("p3"), GONE)
    assert apart(world) == []


def test_whole_lives_are_told_as_they_are_read(world: World) -> None:
    Lives(world, imports=False).write(400)
    stored = stored_tables(world.store())
    assert {name for name, rows in stored.items() if not rows} == NEVER
    assert apart(world) == []


@pytest.mark.parametrize("world", ["sqlite", "postgres"], indirect=True)
def test_whoever_reads_while_others_write_finds_no_table_apart_from_its_events(
    world: World,
) -> None:
    world.ledger.setup()
    failed: list[BaseException] = []

    def write() -> None:
        try:
            walk(world, 8, 250)
        except BaseException as problem:  # noqa: BLE001  told below
            failed.append(problem)

    writing = Thread(target=write)
    seen: set[int] = set()
    with sql_client(world) as ask:
        writing.start()
        while True:
            goes_on = writing.is_alive()
            found, events = read_at_once(ask)
            assert found == []
            seen.add(events)
            if not goes_on:
                break
    writing.join()
    assert failed == []
    assert max(seen) == world.ledger.head().count > 20


@contextmanager
def sql_client(world: World) -> Generator[Ask]:
    """Open the database with a client of its kind, in another time zone."""
    if world.kind == "sqlite":
        path = world.url.removeprefix("sqlite:///").partition("?")[0]
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            yield lambda query: db.execute(query).fetchall()
        return
    with client(world.url.removesuffix("&durability=normal")) as connection:
        connection.execute("SET timezone TO 'Asia/Kolkata'")
        connection.execute("SET default_transaction_isolation TO 'repeatable read'")

        def ask(query: str) -> list[tuple[Any, ...]]:
            found = connection.execute(query.encode())
            return found.fetchall() if found.description else []

        yield ask


def read_at_once(ask: Ask) -> tuple[list[str], int]:
    """Read all in one transaction; return what is apart, and how many events."""
    ask("BEGIN")
    columns = "originator_id, originator_version, topic, state"
    events = ask(f"SELECT {columns} FROM stored_events")  # noqa: S608
    bodies = {
        (stream, digest): bytes(body)
        for stream, digest, body in ask("SELECT stream, digest, body FROM payloads")
    }
    stored: Rows = {}
    for table in TABLES:
        spec = table.spec
        places = [spec.columns.index(column) for column in spec.key]
        rows = ask(f"SELECT {', '.join(spec.columns)} FROM {spec.name}")  # noqa: S608
        plain = [tuple(map(as_text, row)) for row in rows]
        stored[spec.name] = {
            tuple(row[place] for place in places): row for row in plain
        }
    ask("ROLLBACK")
    headers = [(stream, at, topic, bytes(state)) for stream, at, topic, state in events]
    again = tables_again(headers, lambda stream, digest: bodies.get((stream, digest)))
    return unlike(stored, again), len(events)


def as_text(value: Any) -> Any:  # noqa: ANN401  of any column
    """Return a time of PostgreSQL's as the tables of SQLite have it."""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return value


NEVER = {"stream_states", "interrupts"}
"""What no life has without an import."""
