"""A read model is handed every event once, in order, whole commands at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from following import Counts, Saw, ends_of_commands, forgot_nothing, kept
from lives import Lives
from tenure import Follower, InvalidInput
from together import together
from worlds import STORES, World

SAW = ("saw", "seen")


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Give an empty ledger on each store, in a file without its flushes."""
    durability = "?durability=normal" if request.param == "sqlite" else ""
    opened = World(request.param, tmp_path, durability)
    yield opened
    opened.close()


@pytest.fixture
def lived(world: World) -> World:
    """Give a ledger in which every kind of event occurs."""
    Lives(world).write(250)
    return world


def test_all_that_there_is_is_handled_once(lived: World) -> None:
    follower = lived.ledger.follower(Saw())
    assert follower.position == 0
    count = lived.ledger.head().count
    assert follower.catch_up() == count
    assert forgot_nothing(lived.ledger) == count
    assert follower.position == lived.ledger.head().position
    assert follower.parked() == []
    assert follower.catch_up() == follower.run_once() == 0


@pytest.mark.parametrize("events_max", [1, 2, 3, 7, 50, 10_000])
def test_no_batch_splits_a_command(lived: World, events_max: int) -> None:
    ends = ends_of_commands(lived.ledger)
    follower = lived.ledger.follower(Saw(), events_max=events_max, seconds_max=60)
    batches = 0
    while passed := follower.run_once():
        at, batches = follower.position, batches + 1
        assert at in ends
        assert passed >= min(events_max, lived.ledger.head().position - at)
        if batches % 20 == 1:
            forgot_nothing(lived.ledger, at)
    assert forgot_nothing(lived.ledger) == lived.ledger.head().count
    if events_max < 50:
        assert batches > 3


@pytest.mark.parametrize("seed", range(5))
def test_followers_of_one_name_take_turns_in_any_order(world: World, seed: int) -> None:
    random, lives = Random(seed), Lives(world, seed)  # noqa: S311  no secret
    followers = [
        world.open(f"p{number}").follower(Saw(), events_max=random.randint(1, 40))
        for number in range(3)
    ]
    for _ in range(12):
        if random.random() < 0.3:
            lives.life()
        random.choice(followers).run_once()
    random.choice(followers).catch_up()
    assert forgot_nothing(world.ledger) == world.ledger.head().count


def test_followers_of_one_name_share_the_events_at_the_same_moment(
    lived: World,
) -> None:
    followers = [
        lived.open(f"p{number}").follower(Saw(), events_max=5) for number in range(4)
    ]
    passed = together([follower.catch_up for follower in followers])
    assert all(isinstance(one, int) for one in passed), passed
    count = lived.ledger.head().count
    assert sum(one for one in passed if isinstance(one, int)) == count
    assert forgot_nothing(lived.ledger) == count


def test_a_batch_ends_when_its_time_is_over(lived: World) -> None:
    follower = lived.ledger.follower(Saw(), seconds_max=0)
    ends = sorted(ends_of_commands(lived.ledger))
    follower.run_once()
    assert follower.position == ends[1]
    follower.run_once()
    assert follower.position == ends[2]


def test_two_models_each_have_their_own_position(lived: World) -> None:
    saw, counts = lived.ledger.follower(Saw()), lived.ledger.follower(Counts())
    saw.catch_up()
    assert (saw.position > 0, counts.position) == (True, 0)
    counts.catch_up()
    assert counts.position == saw.position
    assert sum(kept(counts).values()) == lived.ledger.head().count


def test_a_reset_model_is_made_anew_from_the_first_event(lived: World) -> None:
    follower = lived.ledger.follower(Saw(), events_max=20)
    follower.catch_up()
    before = [list(follower.rows(table)) for table in SAW]
    follower.reset()
    assert follower.position == 0
    assert [list(follower.rows(table)) for table in SAW] == [[], []]
    # One that was at the end goes on from the beginning.
    follower.catch_up()
    assert [list(follower.rows(table)) for table in SAW] == before


def test_a_model_that_changes_nothing_moves_all_the_same(lived: World) -> None:
    class Idle:
        name = "idle"
        tables = Counts.tables

        def handle(self, _recorded: object, _rows: object, /) -> None:
            """Change nothing."""

    follower = lived.ledger.follower(Idle())
    follower.catch_up()
    assert follower.position == lived.ledger.head().position
    assert kept(follower) == {}


def test_another_program_goes_on_where_the_last_one_stopped(lived: World) -> None:
    lived.ledger.follower(Saw(), events_max=10).run_once()
    later = lived.open("p2").follower(Saw())
    assert later.position > 0
    later.catch_up()
    forgot_nothing(lived.ledger)


def test_other_tables_under_the_same_name_are_refused(lived: World) -> None:
    class Grown(Saw):
        tables = (Counts.tables[0],)

    follower = lived.ledger.follower(Saw())
    follower.run_once()
    at = follower.position
    calls: list[Callable[[Follower], object]] = [
        Follower.run_once,
        Follower.start,
        Follower.reset,
        Follower.catch_up,
    ]
    for call in calls:
        grown = lived.open("p2").follower(Grown())
        with pytest.raises(InvalidInput, match="give the new shape, and its tables"):
            call(grown)
    assert follower.position == at


def test_a_table_of_another_model_is_refused(lived: World) -> None:
    class Thief(Counts):
        name = "thief"

    lived.ledger.follower(Counts()).run_once()
    thief = lived.open("p2").follower(Thief())
    with pytest.raises(InvalidInput, match="the table counts is that of the read mod"):
        thief.run_once()
