"""Replay equals live, byte for byte: on every store, under every hash seed (I13)."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from eventsourcing.persistence import StoredEvent

from lives import Lives
from projected import Rows, right_tables, stored_tables
from tenure import open_ledger
from tenure_ledger.codec import EVENTS
from tenure_ledger.rows import BodyRow
from tenure_ledger.stores import SQLiteStore
from worlds import World

EVENTS_MIN = 20_000


def dump(rows: Rows) -> str:
    """Return one digest of all rows, sensitive to types, not to their order."""
    text = json.dumps(
        {table: sorted(found.values(), key=repr) for table, found in rows.items()},
        ensure_ascii=False,
    )
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Give a long history in a file; no table was ever made anew."""
    folder = tmp_path_factory.mktemp("long")
    opened = World("sqlite", folder, "?durability=normal")
    Lives(opened).write(EVENTS_MIN)
    yield opened
    opened.close()


def test_the_history_reaches_every_event(world: World) -> None:
    topics = {one.event.topic for one in world.ledger.events()}
    assert topics >= EVENTS.keys()
    assert world.ledger.head().count >= EVENTS_MIN
    assert all(stored_tables(world.store()).values()), "a table has no row"


def test_what_was_written_live_is_what_the_events_make(world: World) -> None:
    stored = stored_tables(world.store())
    assert stored == right_tables(world.store())
    assert dump(stored) == dump(right_tables(world.store()))


@pytest.mark.parametrize(
    ("kind", "events"),
    [
        ("memory", EVENTS_MIN // 8),
        ("postgres", EVENTS_MIN // 8),
        pytest.param("memory", EVENTS_MIN, marks=pytest.mark.prove),
    ],
)
def test_what_was_written_live_on_another_store_is_what_the_events_make(
    tmp_path: Path, kind: str, events: int
) -> None:
    live = World(kind, tmp_path)
    Lives(live).write(events)
    assert stored_tables(live.store()) == right_tables(live.store())
    live.close()


@pytest.mark.parametrize("kind", ["memory", "postgres"])
def test_another_store_makes_the_same_of_the_same_events(
    world: World, tmp_path: Path, kind: str
) -> None:
    other = World(kind, tmp_path)
    rows = list(world.store().events(0))
    other.store().recorder.insert_events(
        [StoredEvent(row.stream, row.version, row.topic, row.state) for row in rows]
    )
    with other.store().write(10.0) as unit:
        unit.add((), None, bodies(world))
        unit.commit()
    heads = [one.ledger.head() for one in (other, world)]
    assert len({(head.count, head.digest) for head in heads}) == 1
    other.ledger.rebuild()
    assert dump(stored_tables(other.store())) == dump(stored_tables(world.store()))
    other.close()


def bodies(world: World) -> list[BodyRow]:
    """Return all bodies of a file."""
    store = world.store()
    assert isinstance(store, SQLiteStore)
    with store.snapshot() as snapshot:
        found: list[BodyRow] = []
        for row in store.events(0):
            for digest in json.loads(row.state).values():
                body = snapshot.body(row.stream, str(digest))
                if body is not None:
                    found.append(BodyRow(str(digest), row.stream, body))
    return found


REPLAY = """
import sys
from pathlib import Path

sys.path[:0] = [sys.argv[2], sys.argv[3]]
from projected import right_tables
from test_byte_for_byte import dump
from tenure_ledger.stores import SQLiteStore

print(dump(right_tables(SQLiteStore(Path(sys.argv[1])))))
"""


@pytest.mark.parametrize("seed", range(5))
def test_the_hash_seed_changes_nothing(world: World, seed: int) -> None:
    path = world.url.removeprefix("sqlite:///").partition("?")[0]
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", REPLAY, path, str(here), str(here.parent / "support")],
        env={"PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == dump(stored_tables(world.store()))


def test_a_rebuild_of_the_same_file_finds_no_difference(world: World) -> None:
    with closing(open_ledger(world.url)) as again:
        assert [one.differing for one in again.rebuild(check=True)] == [0] * 10
