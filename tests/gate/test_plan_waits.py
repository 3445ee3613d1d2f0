"""Resume plans of a wait for a person: S17 and S18, the plan's part; S12."""

from __future__ import annotations

import pytest

from resuming import ARGUMENTS, S, ask, begun, only, plan, resumed
from tenure import (
    Authority,
    AwaitApproval,
    CloseApproval,
    ExecutionConfig,
    GoOn,
    KeepOutput,
    RunCall,
    RuntimeRestartToolApprovalWait,
    TellCall,
    arguments_digest,
)
from tenure_gate.recovery.plans import plan_of
from tenure_ledger.snapshots import RestartSnapshot
from worlds import World

DIGEST = arguments_digest(ARGUMENTS)
GO_ON = GoOn(("m1",), None)


def wait(
    world: World,
    held: Authority,
    left: float | None = 60,
    *,
    dispatched: bool = False,
) -> None:
    """Save the wait, with so many seconds of it left."""
    payload = RuntimeRestartToolApprovalWait(
        wait_started_at_ms=round(world.now.timestamp() * 1000),
        timeout_remaining_ms=None if left is None else round(left * 1000),
        dispatched_before_restart=dispatched,
    )
    world.ledger.save_checkpoint(held, payload)


def run(call: str, approval: str | None) -> RunCall:
    return RunCall("m1", call, "write", None, DIGEST, approval)


@pytest.mark.parametrize("timeout", [None, 60.0])
def test_s18_after_ten_seconds_it_waits_on_under_the_same_request(
    world: World, timeout: float | None
) -> None:
    held = begun(world)
    request = ask(world, held, "x", timeout)
    wait(world, held)
    world.pass_seconds(10)
    steps = plan(world).steps
    assert steps == (AwaitApproval(request, run("x", request), 50.0), GO_ON)


def test_s18_no_crash_loop_makes_the_wait_longer(world: World) -> None:
    held = begun(world)
    ask(world, held, "x")
    wait(world, held)
    left: list[float | None] = []
    for _ in range(3):
        world.pass_seconds(10)
        (step,) = only(plan(world), AwaitApproval)
        assert isinstance(step, AwaitApproval)
        left.append(step.seconds_left)
    assert left == [50.0, 40.0, 30.0]


def test_s18_a_clock_that_went_back_gives_nothing_more(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x", 60)
    wait(world, held, 45)
    world.pass_seconds(-3600)
    (step,) = only(plan(world), AwaitApproval)
    assert step == AwaitApproval(request, run("x", request), 45.0)


def test_s18_after_two_hours_it_is_expired_and_not_denied(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    wait(world, held)
    world.pass_seconds(7200)
    assert plan(world).steps == (TellCall("m1", "x", "expired"), GO_ON)
    closed = world.ledger.approval(S, request)
    assert closed is not None
    assert (closed.reason, closed.decision) == ("expired", None)


def test_s18_a_wait_that_runs_out_behind_the_recovery_has_nothing_left(
    world: World,
) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    wait(world, held)
    resumed(world)
    world.pass_seconds(7200)
    payload = RuntimeRestartToolApprovalWait(
        wait_started_at_ms=0,
        timeout_remaining_ms=60_000,
        dispatched_before_restart=False,
    )
    snapshot = RestartSnapshot(payload, ExecutionConfig(), None)
    found = plan_of(world.ledger.fresh_state(S), snapshot, world.now)
    # Closed by whoever carries it out, unless it was decided meanwhile.
    assert found.steps == (AwaitApproval(request, run("x", request), 0.0), GO_ON)


def test_s18_what_the_ledger_saw_expire_is_told_as_expired(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x", 60)
    wait(world, held)
    world.pass_seconds(7200)
    first = resumed(world)
    told = [*first.plan.steps][-2:]
    assert told == [TellCall("m1", "x", "expired"), GO_ON]
    world.ledger.close_approval(first.authority, request, "expired")
    closed = world.ledger.approval(S, request)
    assert closed is not None
    assert (closed.reason, closed.decision) == ("expired", None)
    assert plan(world).steps == (TellCall("m1", "x", "expired"), GO_ON)


@pytest.mark.parametrize("later", [0, 10, 7200])
def test_s18_a_stored_decision_is_used_however_late(world: World, later: int) -> None:
    held = begun(world)
    request = ask(world, held, "x", 60)
    wait(world, held)
    world.ledger.decide_approval(S, request, "approved", "ann")
    world.pass_seconds(later)
    one = resumed(world)
    assert one.plan.steps == (run("x", request), GO_ON)
    # The one-time allowance: used once, and gone.
    ledger = world.ledger
    call = ledger.begin_tool_call(one.authority, "m1", "x", "write", ARGUMENTS, request)
    assert call.state == "fresh"
    ledger.complete_tool_call(one.authority, call, "done")
    kept = KeepOutput("m1", "x", None, arguments_digest("done"))
    assert plan(world).steps == (kept, GO_ON)


def test_a_denial_is_told(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    wait(world, held)
    world.ledger.decide_approval(S, request, "denied", "ann")
    assert plan(world).steps == (TellCall("m1", "x", "denied"), GO_ON)


def test_s17_step_3_both_decisions_are_consumed_by_one_resume(world: World) -> None:
    held = begun(world)
    x, y, z = (ask(world, held, call) for call in "xyz")
    wait(world, held)
    world.ledger.decide_approval(S, x, "approved", "ann")
    world.ledger.decide_approval(S, y, "denied", "ann")
    assert plan(world).steps == (
        run("x", x),
        TellCall("m1", "y", "denied"),
        AwaitApproval(z, run("z", z), 60.0),
        GO_ON,
    )


def test_of_several_waits_each_has_its_own_time(world: World) -> None:
    held = begun(world)
    short, long = ask(world, held, "x", 20), ask(world, held, "y", 600)
    wait(world, held, 20)
    world.pass_seconds(10)
    assert [*only(plan(world), AwaitApproval)] == [
        AwaitApproval(short, run("x", short), 10.0),
        AwaitApproval(long, run("y", long), 590.0),
    ]


def test_s12_dispatched_before_the_restart_is_unknown_and_never_run_again(
    world: World,
) -> None:
    held = begun(world)
    world.ledger.intend_tool_call(held, "m1", "x", "write", ARGUMENTS)
    wait(world, held, dispatched=True)
    assert plan(world).steps == (TellCall("m1", "x", "unknown"), GO_ON)


def test_s12_not_dispatched_may_run(world: World) -> None:
    held = begun(world)
    world.ledger.intend_tool_call(held, "m1", "x", "write", ARGUMENTS)
    wait(world, held)
    assert plan(world).steps == (run("x", None), GO_ON)


def test_a_request_whose_call_may_have_run_is_not_left_open(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    wait(world, held, dispatched=True)
    first = resumed(world)
    assert first.plan.steps == (
        CloseApproval(request, "void"),
        TellCall("m1", "x", "unknown"),
        GO_ON,
    )
    world.ledger.close_approval(first.authority, request, "void")
    assert plan(world).steps == (TellCall("m1", "x", "unknown"), GO_ON)


def test_what_the_ledger_saw_dispatched_is_unknown_whatever_the_checkpoint_says(
    world: World,
) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    wait(world, held)
    world.ledger.decide_approval(S, request, "approved", "ann")
    world.ledger.begin_tool_call(held, "m1", "x", "write", ARGUMENTS, request)
    assert plan(world).steps == (TellCall("m1", "x", "unknown"), GO_ON)


def test_a_wait_without_time_out_has_all_the_time(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    wait(world, held, None)
    world.pass_seconds(10**6)
    (step,) = only(plan(world), AwaitApproval)
    assert step == AwaitApproval(request, run("x", request), None)


def test_a_request_without_a_call_on_record_is_waited_for_too(world: World) -> None:
    held = begun(world)
    asked = world.ledger.request_approval(held, "x", "write", DIGEST, "policy 1")
    wait(world, held)
    expected = AwaitApproval(asked.request_id, run("x", asked.request_id), 60.0)
    assert plan(world).steps == (expected, GO_ON)


def test_what_was_denied_before_the_checkpoint_is_not_told_again(
    world: World,
) -> None:
    held = begun(world)
    old = ask(world, held, "old")
    world.ledger.decide_approval(S, old, "denied", "ann")
    request = ask(world, held, "x")
    wait(world, held)
    assert plan(world).steps == (
        AwaitApproval(request, run("x", request), 60.0),
        GO_ON,
    )
