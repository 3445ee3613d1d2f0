"""Calls, approvals and messages that a restart ends, each in the same step."""

from __future__ import annotations

import pytest

from recovering import PAYLOADS, SESSION, again, begin, restart, the
from resuming import ARGUMENTS, ask
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    Closed,
    Evidence,
    Fact,
    Resumed,
    RuntimeRestartReactionLoopState,
    RuntimeRestartToolApprovalWait,
    arguments_digest,
)
from tenure_gate.recovery.steps import AwaitApproval, TellCall
from tenure_ledger.bodies import Json
from tenure_ledger.decisions.recovering.command import Answers
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
ANSWERS = Answers()


def wait(world: World, held: Authority, milliseconds: int | None) -> None:
    """Save a wait of which so much is left."""
    world.ledger.save_checkpoint(
        held,
        RuntimeRestartToolApprovalWait(
            wait_started_at_ms=0,
            timeout_remaining_ms=milliseconds,
            dispatched_before_restart=False,
        ),
    )


def request(world: World, held: Authority, call: str) -> str:
    """Ask a person about a call that is not on record."""
    digest = arguments_digest(ARGUMENTS)
    return world.ledger.request_approval(held, call, "write", digest, "p").request_id


@pytest.mark.parametrize("by", ["recovery", "its own agent"])
@pytest.mark.parametrize("intended", [True, False])
@pytest.mark.parametrize(("decided", "reason"), [(True, "void"), (False, "cut")])
def test_what_the_ended_message_asked_for_is_closed_with_it(
    world: World, by: str, reason: str, *, intended: bool, decided: bool
) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    kept = ask(world, held, "c1")
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    if intended:
        world.ledger.intend_tool_call(held, "m2", "c9", "write", ARGUMENTS)
    dead = request(world, held, "c9")
    if decided:
        world.ledger.decide_approval(SESSION, dead, "approved", "ann")
    if by == "recovery":
        restart(world)
    else:
        gone = Evidence.gone(world.ledger.owner(SESSION), "restarted")
        world.open("p2").take_over(SESSION, "manager/1", "host", gone)
    seen = world.ledger.owner(SESSION)
    assert [one.request_id for one in seen.open_approvals] == [kept]
    assert [(one.key, one.call_id) for one in seen.open_calls] == [("m1", "c1")]
    closed = world.ledger.approval(SESSION, dead)
    assert closed is not None
    assert closed.reason == reason
    with world.refuses(AlreadyDecided):
        world.ledger.decide_approval(SESSION, dead, "denied", "ann")


def test_a_request_that_two_messages_may_have_made_lives_while_one_goes_on(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    asked = ask(world, held, "c1")
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    world.ledger.intend_tool_call(held, "m2", "c1", "write", ARGUMENTS)
    restart(world)
    (still,) = world.ledger.owner(SESSION).open_approvals
    assert still.request_id == asked


@pytest.mark.parametrize("seconds", [59, 60, 3600])
def test_a_stored_wait_runs_out_in_the_step_that_resumes_it(
    world: World, seconds: int
) -> None:
    held = begin(world.ledger)
    asked = ask(world, held, "c1")
    wait(world, held, 60_000)
    world.pass_seconds(seconds)
    plan = the(restart(world), Resumed).plan
    if seconds < 60:
        (step,) = [one for one in plan.steps if isinstance(one, AwaitApproval)]
        assert step.seconds_left == 60 - seconds
        return
    assert TellCall("m1", "c1", "expired") in plan.steps
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.decide_approval(SESSION, asked, "approved", "ann")
    assert refusal.value.first == "expired"


def test_a_clock_that_went_back_and_a_decision_in_time_let_nothing_run_out(
    world: World,
) -> None:
    held = begin(world.ledger)
    ask(world, held, "c1")
    wait(world, held, 60_000)
    world.pass_seconds(-3600)
    assert any(
        isinstance(s, AwaitApproval) for s in the(restart(world), Resumed).plan.steps
    )
    (asked,) = world.ledger.owner(SESSION).open_approvals
    world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    world.pass_seconds(7200)
    gone = Evidence.gone(world.ledger.owner(SESSION), "gone")
    world.ledger.settle_recovery(
        world.ledger.fresh_state(SESSION), gone, ANSWERS, "recovery"
    )
    (still,) = world.ledger.owner(SESSION).open_approvals
    assert still.decision == "approved"


def test_an_output_in_the_checkpoint_is_of_one_message_s_call(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    world.ledger.begin_tool_call(held, "m1", "call_0", "pay", {})
    world.ledger.begin_tool_call(held, "m2", "call_0", "read", {})
    output: Json = {"call_id": "call_0", "message_id": "m2", "output": "text"}
    world.ledger.save_checkpoint(
        held,
        RuntimeRestartReactionLoopState(
            consecutive_batches=1, completed_unpersisted_tool_outputs=[output]
        ),
    )
    restart(world)
    (notice,) = world.ledger.pending_notices(SESSION)
    assert notice.facts == (
        Fact(kind="outcome_unknown", key="m1", call_id="call_0", tool="pay"),
    )
    (still,) = world.ledger.owner(SESSION).open_calls
    assert still.key == "m2"


def test_a_discarded_checkpoint_keeps_no_outputs(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.begin_tool_call(held, "m1", "x", "pay", {})
    world.ledger.save_checkpoint(
        held,
        RuntimeRestartReactionLoopState(
            consecutive_batches=1,
            completed_unpersisted_tool_outputs=[{"call_id": "x", "output": "done"}],
        ),
    )
    world.ledger.settle(held, "m1", "completed")
    gone = Evidence.gone(world.ledger.owner(SESSION), "gone")
    state = world.ledger.fresh_state(SESSION)
    world.ledger.settle_recovery(state, gone, ANSWERS, "recovery")
    assert world.ledger.owner(SESSION).open_calls == ()
    (notice,) = world.ledger.pending_notices(SESSION)
    assert [fact.call_id for fact in notice.facts] == ["x"]


def test_what_was_taken_into_a_message_that_goes_on_goes_on_with_it(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2", into="m1")
    resumed = the(restart(world), Resumed)
    assert world.ledger.pending_notices(SESSION) == []
    world.ledger.settle(resumed.authority, "m1", "completed")
    taken = world.ledger.execution(ChatExecutionKey("ses_1", "m2"))
    assert taken is not None
    assert taken.outcome == "completed"


def test_a_call_begins_its_message_so_that_it_is_not_run_as_new(world: World) -> None:
    held = world.ledger.claim(SESSION, "manager/1", "host")
    world.ledger.admit(held, "m1", "human")
    with world.writes() as lines:
        world.ledger.begin_tool_call(held, "m1", "c1", "pay", {})
    assert lines[0] == "ses_1 ExecutionStarted@1 m1"
    assert the(restart(world), Closed).reasons == ("no_checkpoint",)
    (notice,) = world.ledger.pending_notices(SESSION)
    assert [fact.kind for fact in notice.facts] == ["unfinished", "outcome_unknown"]
    again(world)
