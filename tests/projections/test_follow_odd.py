"""What a follower is given wrong, and batches of commands that share an id."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from following import Counts
from tenure import Corrupt, InvalidInput, ModelRows, ModelTable, OwnerRef, Recorded
from tenure_projections.followers.batch import commands
from worlds import World

S = OwnerRef("session", "ses_1")
HUGE = 10**400


def test_commands_with_one_id_in_several_streams_are_several(world: World) -> None:
    ledger = world.ledger
    for number in range(5):
        ledger.accept(OwnerRef("session", f"s{number}"), "m", "inbox", command_id="one")
    ledger.claim(S, "a", "host", command_id="one")
    found = [len(command) for command in commands(world.store().events(0))]
    assert found == [1, 1, 1, 1, 1, 2]
    follower = ledger.follower(Counts(), events_max=1)
    assert follower.run_once() == 1


@pytest.mark.parametrize("seconds", ["x", float("nan"), float("inf"), None, -1])
def test_a_bad_time_to_wait_is_refused(world: World, seconds: object) -> None:
    close: Any = world.ledger.follower(Counts()).close
    with pytest.raises(InvalidInput, match="timeout_seconds"):
        close(seconds)


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ({"k": str}, None),
        ({"k": str}, 5),
        ({"k": str}, (1,)),
        ({"k": []}, "k"),
        ({"k": "str"}, "k"),
    ],
)
def test_a_bad_table_is_refused(columns: object, key: object) -> None:
    make: Any = ModelTable
    with pytest.raises(InvalidInput):
        make("mine", columns, key)


class Weighs:
    """Has a column of numbers with a point."""

    name = "weighs"
    tables = (ModelTable("weights", {"name": str, "weight": float}, "name"),)

    def handle(self, _recorded: Recorded, rows: ModelRows, /) -> None:
        """Put one row."""
        rows.put("weights", name="all", weight=1.5)


def test_a_number_that_no_column_holds_is_refused(world: World) -> None:
    world.ledger.accept(S, "m", "inbox")
    follower = world.ledger.follower(Weighs())
    follower.catch_up()
    with pytest.raises(InvalidInput, match="weight"):
        follower.rows("weights", weight=HUGE)


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_follower_that_cannot_be_made_harms_no_other(world: World) -> None:
    ledger = world.ledger
    ledger.accept(S, "m", "inbox")
    ledger.follower(Counts()).catch_up()
    path = world.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE INDEX weights ON counts (n)")
    with pytest.raises(Corrupt):
        ledger.follower(Weighs()).catch_up()
    assert len(list(ledger.rows("chat_executions"))) == 1
    assert ledger.follower(Counts()).catch_up() == 0


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("position", "soon"),
        ("tables_json", "{not json"),
        ("tables_json", "[]"),
        ("tables_json", b"\xff"),
    ],
)
def test_a_record_that_somebody_changed_is_a_fault_that_says_so(
    world: World, column: str, value: object
) -> None:
    follower = world.ledger.follower(Counts())
    world.ledger.accept(S, "m", "inbox")
    follower.catch_up()
    path = world.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as db, db:
        changed = f"UPDATE followers SET {column} = ?"  # noqa: S608  two names of ours
        db.execute(changed, (value,))
    with pytest.raises(Corrupt, match=r"row .* of followers"):
        follower.catch_up()


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_parked_stream_that_somebody_changed_is_a_fault_that_says_so(
    world: World,
) -> None:
    follower = world.ledger.follower(Counts())
    world.ledger.accept(S, "m", "inbox")
    follower.catch_up()
    path = world.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as db, db:
        row = (Counts.name, S.stream, "soon", 1, "error")
        db.execute("INSERT INTO parked_streams VALUES (?, ?, ?, ?, ?)", row)
    with pytest.raises(Corrupt, match=r"row .* of parked_streams"):
        follower.parked()
