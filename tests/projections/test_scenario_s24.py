"""S24: one bad event in the batch, and its neighbours are applied once."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from attempts import A, Attempts, B, held, write_attempts
from following import Counts, kept, started
from odd_stores import Loss, LossyStore, ledger_on
from tenure import (
    OutcomeUnknown,
    open_ledger,
)
from tenure_ledger.stores import MemoryStore, SQLiteStore
from tenure_ledger.stores.fair_lock import FairLock
from worlds import World


@pytest.fixture
def attempts(world: World) -> World:
    """Give a ledger with the attempts."""
    write_attempts(world)
    return world


@pytest.mark.parametrize("events_max", [1, 2, 500])
def test_s24_the_neighbours_of_a_bad_event_are_applied_once(
    attempts: World, events_max: int
) -> None:
    model = Attempts(started("b1"))
    follower = attempts.ledger.follower(model, events_max=events_max)
    follower.catch_up()
    assert kept(follower) == {A.stream: 2}
    assert follower.position == attempts.ledger.head().position
    (parked,) = follower.parked()
    bad = next(one for one in attempts.ledger.events() if started("b1")(one))
    assert parked == (B.stream, bad.position, bad.version, parked.error)
    assert parked.error == f"following.PoisonError: {B.stream} {bad.version}"


def test_s24_the_same_range_twice_from_the_same_position_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    world = World("sqlite", tmp_path)
    a, b = held(world, A, "a1", "a2"), held(world, B, "b1")
    model = Attempts(started("b1"))
    follower = world.ledger.follower(model, events_max=2)
    follower.run_once()
    saved = follower.position
    world.ledger.start(a, "a1")
    world.ledger.start(b, "b1")
    world.ledger.start(a, "a2")
    world.close()
    dumps: list[str] = []
    for name, events_max in (("one", 500), ("two", 500), ("small", 1)):
        copy = tmp_path / f"{name}.db"
        shutil.copy(tmp_path / "relay.db", copy)
        with open_ledger(f"sqlite:///{copy}") as ledger:
            again = ledger.follower(Attempts(started("b1")), events_max=events_max)
            assert again.position == saved
            again.catch_up()
        with closing(sqlite3.connect(copy)) as db:
            dumps.append("\n".join(db.iterdump()))
    assert dumps[0] == dumps[1] == dumps[2]
    assert '"counts"' in dumps[0]


def queue(world: World) -> FairLock:
    """Return what the store's writers of this process queue in."""
    store = world.store()
    if isinstance(store, MemoryStore):
        return store._turn  # pyright: ignore[reportPrivateUsage]
    assert isinstance(store, SQLiteStore)
    return store._writer._lock  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("world", ["memory", "sqlite"], indirect=True)
def test_s24_a_batch_that_came_too_late_is_judged_again_from_what_is_committed(
    attempts: World,
) -> None:
    # Both have read the same events; the first in the queue commits them.
    model = Attempts(started("b1"))
    followers = [attempts.ledger.follower(model) for _ in range(2)]
    assert [one.position for one in followers] == [0, 0]
    runs = [Thread(target=one.run_once) for one in followers]
    with attempts.store().write(10.0):
        for place, run in enumerate(runs, 1):
            run.start()
            while queue(attempts).waiting < place:
                assert run.is_alive()
    for run in runs:
        run.join(60)
    assert kept(followers[0]) == {A.stream: 2}
    assert len(followers[0].parked()) == 1
    assert len(model.handed) == 3


@pytest.mark.parametrize(
    "losses", [["conflict"], ["stored"], ["not stored"], ["not stored", "stored"]]
)
def test_s24_a_commit_that_failed_or_was_not_answered_counts_once(
    tmp_path: Path, losses: list[Loss]
) -> None:
    world = World("sqlite", tmp_path)
    a, b = held(world, A, "a1", "a2"), held(world, B, "b1")
    world.ledger.start(a, "a1")
    world.ledger.start(b, "b1")
    world.ledger.start(a, "a2")
    with closing(LossyStore(tmp_path / "relay.db")) as store:
        store.losses = losses
        follower = ledger_on(store).follower(Attempts(started("b1")))
        follower.catch_up()
        assert store.losses == []
        assert kept(follower) == {A.stream: 2}
        assert [one.stream for one in follower.parked()] == [B.stream]
        assert follower.position == world.ledger.head().position
    world.close()


def test_a_commit_in_doubt_is_said_at_the_deadline_and_settled_by_the_next_call(
    tmp_path: Path,
) -> None:
    world = World("sqlite", tmp_path)
    held(world, A, "a1")
    with closing(LossyStore(tmp_path / "relay.db")) as store:
        store.losses = []
        follower = ledger_on(store, deadline_seconds=0).follower(Counts())
        assert follower.position == 0
        store.losses = ["stored"]
        with pytest.raises(OutcomeUnknown, match="call again") as fault:
            follower.run_once()
        assert fault.value.command_id == "counts"
        # Found, and proved durable by a commit of its own.
        store.losses = ["not stored"]
        with pytest.raises(OutcomeUnknown):
            follower.catch_up()
        assert store.losses == []
        assert follower.catch_up() == 0
        assert kept(follower) == {A.stream: 2, "agent:agent of a": 1}
    world.close()
