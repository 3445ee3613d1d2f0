"""A fault of the store is not the event's; a row that a table refuses is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from attempts import A, B, C, held
from following import Counts, kept
from processes import other
from tenure import (
    Contended,
    Ledger,
    ModelRows,
    ModelTable,
    Recorded,
    StoreFull,
    open_ledger,
)
from tenure_ledger.stores import SQLiteStore
from worlds import World


def test_a_locked_file_parks_nothing(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    held(world, A, "a1")
    script = """
        with store.write(10.0) as unit:
            say("locked")
            hear()
    """
    hasty = open_ledger(world.url, deadline_seconds=0.2)
    follower = hasty.follower(Counts())
    # The tables are made before the other has the file for itself.
    assert follower.position == 0
    with hasty, other(script, tmp_path / "relay.db") as holder:
        assert holder.hear() == "locked"
        with pytest.raises(Contended):
            follower.run_once()
        holder.kill()
        follower.catch_up()
        assert follower.parked() == []
        assert sum(kept(follower).values()) == world.ledger.head().count
    world.close()


def test_a_full_file_parks_nothing(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    held(world, A, "a1")

    class Large(Counts):
        full = True

        def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
            """Write more than there is room for."""
            super().handle(recorded, rows)
            if self.full:
                name = "x" * 1000 + str(recorded.position)
                for number in range(300):
                    rows.put("counts", stream=f"{number}{name}", n=0, last=0)

    model = Large()
    follower = world.ledger.follower(model)
    assert follower.position == 0
    store = world.store()
    assert isinstance(store, SQLiteStore)
    with store.write(1.0):
        writing = store._writer.db  # pyright: ignore[reportPrivateUsage]
        assert writing is not None
        # Which is: as large as it is now.
        writing.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreFull):
        follower.run_once()
    model.full = False
    follower.catch_up()
    assert follower.parked() == []
    assert sum(kept(follower).values()) == world.ledger.head().count
    world.close()


def test_a_row_that_the_file_refuses_is_the_fault_of_its_event_alone(
    tmp_path: Path,
) -> None:
    world = World("sqlite", tmp_path)
    follower = world.ledger.follower(Counts())
    assert follower.position == 0
    with closing(sqlite3.connect(tmp_path / "relay.db")) as db:
        db.execute(
            "CREATE TRIGGER no_b BEFORE INSERT ON counts WHEN new.stream LIKE '%:b' "
            "AND new.n > 1 BEGIN SELECT RAISE(ABORT, 'not more than one b'); END"
        )
    held(world, A, "a1")
    held(world, B, "b1", "b2")
    held(world, C, "c1")
    follower.catch_up()
    (parked,) = follower.parked()
    assert (parked.stream, parked.version) == (B.stream, 2)
    assert "not more than one b" in parked.error
    assert kept(follower) == {
        "agent:agent of a": 1,
        "agent:agent of b": 1,
        "agent:agent of c": 1,
        A.stream: 2,
        B.stream: 1,
        C.stream: 2,
    }
    with closing(sqlite3.connect(tmp_path / "relay.db")) as db:
        db.execute("DROP TRIGGER no_b")
    assert follower.retry() == 2
    assert kept(follower)[B.stream] == 3
    world.close()


def test_a_value_that_is_given_up_is_free_for_another_row(tmp_path: Path) -> None:
    class Seats(Counts):
        name = "seats"
        tables = (ModelTable("seats", {"who": str, "seat": int}, "who"),)

        def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
            """Give the one seat to whoever came last."""
            rows.put("seats", who=str(recorded.position), seat=1)
            rows.delete("seats", who=str(recorded.position - 1))

    world = World("sqlite", tmp_path)
    follower = world.ledger.follower(Seats())
    assert follower.position == 0
    with closing(sqlite3.connect(tmp_path / "relay.db")) as db:
        db.execute("CREATE UNIQUE INDEX one_each ON seats (seat)")
    for session in (A, B):
        held(world, session)
        follower.catch_up()
        assert follower.parked() == []
    assert kept(follower, "seats") == {str(follower.position): 1}
    world.close()


def test_an_event_that_was_changed_in_the_file_parks_its_stream(
    tmp_path: Path,
) -> None:
    world = World("sqlite", tmp_path)
    held(world, A, "a1")
    held(world, B, "b1")
    world.close()
    with closing(sqlite3.connect(tmp_path / "relay.db")) as db:
        db.execute("DROP TRIGGER stored_events_are_append_only_on_update")
        db.execute(
            "UPDATE stored_events SET state = x'7b' WHERE originator_id = ?"
            " AND originator_version = 2",
            (B.stream,),
        )
        db.commit()
    ledger: Ledger
    with open_ledger(world.url) as ledger:
        follower = ledger.follower(Counts())
        follower.catch_up()
        (parked,) = follower.parked()
        assert (parked.stream, parked.version) == (B.stream, 2)
        assert "cannot be read" in parked.error
        assert kept(follower)[A.stream] == 2
