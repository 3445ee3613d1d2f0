"""Positions have holes, and later versions write other headers: both are read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tenure import OwnerRef, StoreFull, StoreUnavailable, open_ledger
from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load
from tenure_ledger.rows import GENESIS, row_hash
from tenure_projections.shadow import Shadow
from tenure_projections.tables import TABLES
from worlds import World

S = OwnerRef("session", "ses_1")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def insert(path: Path, position: int, version: int, **header: object) -> None:
    """Append an event as another program, or another store, would number it."""
    stream, topic = "owner:session:other", "moon-noted.v7"
    with closing(sqlite3.connect(path)) as db, db:
        (last,) = db.execute(
            "SELECT max(hash) FILTER (WHERE originator_version = ?) FROM stored_events "
            "WHERE originator_id = ?",
            (version - 1, stream),
        ).fetchone()
        header["previous_hash"] = (last or GENESIS).hex()
        state = json.dumps(header).encode()
        row = (stream, version, topic, state, row_hash(stream, version, topic, state))
        db.execute(
            "INSERT INTO stored_events VALUES (?, ?, ?, ?, ?, ?)", (position, *row)
        )


def test_a_hole_is_the_moment_of_what_stands_before_it(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        ledger.accept(S, "m1", "inbox")
        command = {"command_id": "c", "count": 3, "ignorable": True}
        for index, position in enumerate((40, 43, 44)):
            insert(path, position, index + 1, index=index, **command)
        ledger.accept(S, "m2", "inbox")
        places = [ledger.as_of(at).position for at in (1, 20, 39, 40, 42, 43, 44, 45)]
        # From 40 to 43 the command is not there in full: what is left is the hole.
        assert places == [1, 20, 39, 39, 39, 39, 44, 45]
        waiting = [ledger.as_of(at).owner(S).waiting for at in (0, 20, 43, 45)]
        assert waiting == [(), ("m1",), ("m1",), ("m1", "m2")]
        assert ledger.rebuild(check=True)[3].differing == 0


def test_a_command_whose_end_was_lost_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        ledger.accept(S, "m1", "inbox")
        insert(path, 2, 1, command_id="c", index=0, count=2, ignorable=True)
        assert ledger.as_of(2).position == 2
        ledger.accept(S, "m2", "inbox")
        assert ledger.as_of(2).position == 2


def test_a_header_of_another_shape_is_a_command_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}", clock=lambda: NOW) as ledger:
        ledger.accept(S, "m1", "inbox")
        insert(path, 2, 1, index="first", recorded_at=7, ignorable=True)
        ledger.accept(S, "m2", "inbox")
        assert [ledger.as_of(at).position for at in (1, 2, 3)] == [1, 2, 3]
        # Its time is not known, so it is not younger than anything.
        assert ledger.as_of(NOW).position == 3
        assert ledger.as_of(NOW - timedelta(seconds=1)).position == 0


def test_a_private_database_that_fails_says_what_to_do(world: World) -> None:
    for number in range(50):
        world.ledger.accept(S, f"m{number:0200}", "inbox")
    state = load(State(S.stream), world.store().tail(S.stream, 0))
    with Shadow(TABLES) as shadow:
        db = shadow._db  # pyright: ignore[reportPrivateUsage]
        db.execute("PRAGMA max_page_count = 30")
        with pytest.raises(StoreFull, match="TMPDIR"):
            shadow.put(state, world.store().body)
    with pytest.raises(StoreUnavailable, match="nothing was written"):
        list(shadow.rows(TABLES[0]))
