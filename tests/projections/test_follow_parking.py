"""One bad event parks its stream, where everybody can see it; the others go on."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from following import Counts, PoisonError, kept, started
from odd_stores import HastyStore, Loss, LossyStore, ledger_on
from processes import other
from tenure import (
    Authority,
    Contended,
    Ledger,
    ModelRows,
    NotFound,
    OutcomeUnknown,
    OwnerRef,
    Recorded,
    StoreFull,
    Unknown,
    open_ledger,
)
from tenure_ledger.stores import MemoryStore, SQLiteStore
from tenure_ledger.stores.fair_lock import FairLock
from worlds import World

A, B, C = (OwnerRef("session", name) for name in "abc")


def held(world: World, session: OwnerRef, *messages: str) -> Authority:
    """Claim a session and admit messages to it."""
    authority = world.ledger.claim(session, f"agent of {session.owner_id}", "host")
    for message in messages:
        world.ledger.admit(authority, message, "assistant_run")
    return authority


@pytest.fixture
def attempts(world: World) -> World:
    """Attempts of A with a bad event of B between them: scenario S24."""
    a, b = held(world, A, "a1", "a2"), held(world, B, "b1", "b2")
    world.ledger.start(a, "a1")
    world.ledger.start(b, "b1")
    world.ledger.start(a, "a2")
    world.ledger.start(b, "b2")
    return world


class Attempts(Counts):
    """Counts the starts of each stream."""

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Pass over what is no start."""
        topic = recorded.event.topic
        if topic == "execution-started.v1":
            super().handle(recorded, rows)


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


def queue(world: World) -> FairLock:
    """Return what the store's writers of this process queue in."""
    store = world.store()
    return store._turn if isinstance(store, MemoryStore) else store._writer._lock  # pyright: ignore[reportPrivateUsage]


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


def test_later_events_of_a_parked_stream_wait_in_order_for_the_retry(
    attempts: World,
) -> None:
    model = Counts(started("b1"))
    follower = attempts.ledger.follower(model, events_max=3)
    follower.catch_up()
    before = kept(follower)[B.stream]
    c = held(attempts, C, "c1")
    attempts.ledger.accept(B, "b3", "inbox")
    attempts.ledger.start(c, "c1")
    follower.catch_up()
    assert kept(follower) == {**kept(follower), B.stream: before, C.stream: 3}
    model.rejects, model.handed = started("nothing"), []
    waiting = [
        one.position for one in attempts.ledger.history(B) if one.version > before
    ]
    assert follower.retry(B.stream) == len(waiting) == 3
    assert model.handed == waiting
    assert follower.parked() == []
    assert kept(follower)[B.stream] == len(attempts.ledger.history(B))
    attempts.ledger.accept(B, "b4", "inbox")
    follower.catch_up()
    assert kept(follower)[B.stream] == len(attempts.ledger.history(B))


@pytest.mark.parametrize("events_max", [1, 2, 500])
def test_a_retry_that_fails_again_keeps_what_came_before(
    attempts: World, events_max: int
) -> None:
    model = Counts(started("b1"))
    follower = attempts.ledger.follower(model, events_max=events_max)
    follower.catch_up()
    (first,) = follower.parked()
    position = follower.position
    assert follower.retry() == 0
    assert follower.parked() == [first]
    model.rejects = started("b2")
    assert follower.retry(B.stream) == 1
    (second,) = follower.parked()
    assert second.version == first.version + 1
    assert second.error.endswith(f"{B.stream} {second.version}")
    assert kept(follower)[B.stream] == first.version
    assert follower.position == position
    model.rejects = started("nothing")
    assert follower.retry() == 1
    assert kept(follower)[B.stream] == second.version
    assert follower.retry() == 0


def test_a_retry_goes_as_far_as_the_others_are(attempts: World) -> None:
    model = Counts(started("b1"))
    follower = attempts.ledger.follower(model)
    follower.catch_up()
    model.rejects = started("nothing")
    attempts.ledger.accept(B, "b3", "inbox")
    assert follower.retry(B.stream) == 2
    assert kept(follower)[B.stream] == len(attempts.ledger.history(B)) - 1
    follower.catch_up()
    assert kept(follower)[B.stream] == len(attempts.ledger.history(B))


def test_what_comes_to_wait_while_a_retry_reads_is_handled_by_it(
    tmp_path: Path,
) -> None:
    world = World("sqlite", tmp_path)
    b = held(world, B, "b1", "b2")
    world.ledger.start(b, "b1")
    model = Counts(started("b1"))
    with closing(HastyStore(tmp_path / "relay.db")) as store:
        follower = ledger_on(store).follower(model)
        follower.catch_up()
        model.rejects = started("nothing")

        def meanwhile() -> None:
            world.ledger.start(b, "b2")
            world.ledger.follower(model).catch_up()

        store.behind_tail = meanwhile
        assert follower.retry(B.stream) == 2
        assert follower.parked() == []
        assert kept(follower)[B.stream] == len(world.ledger.history(B))
    world.close()


def test_a_stream_that_is_not_parked_cannot_be_retried(attempts: World) -> None:
    follower = attempts.ledger.follower(Counts())
    follower.catch_up()
    with pytest.raises(NotFound) as refusal:
        follower.retry(A.stream)
    assert (refusal.value.kind, refusal.value.id) == ("parked stream", A.stream)


def test_the_events_of_one_command_go_on_in_streams_that_are_not_parked(
    attempts: World,
) -> None:
    # A claim writes to two streams: the owner's and the agent's.
    follower = attempts.ledger.follower(
        Counts(lambda one: one.stream == C.stream), events_max=1
    )
    held(attempts, C)
    follower.catch_up()
    assert [one.stream for one in follower.parked()] == [C.stream]
    assert kept(follower)["agent:agent of c"] == 1


def test_a_model_that_fails_at_all_of_it_parks_each_stream_once(
    attempts: World,
) -> None:
    follower = attempts.ledger.follower(Counts(lambda _: True))
    follower.catch_up()
    streams = {one.stream for one in attempts.ledger.events()}
    assert [one.stream for one in follower.parked()] == sorted(streams)
    assert kept(follower) == {}
    mended = attempts.open("p2").follower(Counts())
    assert mended.retry() == attempts.ledger.head().count
    assert mended.parked() == []
    assert sum(kept(mended).values()) == attempts.ledger.head().count


def test_an_event_of_a_later_release_is_handed_on(attempts: World) -> None:
    attempts.append_unknown(C, ignorable=False)
    found: list[Recorded] = []

    class Newer(Counts):
        def handle(self, recorded: Recorded, _rows: ModelRows, /) -> None:
            """Keep what is not known."""
            if isinstance(recorded.event, Unknown):
                found.append(recorded)

    follower = attempts.ledger.follower(Newer())
    follower.catch_up()
    assert [one.event.topic for one in found] == ["moon-phase-noted.v7"]
    assert follower.parked() == []


def test_what_a_swallowed_mistake_left_behind_stays_with_its_event(
    attempts: World,
) -> None:
    class Careless(Counts):
        def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
            """Go on after a refusal."""
            try:
                rows.put("counts", stream=recorded.stream, n="one", last=0)
            except ValueError:
                super().handle(recorded, rows)

    follower = attempts.ledger.follower(Careless())
    follower.catch_up()
    assert follower.parked() == []
    assert sum(kept(follower).values()) == attempts.ledger.head().count


def test_the_text_of_an_error_is_one_that_every_store_keeps(attempts: World) -> None:
    class Odd(Counts):
        def handle(self, _recorded: Recorded, _rows: ModelRows, /) -> None:
            """Raise what cannot be stored as it is."""
            raise PoisonError("half \ud83d, nought \0, " + "long " * 1000)

    follower = attempts.ledger.follower(Odd())
    follower.catch_up()
    (text,) = {one.error for one in follower.parked()}
    assert text.startswith("following.PoisonError: half \\ud83d, nought \\x00, long")
    assert len(text) == 2000


# Faults are not the event's.


def test_a_locked_file_parks_nothing(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    held(world, A, "a1")
    script = """
        with store.write(10.0) as unit:
            say("locked")
            hear()
    """
    with (
        open_ledger(world.url, deadline_seconds=0.2) as hasty,
        other(script, tmp_path / "relay.db") as holder,
    ):
        follower = hasty.follower(Counts())
        assert follower.position == 0
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
