"""A person cancels one message of a merge that is under way (sections 6 and 7.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gates import Gate, user
from recovering import PAYLOADS, SESSION, again, environment, restart, the
from tenure import (
    Authority,
    ChatExecutionKey,
    Closed,
    Evidence,
    First,
    RecoveryEnvironment,
    Resumed,
    recover,
)
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
LIST = [user("m1"), user("m2"), user("r")]


def merge(world: World) -> Authority:
    """``q`` answers ``m1`` and ``m2`` together; then ``m1`` is cancelled."""
    held = world.ledger.claim(SESSION, "manager/1", "host")
    for key in ("m1", "m2"):
        world.ledger.accept(SESSION, key, "inbox", human=True)
    world.ledger.admit(held, "q", "continue_relay", absorbed=["m1", "m2"])
    world.ledger.start(held, "q")
    return held


def cancel(world: World, key: str = "m1") -> None:
    """Let a person cancel this message alone."""
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", keys=[key])


def outcomes(world: World) -> tuple[str | None, ...]:
    """Return how ``m1``, ``m2`` and ``q`` were settled."""
    keys = [ChatExecutionKey("ses_1", key) for key in ("m1", "m2", "q")]
    found = [world.ledger.execution(key) for key in keys]
    return tuple(None if one is None else one.outcome for one in found)


def told(world: World) -> str:
    """Return the one notice that waits, below its first line."""
    (notice,) = world.ledger.pending_notices(SESSION)
    return notice.text.partition("\n")[2]


def test_the_next_term_does_not_read_what_was_cancelled(world: World) -> None:
    held = merge(world)
    cancel(world)
    world.ledger.retire(held, "continue")
    assert outcomes(world) == ("cancelled", "retired", "retired")
    assert told(world) == "- message m2: started and not finished"
    two = world.ledger.succeed(
        SESSION, "manager/2", "host", first=First("r", "continue_relay")
    )
    view = Gate(world.ledger).apply(LIST, two, acting="r")
    shown = [message["content"] for message in view.messages if "id" in message]
    assert shown == ["(cancelled by the user)", LIST[1]["content"], LIST[2]["content"]]


def test_what_came_to_its_end_is_completed_whole(world: World) -> None:
    held = merge(world)
    cancel(world)
    world.ledger.retire(held, "continue", finishes=["q"])
    assert outcomes(world) == ("completed", "completed", "completed")


def test_a_merge_that_was_cancelled_is_cancelled_whole(world: World) -> None:
    held = merge(world)
    cancel(world, "q")
    cancel(world, "m1")
    world.ledger.retire(held, "continue")
    assert outcomes(world) == ("cancelled", "cancelled", "cancelled")


@pytest.mark.parametrize("keys", [None, ["q", "m1"]])
def test_a_checkpoint_that_names_it_is_not_resumed(
    world: World, keys: Sequence[str] | None
) -> None:
    held = merge(world)
    world.ledger.save_checkpoint(held, LOOP, keys=keys)
    cancel(world)
    assert the(restart(world), Closed).reasons == ("user_cancelled",)
    assert outcomes(world) == ("cancelled", "closed_in_recovery", "closed_in_recovery")


def test_a_run_that_goes_on_without_it_is_told_so_once(world: World) -> None:
    held = merge(world)
    world.ledger.save_checkpoint(held, LOOP, keys=["q"])
    cancel(world)
    report = restart(world)
    resumed = the(report, Resumed)
    assert outcomes(world) == ("cancelled", None, None)
    line = "The user cancelled this. Do not redo it unless asked."
    assert told(world) == f"- message m1: it was cancelled. {line}"
    again(world)
    gone = RecoveryEnvironment(holder=lambda _owner, _process: "gone")
    anew = the(recover(world.open("p3"), gone), Resumed)
    assert anew.plan.steps == resumed.plan.steps
    assert len(world.ledger.pending_notices(SESSION)) == 1
    world.ledger.settle(anew.authority, "m2", "completed")
    assert outcomes(world) == ("cancelled", "completed", "completed")


def test_its_agent_that_comes_back_by_itself_is_told_too(world: World) -> None:
    merge(world)
    cancel(world)
    gone = Evidence.gone(world.ledger.owner(SESSION))
    world.open("p2").take_over(SESSION, "manager/1", "host", gone)
    assert outcomes(world) == ("cancelled", None, None)
    assert "message m1: it was cancelled" in told(world)


def test_a_dry_run_foresees_it(world: World) -> None:
    held = merge(world)
    world.ledger.save_checkpoint(held, LOOP, keys=["q"])
    cancel(world)
    dry = recover(world.open("p2"), environment(), dry_run=True)
    assert the(dry, Resumed).plan == the(restart(world), Resumed).plan
