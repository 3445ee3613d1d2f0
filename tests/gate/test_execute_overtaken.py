"""The reference executor: what was decided since the plan was made stands."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from executing import Host, go, run, run_of, wait_for
from resuming import S, ask, begun, plan, resumed
from tenure import (
    AwaitApproval,
    ChatExecutionKey,
    Compact,
    GoOn,
    InvalidInput,
    Json,
    QueuedMessage,
    QueueSubmission,
    ResumePlan,
    Rewritten,
    RunCall,
    RunJob,
    RuntimeRestartReactionLoopState,
    TellCall,
    Unstarted,
    execute_plan,
)
from tenure_ledger.values import ReplayReason
from worlds import World

GO_ON = GoOn(("m1",), None)
PARTS = tuple(QueuedMessage(at, None, None) for at in ("q0", "q1", "q2"))


def test_what_was_approved_while_its_time_ran_out_is_run(world: World) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    world.ledger.decide_approval(S, wait.request_id, "approved", "ann")
    asked = go(world, held, wait._replace(seconds_left=0.0), GO_ON)
    assert asked[-2:] == [("kept", "x", "ran x"), GO_ON]
    assert ("shown", wait.request_id) not in asked


def test_what_nobody_decided_in_time_is_closed_and_told_without_asking(
    world: World,
) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    asked = go(world, held, wait._replace(seconds_left=0.0), GO_ON)
    assert asked == [("told", "x", "expired"), GO_ON]
    closed = world.ledger.approval(S, wait.request_id)
    assert closed is not None
    assert (closed.reason, closed.decision) == ("expired", None)


def test_a_call_that_was_told_as_not_run_is_run_by_no_later_plan(
    world: World,
) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    world.ledger.decide_approval(S, request, "approved", "ann")
    payload = RuntimeRestartReactionLoopState(
        consecutive_batches=1, pending_tool_calls=["x"]
    )
    world.ledger.save_checkpoint(held, payload)
    one = resumed(world)
    assert isinstance(one.plan.steps[0], RunCall)
    work = execute_plan(
        world.ledger, one.authority, one.plan, Host(), policy_version="policy 2"
    )
    asyncio.run(work)
    assert plan(world).steps[0] == TellCall("m1", "x", "void")


@pytest.mark.parametrize("reason", ["user_cancelled", "context_reset"])
def test_what_was_cancelled_since_is_not_gone_on_with_and_the_rest_is(
    world: World, reason: ReplayReason
) -> None:
    """Begun work is not settled by its cancel: the host is not asked all the same."""
    held = begun(world)
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    world.ledger.bar_replay(S, reason, "ann", ["m1"])
    assert go(world, held, GO_ON, GoOn(("m1", "m2"), None)) == [GoOn(("m2",), None)]
    job = RunJob("nightly", None, 1, 1, ("m1",))
    assert go(world, held, job, job._replace(keys=("m2",))) == [
        job._replace(keys=("m2",))
    ]
    queued = QueueSubmission(QueuedMessage("m1", None, None), (), admitted=True)
    assert go(world, held, queued) == []
    world.ledger.settle(held, "m2", "failed")
    assert go(world, held, GoOn(("m1", "m2"), None)) == []


def test_a_reason_that_is_no_cancel_holds_nobody_up(world: World) -> None:
    """It forbids the next restart to run it again; this run goes on."""
    held = begun(world)
    world.ledger.bar_replay(S, "model_switch", "host", ["m1"])
    world.ledger.mark_output_started(held, "m1")
    assert go(world, held, GO_ON) == [GO_ON]


def test_of_a_submission_that_cannot_be_whole_the_rest_is_queued(
    world: World,
) -> None:
    held = begun(world)
    for at in ("q0", "q1", "q2"):
        world.ledger.accept(S, at, "inbox", human=True)
    step = QueueSubmission(QueuedMessage("q", None, None), PARTS, admitted=False)
    world.ledger.bar_replay(S, "user_cancelled", "ann", ["q1"])
    assert go(world, held, step, GO_ON) == [Unstarted(("q0", "q2")), GO_ON]
    known = world.ledger.execution(ChatExecutionKey("ses_1", "q0"))
    assert known is not None
    assert not known.admitted


def test_a_part_that_was_cancelled_meanwhile_is_not_queued(world: World) -> None:
    held = begun(world)
    for at in ("q0", "q1", "q2"):
        world.ledger.accept(S, at, "inbox", human=True)
    world.ledger.admit(held, "q", "human", absorbed=["q0", "q1", "q2"])
    step = QueueSubmission(QueuedMessage("q", None, None), PARTS, admitted=True)
    world.ledger.bar_replay(S, "user_cancelled", "ann", ["q1"])
    rest = step._replace(absorbed=(PARTS[0], PARTS[2]))
    assert go(world, held, step, GO_ON) == [rest, GO_ON]
    world.ledger.bar_replay(S, "user_cancelled", "ann", ["q"])
    assert go(world, held, step, GO_ON) == [GO_ON]


def test_what_was_begun_or_cancelled_meanwhile_is_not_queued(world: World) -> None:
    held = begun(world)
    for at in ("q0", "q1", "q2"):
        world.ledger.admit(held, at, "human")
    world.ledger.start(held, "q0")
    world.ledger.bar_replay(S, "user_cancelled", "ann", ["q1"])
    step = Unstarted(("q0", "q1", "q2"))
    assert go(world, held, step) == [Unstarted(("q2",))]
    assert go(world, held, Unstarted(("q0", "q1"))) == []


def test_a_compaction_that_is_on_record_by_now_is_not_done_again(
    world: World,
) -> None:
    held = begun(world)
    world.ledger.history_rewritten(held, 1, "m1")
    assert go(world, held, Compact("please", 1), GO_ON) == [GO_ON]


def test_a_rewrite_that_came_during_the_compaction_stands(world: World) -> None:
    held = begun(world)

    class Slow(Host):
        async def compact(self, step: Compact) -> Rewritten:
            world.ledger.history_rewritten(held, 2, "m1")
            return await super().compact(step)

    asked = go(world, held, Compact("please", 1), GO_ON, host=Slow())
    assert asked[-1] == GO_ON
    rewrite = world.ledger.fresh_state(S).relay.rewrite
    assert rewrite is not None
    assert rewrite.generation == 2


def test_a_result_that_came_from_elsewhere_while_the_tool_ran_stands(
    world: World,
) -> None:
    held = begun(world)
    host = Host()

    def answered(step: RunCall) -> Json:
        world.ledger.complete_tool_call(held, ("m1", step.call_id), "by webhook")
        return "by the tool"

    host.when_run = answered
    asked = go(world, held, run("x"), GO_ON, host=host)
    assert asked[-2:] == [("kept", "x", "by webhook"), GO_ON]


def test_a_call_that_cannot_be_made_is_told_and_the_others_are_run(
    world: World,
) -> None:
    held = begun(world)
    nameless = run("x")._replace(message_id="")
    long = run("y")._replace(tool="t" * 300)
    asked = go(world, held, nameless, long, run("z"), GO_ON)
    told = [at for at in asked if at[0] == "told"]
    assert told == [("told", "x", "never_started"), ("told", "y", "never_started")]
    assert asked[-2:] == [("kept", "z", "ran z"), GO_ON]


def test_a_host_that_dies_between_settling_and_clearing_pays_once(
    world: World,
) -> None:
    held = begun(world)
    world.ledger.admit(held, "m2", "human")
    items: list[Json] = [
        {"call_id": at, "tool": "pay", "arguments": {"to": at}} for at in "ab"
    ]
    payload = RuntimeRestartReactionLoopState(
        consecutive_batches=1, pending_tool_calls=items
    )
    world.ledger.save_checkpoint(held, payload)
    one = world.ledger.begin_tool_call(held, "m1", "a", "pay", {"to": "a"})
    world.ledger.complete_tool_call(held, one, "paid")
    first = resumed(world)

    class Dies(Host):
        async def go_on(self, step: GoOn) -> None:
            await super().go_on(step)
            world.ledger.settle(first.authority, "m1", "completed")
            raise KeyboardInterrupt

    host, then = Dies(), Host()
    with pytest.raises(KeyboardInterrupt):
        run_of(world, first, host)
    run_of(world, resumed(world, "p3"), then)
    ran = [at[1] for at in (*host.asked, *then.asked) if at[0] == "ran"]
    assert ran == ["b"]
    assert then.asked[:2] == [("kept", "a", "paid"), ("kept", "b", "ran b")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ledger": None},
        {"authority": None},
        {"plan": None},
        {"plan": ResumePlan(None, (), (5,), None, None)},  # type: ignore[arg-type]
        {"host": None},
        {"host": 7},
        {"policy_version": 5},
        {"policy_version": ""},
    ],
    ids=str,
)
def test_what_cannot_be_carried_out_is_refused_before_anything_is_done(
    world: World, wrong: dict[str, Any]
) -> None:
    held, host = begun(world), Host()
    given: dict[str, Any] = {
        "ledger": world.ledger,
        "authority": held,
        "plan": ResumePlan(None, (), (GO_ON,), None, None),
        "host": host,
        **wrong,
    }
    with pytest.raises(InvalidInput):
        asyncio.run(execute_plan(**given))
    assert host.asked == []


@pytest.mark.parametrize("seconds_left", [0.0, None])
def test_a_request_that_nobody_knows_holds_up_nothing(
    world: World, seconds_left: float | None
) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    lost = AwaitApproval("no such request", wait.call, seconds_left)
    assert go(world, held, lost, GO_ON) == [("told", "x", "void"), GO_ON]
