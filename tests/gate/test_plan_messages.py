"""Resume plans: which message each call is of, also when its message has ended."""

from __future__ import annotations

import pytest

from broken_loops import PAY, of_calls, save, two
from resuming import ARGUMENTS, GONE, S, begun, plan
from tenure import (
    Authority,
    First,
    GoOn,
    Json,
    KeepOutput,
    RunCall,
    TellCall,
    Unstarted,
    arguments_digest,
    recover,
)
from tenure_gate.recovery.steps import Told
from tenure_ledger.decisions.executions import HostOutcome
from worlds import World

PAID = arguments_digest("paid")
DIGEST = arguments_digest(ARGUMENTS)


def pay(world: World, held: Authority, key: str, call: str = "c") -> None:
    one = world.ledger.begin_tool_call(held, key, call, "pay", {"eur": 500})
    world.ledger.complete_tool_call(held, one, "paid")


# A message that has ended since the save.


@pytest.mark.parametrize("keys", [None, ["m1", "m2"], ["m1"]])
def test_what_was_paid_for_a_message_that_is_done_is_not_paid_again(
    world: World, keys: list[str] | None
) -> None:
    held = two(world)
    save(world, held, PAY, keys=keys)
    pay(world, held, "m1")
    world.ledger.settle(held, "m1", "completed")
    if keys == ["m1"]:
        # All that the checkpoint named is settled: nothing of it is in question.
        assert plan(world).steps == (Unstarted(("m2",)),)
        return
    assert of_calls(world) == [KeepOutput("m1", "c", None, PAID)]


@pytest.mark.parametrize(
    ("dispatched", "outcome", "what"),
    [(True, "failed", "unknown"), (False, "cancelled", "never_started")],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_call_of_a_message_that_has_ended_is_told_and_never_run(
    world: World, *, dispatched: bool, outcome: HostOutcome, what: Told, named: bool
) -> None:
    held = two(world)
    save(world, held, {**PAY, "message_id": "m1"} if named else PAY)
    if dispatched:
        world.ledger.begin_tool_call(held, "m1", "c", "pay", {"eur": 500})
    world.ledger.settle(held, "m1", outcome)
    assert of_calls(world) == [TellCall("m1", "c", what)]


def test_of_two_at_work_the_one_that_made_the_call_is_asked_about_it(
    world: World,
) -> None:
    held = two(world, started=True)
    save(world, held, PAY)
    pay(world, held, "m1")
    world.ledger.settle(held, "m1", "completed")
    assert of_calls(world) == [KeepOutput("m1", "c", None, PAID)]


def test_an_output_of_a_message_that_has_ended_is_kept_as_its_own(
    world: World,
) -> None:
    held = two(world)
    world.ledger.begin_tool_call(held, "m1", "c", "pay", {})
    item: Json = {"call_id": "c", "output": "paid"}
    save(world, held, outputs=(item,))
    world.ledger.settle(held, "m1", "completed")
    assert of_calls(world) == [KeepOutput("m1", "c", item, None)]


def test_what_ended_before_the_save_says_nothing_of_a_later_call(
    world: World,
) -> None:
    held = two(world)
    pay(world, held, "m1")
    world.ledger.settle(held, "m1", "completed")
    world.ledger.start(held, "m2")
    save(world, held, PAY)
    assert of_calls(world) == [RunCall("m2", "c", "pay", {"eur": 500}, None, None)]


# A message that was taken in.


def test_a_call_of_a_message_that_was_taken_in_is_of_that_message(
    world: World,
) -> None:
    held = begun(world)
    save(world, held, PAY, keys=["m1"])
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2", into="m1")
    pay(world, held, "m2")
    found = plan(world)
    assert found.steps[0] == KeepOutput("m2", "c", None, PAID)
    assert found.keys == ("m1", "m2")
    assert isinstance(found.steps[-1], GoOn)


# One call id in two messages: some models number their calls anew in each answer.


def test_one_call_id_in_two_messages_is_two_calls(world: World) -> None:
    held = two(world, started=True)
    world.ledger.begin_tool_call(held, "m1", "c", "pay", {"eur": 500})
    save(world, held, *({**PAY, "message_id": at} for at in ("m1", "m2")))
    assert of_calls(world) == [
        TellCall("m1", "c", "unknown"),
        RunCall("m2", "c", "pay", {"eur": 500}, None, None),
    ]


def test_an_output_of_one_message_hides_no_call_of_another(world: World) -> None:
    held = two(world, started=True)
    for at in ("m1", "m2"):
        world.ledger.begin_tool_call(held, at, "c", "pay", {})
    item: Json = {"call_id": "c", "message_id": "m2", "output": "text"}
    save(world, held, outputs=(item,))
    assert of_calls(world) == [
        KeepOutput("m2", "c", item, None),
        TellCall("m1", "c", "unknown"),
    ]


def test_of_two_calls_of_one_id_the_checkpoint_means_that_which_was_acting(
    world: World,
) -> None:
    held = two(world, started=True)
    world.ledger.intend_tool_call(held, "m2", "c", "pay", {"eur": 500})
    save(world, held, PAY)
    pay(world, held, "m1")
    digest = arguments_digest(PAY["arguments"])
    assert of_calls(world) == [
        RunCall("m2", "c", "pay", None, digest, None),
        KeepOutput("m1", "c", None, PAID),
    ]


def test_an_output_that_names_no_message_is_that_of_the_call_which_does(
    world: World,
) -> None:
    held = two(world, started=True)
    world.ledger.begin_tool_call(held, "m2", "c", "pay", {"eur": 500})
    item: Json = {"call_id": "c", "output": "paid"}
    save(world, held, {**PAY, "message_id": "m1"}, outputs=(item,))
    kept, told = of_calls(world)
    assert kept == KeepOutput("m1", "c", item, None)
    assert told == TellCall("m2", "c", "unknown")


# Items that say what cannot be.


@pytest.mark.parametrize("message", ["", "nobody's", "x" * 300])
def test_a_call_of_a_message_that_nobody_knows_is_told(
    world: World, message: str
) -> None:
    held = begun(world)
    save(world, held, {**PAY, "message_id": message})
    assert of_calls(world) == [TellCall(None, "c", "never_started")]


def test_of_a_wrong_message_id_the_record_knows_better(world: World) -> None:
    held = begun(world)
    save(world, held, {**PAY, "message_id": "nobody's"})
    pay(world, held, "m1")
    assert of_calls(world) == [KeepOutput("m1", "c", None, PAID)]


@pytest.mark.parametrize("tool", ["x" * 300, "", 5, None])
def test_a_call_of_a_tool_that_cannot_be_named_is_told(
    world: World, tool: Json
) -> None:
    held = begun(world)
    save(world, held, {**PAY, "tool": tool})
    assert of_calls(world) == [TellCall("m1", "c", "never_started")]


# A call that was dispatched before its message was begun.


def test_a_message_that_called_before_it_was_begun_is_not_one_that_nobody_began(
    world: World,
) -> None:
    held = world.ledger.claim(S, "t1", "host", first=First("m1", "human"))
    world.ledger.begin_tool_call(held, "m1", "c", "pay", {})
    (closed,) = recover(world.open("p2"), GONE, only=[S]).closed
    assert closed.reasons == ("no_checkpoint",)
    (notice,) = world.ledger.pending_notices(S)
    assert ("m1", "c") in {(fact.key, fact.call_id) for fact in notice.facts}
