"""Resume plans, call by call: S11, and what the ledger recorded wins."""

from __future__ import annotations

from typing import Any

import pytest

from resuming import ARGUMENTS, S, begun, only, plan, resumed
from tenure import (
    Authority,
    Compact,
    Evidence,
    ExecutionConfig,
    GoOn,
    KeepOutput,
    RunCall,
    RuntimeRestartReactionLoopState,
    TellCall,
    Unstarted,
    arguments_digest,
)
from tenure_gate.recovery.plans import plan_of
from tenure_ledger.snapshots import RestartSnapshot
from worlds import World

PENDING: dict[str, dict[str, Any]] = {
    "a": {"call_id": "a", "tool": "read", "arguments": {"n": 1}},
    "b": {"call_id": "b", "tool": "write", "arguments": {"n": 2}},
    "c": {"call_id": "c", "tool": "write", "arguments": {"n": 3}},
}
DIGEST = arguments_digest(ARGUMENTS)


def loop(**fields: Any) -> RuntimeRestartReactionLoopState:  # noqa: ANN401  any
    return RuntimeRestartReactionLoopState(consecutive_batches=3, **fields)


def of_calls(world: World) -> list[object]:
    """The plan's steps about calls."""
    return [*only(plan(world), KeepOutput, TellCall, RunCall)]


@pytest.mark.parametrize("answered", ["", "a", "ab", "abc"])
def test_s11_each_call_is_accounted_for_by_its_own_id(
    world: World, answered: str
) -> None:
    held = begun(world)
    outputs: list[dict[str, Any]] = [
        {"call_id": at, "output": f"out {at}"} for at in answered
    ]
    payload = loop(
        pending_tool_calls=list(PENDING.values()),
        completed_unpersisted_tool_outputs=outputs,
    )
    world.ledger.save_checkpoint(held, payload)
    steps = plan(world).steps
    kept = [KeepOutput("m1", at["call_id"], at, None) for at in outputs]
    open_set = [at for at in PENDING if at not in answered]
    run = [
        RunCall("m1", at, PENDING[at]["tool"], PENDING[at]["arguments"], None, None)
        for at in open_set
    ]
    assert steps == (*kept, *run, GoOn(("m1",), payload))


def test_s11_started_is_unknown_and_never_started_may_run(world: World) -> None:
    held = begun(world)
    ledger = world.ledger
    payload = loop(
        pending_tool_calls=list(PENDING.values()),
        completed_unpersisted_tool_outputs=[{"call_id": "a", "output": 1}],
    )
    ledger.save_checkpoint(held, payload)
    ledger.begin_tool_call(held, "m1", "b", "write", {"n": 2})
    assert of_calls(world) == [
        KeepOutput("m1", "a", {"call_id": "a", "output": 1}, None),
        TellCall("m1", "b", "unknown"),
        RunCall("m1", "c", "write", {"n": 3}, None, None),
    ]


def test_s11_a_second_answer_adds_nothing_and_a_stray_one_is_kept(
    world: World,
) -> None:
    held = begun(world)
    outputs: list[dict[str, Any]] = [
        {"call_id": "a", "output": "first"},
        {"call_id": "a", "output": "second"},
        {"call_id": "nobody asked", "output": "stray"},
    ]
    payload = loop(
        pending_tool_calls=[PENDING["a"], PENDING["a"], PENDING["b"]],
        completed_unpersisted_tool_outputs=outputs,
    )
    world.ledger.save_checkpoint(held, payload)
    assert of_calls(world) == [
        KeepOutput("m1", "a", outputs[0], None),
        KeepOutput("m1", "nobody asked", outputs[2], None),
        RunCall("m1", "b", "write", {"n": 2}, None, None),
    ]


def test_what_the_ledger_recorded_of_a_call_wins_over_the_checkpoint(
    world: World,
) -> None:
    held = begun(world)
    ledger = world.ledger
    payload = loop(
        pending_tool_calls=[PENDING["a"], PENDING["b"]],
        completed_unpersisted_tool_outputs=[{"call_id": "c", "output": "old"}],
    )
    ledger.save_checkpoint(held, payload)
    for at in "ac":
        one = ledger.begin_tool_call(held, "m1", at, "write", ARGUMENTS)
        ledger.complete_tool_call(held, one, f"result of {at}")
    ledger.intend_tool_call(held, "m1", "b", "write", ARGUMENTS)
    (c, a, b) = of_calls(world)
    assert c == KeepOutput(
        "m1",
        "c",
        {"call_id": "c", "output": "old"},
        arguments_digest("result of c"),
    )
    assert a == KeepOutput("m1", "a", None, arguments_digest("result of a"))
    # Tool and arguments too are those on record.
    assert b == RunCall("m1", "b", "write", None, DIGEST, None)


def test_what_the_checkpoint_could_not_know_is_in_the_plan_all_the_same(
    world: World,
) -> None:
    held = begun(world)
    ledger = world.ledger
    before = ledger.begin_tool_call(held, "m1", "before", "read", {})
    ledger.complete_tool_call(held, before, "in the history already")
    ledger.begin_tool_call(held, "m1", "open", "read", {})
    ledger.save_checkpoint(held, loop())
    after = ledger.begin_tool_call(held, "m1", "after", "read", {})
    ledger.complete_tool_call(held, after, "new")
    ledger.begin_tool_call(held, "m1", "begun", "read", {})
    assert of_calls(world) == [
        TellCall("m1", "open", "unknown"),
        KeepOutput("m1", "after", None, arguments_digest("new")),
        TellCall("m1", "begun", "unknown"),
    ]


def test_a_late_result_is_a_result(world: World) -> None:
    held = begun(world)
    world.ledger.save_checkpoint(held, loop(pending_tool_calls=["x"]))
    world.ledger.begin_tool_call(held, "m1", "x", "read", {})
    first = resumed(world)
    assert [*only(first.plan, TellCall)] == [TellCall("m1", "x", "unknown")]
    world.ledger.late_result(S, "webhook", ("m1", "x"), "it ran")
    assert of_calls(world) == [KeepOutput("m1", "x", None, arguments_digest("it ran"))]


def test_a_call_of_which_nobody_knows_what_it_was_to_do_is_told_and_not_run(
    world: World,
) -> None:
    held = begun(world)
    world.ledger.save_checkpoint(held, loop(pending_tool_calls=["x", {"id": "y"}]))
    assert of_calls(world) == [
        TellCall("m1", "x", "never_started"),
        TellCall("m1", "y", "never_started"),
    ]


def test_calls_in_every_format_in_use_can_be_run(world: World) -> None:
    held = begun(world)
    chat = {"id": "x", "function": {"name": "read", "arguments": '{"n": 1}'}}
    messages = {"type": "tool_use", "id": "y", "name": "read", "input": {"n": 1}}
    world.ledger.save_checkpoint(held, loop(pending_tool_calls=[chat, messages]))
    assert of_calls(world) == [
        RunCall("m1", "x", "read", '{"n": 1}', None, None),
        RunCall("m1", "y", "read", {"n": 1}, None, None),
    ]


def test_a_call_says_which_execution_it_is_of_or_it_is_that_which_began_last(
    world: World,
) -> None:
    held = begun(world)
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    of_first = {**PENDING["a"], "message_id": "m1"}
    on_record = {**PENDING["c"]}
    world.ledger.intend_tool_call(held, "m1", "c", "write", {"n": 3})
    payload = loop(pending_tool_calls=[of_first, PENDING["b"], on_record])
    world.ledger.save_checkpoint(held, payload)
    found = [step for step in plan(world).steps if isinstance(step, RunCall)]
    assert [(step.message_id, step.call_id) for step in found] == [
        ("m1", "a"),
        ("m2", "b"),
        ("m1", "c"),
    ]


def test_a_pending_compaction_is_done_once(world: World) -> None:
    held = begun(world)
    world.ledger.save_checkpoint(held, loop(pending_compact={"from": "m0"}))
    first = resumed(world)
    assert only(first.plan, Compact) == [Compact({"from": "m0"}, 1)]
    world.ledger.history_rewritten(first.authority, 1, "m1")
    assert only(plan(world), Compact) == []


@pytest.mark.parametrize("pending", [None, False, 0, "", []])
def test_no_compaction_is_pending_unless_the_checkpoint_says_so(
    world: World, pending: object
) -> None:
    held = begun(world)
    world.ledger.save_checkpoint(held, loop(pending_compact=pending))
    assert only(plan(world), Compact) == []


def test_the_counters_of_a_lifetime_survive_each_restart(world: World) -> None:
    held = begun(world)
    payload = loop(lifetime_inference_count=40, lifetime_tool_call_count=99)
    world.ledger.save_checkpoint(held, payload)
    for _ in range(3):
        (step,) = only(plan(world), GoOn)
        assert step == GoOn(("m1",), payload)


def test_what_nobody_began_is_the_last_step_in_the_order_in_which_it_came(
    world: World,
) -> None:
    held = begun(world)
    world.ledger.accept(S, "m3", "inbox", human=True)
    world.ledger.admit(held, "m2", "human")
    world.ledger.admit(held, "q", "human", absorbed=["m4", "m5"])
    world.ledger.save_checkpoint(held, loop(), keys=["m1"])
    found = plan(world)
    assert found.keys == ("m1",)
    assert found.steps[-1] == Unstarted(("m3", "m2", "q"))


def test_a_plan_asked_for_again_is_the_same_plan_one_generation_higher(
    world: World,
) -> None:
    held = begun(world)
    payload = loop(pending_tool_calls=list(PENDING.values()), pending_compact="yes")
    world.ledger.save_checkpoint(held, payload, {"model": "large"})
    world.ledger.begin_tool_call(held, "m1", "a", "read", {"n": 1})
    first, second = resumed(world, "p2"), resumed(world, "p3")
    assert second.plan == first.plan
    assert first.plan.execution_config == {"model": "large"}
    generations = [one.authority.generation for one in (first, second)]
    assert generations == [2, 3]
    assert isinstance(held, Authority)


def test_of_what_a_checkpoint_names_only_what_had_begun_goes_on(world: World) -> None:
    held = begun(world)
    world.ledger.admit(held, "m2", "human")
    world.ledger.save_checkpoint(held, loop())
    found = plan(world)
    assert found.steps == (GoOn(("m1",), loop()), Unstarted(("m2",)))


def test_if_nothing_had_begun_all_that_it_names_goes_on(world: World) -> None:
    held = world.ledger.claim(S, "t1", "host")
    world.ledger.admit(held, "m1", "human")
    world.ledger.save_checkpoint(held, loop())
    assert plan(world).steps == (GoOn(("m1",), loop()),)


def test_calls_and_requests_of_other_executions_are_not_in_the_plan(
    world: World,
) -> None:
    held = begun(world)
    ledger = world.ledger
    ledger.admit(held, "m2", "human")
    ledger.intend_tool_call(held, "m2", "theirs", "write", ARGUMENTS)
    ledger.request_approval(held, "theirs", "write", DIGEST, "policy 1")
    ledger.save_checkpoint(held, loop(), keys=["m1"])
    assert plan(world).steps == (GoOn(("m1",), loop()), Unstarted(("m2",)))


def test_a_dispatched_call_is_unknown_for_an_agent_that_came_back_by_itself(
    world: World,
) -> None:
    held = begun(world)
    ledger = world.ledger
    payload = loop(pending_tool_calls=[PENDING["a"]])
    ledger.save_checkpoint(held, payload)
    ledger.begin_tool_call(held, "m1", "a", "read", {"n": 1})
    ledger.take_over(S, "t1", "host", Evidence.gone(ledger.owner(S)))
    snapshot = RestartSnapshot(payload, ExecutionConfig(), None)
    found = plan_of(ledger.fresh_state(S), snapshot, world.now)
    assert found.steps == (TellCall("m1", "a", "unknown"), GoOn(("m1",), payload))
