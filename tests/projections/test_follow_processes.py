"""Followers in processes: killed at every point of a batch, and many under one name."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from follow_stopping import EVENTS_MAX, POINTS
from following import Saw, ends_of_commands, forgot_nothing
from lives import Lives
from processes import other
from worlds import World

STOPPED = """
    from follow_stopping import follow_and_stop
    follow_and_stop(sys.argv[1], {point!r}, {batch})
"""
FOLLOWING = """
    from following import Saw
    from tenure import open_ledger
    ledger = open_ledger(f"sqlite:///{sys.argv[1]}?durability=normal")
    follower = ledger.follower(Saw(), events_max=int(hear()))
    say("ready")
    passed = 0
    while True:
        passed += follower.run_once()
        say(follower.position)
        if hear().strip() == "enough":
            break
    say(passed)
"""


def written(folder: Path, events: int) -> Lives:
    """Give a ledger that has events, and the lives that they tell."""
    lives = Lives(World("sqlite", folder, "?durability=normal"))
    lives.write(events)
    return lives


@pytest.mark.parametrize("batch", [pytest.param(0, marks=pytest.mark.prove), 2])
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_follower_has_handled_whole_batches_and_goes_on(
    tmp_path: Path, point: str, batch: int
) -> None:
    lives = written(tmp_path, 60)
    world = lives.world
    script = STOPPED.format(point=point, batch=batch)
    with other(script, tmp_path / "relay.db") as follower:
        assert follower.hear() == point
        follower.kill()
    later = world.open("p2").follower(Saw(), events_max=5)
    at = later.position
    done = batch + (point == "after COMMIT")
    assert at in ends_of_commands(world.ledger)
    # No command is cut, so a batch may be longer than it should be.
    assert forgot_nothing(world.ledger, at) >= EVENTS_MAX * done
    assert (at > 0) == (done > 0)
    lives.life()
    later.catch_up()
    assert forgot_nothing(world.ledger) == world.ledger.head().count
    world.close()


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 9))]
)
def test_processes_of_one_name_are_killed_and_started_and_forget_nothing(
    tmp_path: Path, seed: int
) -> None:
    random = Random(seed)  # noqa: S311  no secret
    world = written(tmp_path, 200).world
    sizes = [random.randint(1, 12) for _ in range(2)]
    for size in sizes:
        with (
            other(FOLLOWING, tmp_path / "relay.db") as one,
            other(FOLLOWING, tmp_path / "relay.db") as two,
        ):
            for process in (one, two):
                process.say(str(size))
                assert process.hear() == "ready"
            for _ in range(random.randint(2, 6)):
                # Both are told to go on at once, and both answer.
                for process in (one, two):
                    assert int(process.hear()) > 0
                    process.say("on")
            one.kill()
            assert two.hear()
            two.say("enough")
            two.end()
        forgot_nothing(world.ledger, world.ledger.follower(Saw()).position)
    world.ledger.follower(Saw()).catch_up()
    assert forgot_nothing(world.ledger) == world.ledger.head().count
    world.close()


def test_two_processes_handle_each_event_once_between_them(tmp_path: Path) -> None:
    world = written(tmp_path, 200).world
    passed = 0
    with (
        other(FOLLOWING, tmp_path / "relay.db") as one,
        other(FOLLOWING, tmp_path / "relay.db") as two,
    ):
        for process in (one, two):
            process.say("10")
            assert process.hear() == "ready"
        end = world.ledger.head().position
        reached: list[int] = []
        while not reached or min(reached) < end:
            reached = []
            for process in (one, two):
                reached.append(int(process.hear()))
                process.say("on")
        for process in (one, two):
            process.hear()
            process.say("enough")
            passed += int(process.end()[-1])
    assert passed == forgot_nothing(world.ledger) == world.ledger.head().count
    world.close()
