"""Resume plans: which message each call is of, also when its message has ended."""

from __future__ import annotations

import pytest

from resuming import ARGUMENTS, GONE, S, begun, only, plan, resumed
from tenure import (
    Authority,
    AwaitApproval,
    CloseApproval,
    First,
    GoOn,
    Json,
    KeepOutput,
    RunCall,
    RuntimeRestartReactionLoopState,
    RuntimeRestartToolApprovalWait,
    TellCall,
    Unstarted,
    arguments_digest,
    recover,
)
from tenure_gate.recovery.steps import Step, Told
from tenure_ledger.decisions.executions import HostOutcome
from worlds import World

PAY: dict[str, Json] = {"call_id": "c", "tool": "pay", "arguments": {"eur": 500}}
PAID = arguments_digest("paid")
DIGEST = arguments_digest(ARGUMENTS)


def save(
    world: World,
    held: Authority,
    *pending: Json,
    outputs: tuple[Json, ...] = (),
    keys: list[str] | None = None,
) -> None:
    payload = RuntimeRestartReactionLoopState(
        consecutive_batches=1,
        pending_tool_calls=list(pending),
        completed_unpersisted_tool_outputs=list(outputs),
    )
    world.ledger.save_checkpoint(held, payload, keys=keys)


def of_calls(world: World) -> list[Step]:
    return only(
        plan(world), KeepOutput, TellCall, RunCall, AwaitApproval, CloseApproval
    )


def two(world: World, *, started: bool = False) -> Authority:
    """A term in which ``m1`` runs, and ``m2`` waits or runs too."""
    held = begun(world)
    world.ledger.admit(held, "m2", "human")
    if started:
        world.ledger.start(held, "m2")
    return held


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


def test_a_request_of_a_message_that_has_ended_is_closed(world: World) -> None:
    held = two(world)
    wait = RuntimeRestartToolApprovalWait(
        wait_started_at_ms=0, dispatched_before_restart=False
    )
    world.ledger.save_checkpoint(held, wait)
    digest = arguments_digest({})
    asked = world.ledger.request_approval(held, "c", "pay", digest, "policy 1")
    world.ledger.settle(held, "m1", "cancelled")
    assert only(plan(world), RunCall, AwaitApproval) == []
    closed = world.ledger.approval(S, asked.request_id)
    assert closed is not None
    assert not closed.open


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


def test_an_approval_that_another_message_used_says_nothing_of_this_call(
    world: World,
) -> None:
    held, ledger = two(world), world.ledger
    asked = ledger.request_approval(held, "c", "rm", DIGEST, "policy 1").request_id
    ledger.decide_approval(S, asked, "approved", "ann")
    one = ledger.begin_tool_call(held, "m1", "c", "rm", ARGUMENTS, asked)
    ledger.complete_tool_call(held, one, 1)
    ledger.settle(held, "m1", "completed")
    ledger.start(held, "m2")
    save(world, held, {**PAY, "message_id": "m2"})
    back = resumed(world)
    run = RunCall("m2", "c", "pay", {"eur": 500}, None, None)
    assert back.plan.steps[0] == run
    args = (back.authority, "m2", "c", "pay", {"eur": 500})
    assert ledger.begin_tool_call(*args).state == "fresh"


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


# Requests that nothing but the checkpoint has the arguments of.


def test_an_approved_call_has_the_arguments_of_the_checkpoint_if_they_are_those(
    world: World,
) -> None:
    held = begun(world)
    digest = arguments_digest(PAY["arguments"])
    ask = world.ledger.request_approval
    asked = ask(held, "c", "pay", digest, "policy 1").request_id
    other = ask(held, "d", "pay", digest, "policy 1").request_id
    item: Json = {"call_id": "d", "tool": "pay", "arguments": {"eur": 9}}
    save(world, held, PAY, item)
    for at in (asked, other):
        world.ledger.decide_approval(S, at, "approved", "ann")
    assert of_calls(world) == [
        RunCall("m1", "c", "pay", {"eur": 500}, None, asked),
        RunCall("m1", "d", "pay", None, digest, other),
    ]


def test_a_request_is_of_what_was_acting_when_it_was_made(world: World) -> None:
    held = two(world)
    digest = arguments_digest(PAY["arguments"])
    asked = world.ledger.request_approval(held, "c", "pay", digest, "policy 1")
    world.ledger.start(held, "m2")
    save(world, held, PAY)
    run = RunCall("m1", "c", "pay", {"eur": 500}, None, asked.request_id)
    assert of_calls(world) == [AwaitApproval(asked.request_id, run, None)]


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
