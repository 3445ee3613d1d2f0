"""Two imported owners that claim one agent: shown once, and nobody else is harmed."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tenure import Ledger, OwnerRef, open_ledger
from tenure_ledger import events as e
from worlds import World

A, B, C = (OwnerRef("session", name) for name in "ABC")


def imported(world: World, owner: OwnerRef) -> None:
    claimed = e.OwnershipClaimed(author="import", generation=1, agent_id="x")
    world.append(owner, claimed)


def holders(ledger: Ledger) -> dict[object, object]:
    return {row["owner_id"]: row["agent_id"] for row in ledger.rows("recovery_owners")}


def test_the_first_keeps_the_agent_and_a_rebuild_agrees(world: World) -> None:
    ledger = world.ledger
    ledger.claim(C, "c", "host")
    imported(world, A)
    imported(world, B)
    ledger.rebuild()
    assert holders(ledger) == {"A": "x", "B": None, "C": "c"}
    assert [one.differing for one in ledger.rebuild(check=True)] == [0] * 10


def test_a_live_owner_beside_the_import_goes_on(world: World) -> None:
    ledger = world.ledger
    held = ledger.claim(B, "x", "host")
    imported(world, A)
    ledger.rebuild()
    ledger.admit(held, "m1", "human")
    held = ledger.advance(held, "lease_renewal", lease_seconds=9)
    ledger.start(held, "m1")
    assert ledger.owner(B).generation == 2
    assert sorted(holders(ledger).values(), key=str) == [None, "x"]


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_file_with_such_an_import_opens_and_fills_its_tables(world: World) -> None:
    world.ledger.claim(C, "c", "host")
    imported(world, A)
    imported(world, B)
    world.close()
    path = world.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TABLE recovery_owners")
    with open_ledger(world.url) as ledger:
        assert holders(ledger) == {"A": "x", "B": None, "C": "c"}
