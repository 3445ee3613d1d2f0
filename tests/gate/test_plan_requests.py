"""Resume plans: which call a person was asked about."""

from __future__ import annotations

from broken_loops import PAY, of_calls, save, two
from resuming import ARGUMENTS, S, ask, begun, only, plan, resumed
from tenure import (
    AwaitApproval,
    Json,
    RunCall,
    RuntimeRestartToolApprovalWait,
    arguments_digest,
)
from worlds import World

PAID = arguments_digest("paid")
DIGEST = arguments_digest(ARGUMENTS)


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


def test_a_request_is_of_the_call_with_its_tool_and_arguments(world: World) -> None:
    held = two(world, started=True)
    asked = ask(world, held, "c")
    world.ledger.intend_tool_call(held, "m2", "c", "read", {})
    items: list[Json] = [{"call_id": "c", "message_id": at} for at in ("m1", "m2")]
    save(world, held, *items)
    run = RunCall("m1", "c", "write", None, DIGEST, asked)
    assert of_calls(world) == [
        AwaitApproval(asked, run, None),
        RunCall("m2", "c", "read", None, arguments_digest({}), None),
    ]


def test_an_approval_that_one_call_used_says_nothing_of_the_same_call_of_another(
    world: World,
) -> None:
    held, ledger = two(world, started=True), world.ledger
    asked = ask(world, held, "c")
    ledger.decide_approval(S, asked, "approved", "ann")
    one = ledger.begin_tool_call(held, "m1", "c", "write", ARGUMENTS, asked)
    ledger.complete_tool_call(held, one, "done")
    ledger.intend_tool_call(held, "m2", "c", "write", ARGUMENTS)
    save(world, held, {"call_id": "c", "message_id": "m2"})
    assert of_calls(world) == [RunCall("m2", "c", "write", None, DIGEST, None)]


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
