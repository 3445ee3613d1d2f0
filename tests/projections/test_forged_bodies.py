"""A body that somebody changed in the store is told, and shown in no table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from clients import client
from tenure import (
    Authority,
    Corrupt,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    open_ledger,
)

CHECKPOINTS = "runtime_restart_checkpoints"
S, OTHER = OwnerRef("session", "s"), OwnerRef("session", "other")
FORGED = (
    b'{"execution_config": {"model": "mine"}, "payload": {"consecutive_batches": 9}}',
    b"no json",
    b'"\\ud800"',
    b"[" * 5000,
)


@pytest.fixture
def held(place: str) -> Authority:
    """Hold an owner that has a snapshot, and another."""
    with open_ledger(place) as ledger:
        ledger.claim(OTHER, "b", "host")
        held = ledger.claim(S, "a", "host", first=First("m", "human"))
        ledger.save_checkpoint(
            held, RuntimeRestartReactionLoopState(consecutive_batches=1)
        )
    return held


@pytest.fixture(params=FORGED)
def forged(
    request: pytest.FixtureRequest, place: str, held: Authority
) -> Iterator[Ledger]:
    """Put another body in the place of the snapshot's, with a client."""
    query = (
        "DELETE FROM payloads WHERE stream = {0}",
        "INSERT INTO payloads (stream, digest, body) VALUES ({0}, {0}, {0})",
    )
    with open_ledger(place) as ledger:
        snapshot = ledger.owner(held.owner).checkpoint
    assert snapshot is not None
    values = (S.stream, snapshot.payload, request.param)
    if place.startswith("sqlite"):
        with closing(sqlite3.connect(place.removeprefix("sqlite:///"))) as db, db:
            db.execute(query[0].format("?"), values[:1])
            db.execute(query[1].format("?"), values)
    else:
        with client(place.partition("&durability")[0]) as server:
            server.execute(query[0].format("%s").encode(), values[:1])
            server.execute(query[1].format("%s").encode(), values)
    with open_ledger(place) as ledger:
        yield ledger


def test_no_rebuild_and_no_past_takes_it_for_what_was_stored(forged: Ledger) -> None:
    before = list(forged.rows(CHECKPOINTS))
    past = forged.as_of(forged.head().position)
    for ask in (
        lambda: list(past.rows(CHECKPOINTS)),
        lambda: forged.rebuild(CHECKPOINTS, check=True),
        forged.rebuild,
    ):
        with pytest.raises(Corrupt, match="of owner:session:s was changed"):
            ask()
    assert list(forged.rows(CHECKPOINTS)) == before
    assert forged.rebuild("chat_executions")[0].differing == 0
    assert len(list(past.rows(CHECKPOINTS, OTHER))) == 0


def test_its_owner_goes_on_without_the_snapshot_and_others_as_ever(
    forged: Ledger, held: Authority
) -> None:
    version = forged.owner(S).version
    with pytest.raises(Corrupt, match="was changed in the store"):
        forged.advance(held, "lease_renewal")
    assert forged.owner(S).version == version
    forged.accept(OTHER, "m", "inbox")
    forged.clear_checkpoint(held)
    assert forged.advance(held, "lease_renewal").generation == 2
    assert [one.differing for one in forged.rebuild(check=True)] == [0] * 10
