"""One bad event parks its stream, where everybody can see it; the others go on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from attempts import A, B, C, held, write_attempts
from following import Counts, PoisonError, kept, started
from odd_stores import HastyStore, ledger_on
from tenure import (
    ModelRows,
    NotFound,
    Recorded,
    Unknown,
)
from worlds import World


@pytest.fixture
def attempts(world: World) -> World:
    """Give a ledger with the attempts."""
    write_attempts(world)
    return world


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
