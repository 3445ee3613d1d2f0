"""Markers and bars: what must not run again (design section 7.2)."""

from __future__ import annotations

from typing import get_args

import pytest

from scenes import JOB, KID, LOOP, ONE, SESSION, TWO
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    First,
    NotAdmitted,
    NotFound,
    OwnerEnded,
    OwnerRef,
    UnknownOwner,
)
from tenure_ledger.values import ReplayReason
from worlds import World

REASONS: tuple[ReplayReason, ...] = get_args(ReplayReason)
CANCELLING: tuple[ReplayReason, ...] = (
    "user_cancelled",
    "user_cancelled_whole_stream",
    "context_reset",
    "agent_closed",
)
WHOLE: tuple[ReplayReason, ...] = ("user_cancelled_whole_stream", "agent_closed")


def begin(world: World) -> Authority:
    """Give a term with one message that runs, one that waits, one accepted."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("run", "human"))
    world.ledger.start(held, "run")
    world.ledger.admit(held, "queue", "human")
    world.ledger.accept(SESSION, "wait", "gateway", human=True)
    return held


def outcome(world: World, key: str) -> str | None:
    """Return how the session's message was settled."""
    found = world.ledger.execution(ChatExecutionKey("ses_1", key))
    assert found is not None
    return found.outcome


def test_the_marker_is_written_once_and_only_for_what_runs(world: World) -> None:
    held = begin(world)
    at = world.ledger.mark_output_started(held, "run")
    with world.writes() as lines:
        assert world.ledger.mark_output_started(held, "run") == at
        world.ledger.settle(held, "run", "completed")
        assert world.ledger.mark_output_started(held, "run") == at
    assert lines == ["ses_1 ExecutionSettled@1 run completed"]
    with world.refuses(NotAdmitted):
        world.ledger.mark_output_started(held, "wait")
    world.ledger.settle(held, "queue", "failed")
    with world.refuses(AlreadyDecided):
        world.ledger.mark_output_started(held, "queue")


def test_the_marker_of_an_absorbed_key_is_that_of_its_execution(
    world: World,
) -> None:
    held = begin(world)
    world.ledger.admit(held, "q", "continue_relay", absorbed=["wait"])
    with world.writes() as lines:
        at = world.ledger.mark_output_started(held, "wait")
        assert world.ledger.mark_output_started(held, "q") == at
    assert lines == ["ses_1 ExecutionStarted@1 q", "ses_1 OutputStarted@1 q"]


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("keys", [None, ["run", "queue", "wait"]])
def test_what_a_person_wants_no_more_and_nobody_started_is_cancelled(
    world: World, reason: ReplayReason, keys: list[str] | None
) -> None:
    begin(world)
    with world.writes() as lines:
        world.ledger.bar_replay(SESSION, reason, "ann", keys)
    cancelled = [
        "ses_1 ExecutionSettled@1 queue cancelled",
        "ses_1 ExecutionSettled@1 wait cancelled",
    ]
    expected = cancelled if reason in CANCELLING else []
    assert lines == [*expected, f"ses_1 ReplayBarred@1 {reason}"]


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("keys", [None, ["run"]])
def test_a_bar_asked_again_adds_nothing_until_there_is_more_to_cover(
    world: World, reason: ReplayReason, keys: list[str] | None
) -> None:
    held = begin(world)
    at = world.ledger.bar_replay(SESSION, reason, "ann", keys)
    with world.writes() as lines:
        assert world.ledger.bar_replay(SESSION, reason, "ann", keys) == at
    assert lines == []
    world.ledger.admit(held, "more", "human")
    with world.writes() as lines:
        world.ledger.bar_replay(SESSION, reason, "ann", keys)
    assert bool(lines) is (keys is None)


@pytest.mark.parametrize("reason", REASONS)
def test_barred_work_calls_no_tools(world: World, reason: ReplayReason) -> None:
    held = begin(world)
    call = world.ledger.begin_tool_call(held, "run", "before", "read", {})
    at = world.ledger.bar_replay(SESSION, reason, "ann")
    with world.refuses(NotAdmitted) as refusal:
        world.ledger.begin_tool_call(held, "run", "after", "read", {})
    assert refusal.value.evidence == {"key": "run", "reason": reason, "version": at}
    with world.refuses(NotAdmitted):
        world.ledger.intend_tool_call(held, "run", "after", "read", {})
    world.ledger.complete_tool_call(held, call, "text")
    world.ledger.admit(held, "anew", "human")
    assert world.ledger.begin_tool_call(held, "anew", "c", "read", {}).state == "fresh"


@pytest.mark.parametrize("reason", CANCELLING)
def test_running_work_that_is_cancelled_is_settled_by_what_ends_it(
    world: World, reason: ReplayReason
) -> None:
    held = begin(world)
    world.ledger.bar_replay(SESSION, reason, "ann")
    assert outcome(world, "run") is None
    world.ledger.retire(held, "continue")
    assert outcome(world, "run") == "cancelled"
    assert world.ledger.pending_notices(SESSION) == []


def test_a_settled_execution_is_never_in_question_again(world: World) -> None:
    held = begin(world)
    world.ledger.settle(held, "run", "completed")
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["run"])
    assert outcome(world, "run") == "completed"


def test_a_bar_names_only_what_is_known(world: World) -> None:
    with world.refuses(UnknownOwner):
        world.ledger.bar_replay(SESSION, "model_switch", "ann")
    begin(world)
    with world.refuses(NotFound) as refusal:
        world.ledger.bar_replay(SESSION, "model_switch", "ann", ["run", "none"])
    assert (refusal.value.kind, refusal.value.id) == ("execution", "none")


def test_nothing_runs_on_a_terminal_owner_but_what_waits_can_be_cancelled(
    world: World,
) -> None:
    held = begin(world)
    world.ledger.terminate(held, "done", "ok")
    with world.writes() as lines:
        world.ledger.bar_replay(SESSION, "user_cancelled", "ann")
    assert lines == [
        "ses_1 ExecutionSettled@1 queue cancelled",
        "ses_1 ExecutionSettled@1 wait cancelled",
        "ses_1 ReplayBarred@1 user_cancelled",
    ]
    with world.refuses(OwnerEnded):
        world.ledger.bar_replay(SESSION, "model_switch", "ann")


def family(world: World) -> tuple[Authority, Authority]:
    """Spawn a child with a running message, and its child with a waiting one."""
    held = begin(world)
    kid = world.ledger.spawn(held, KID, "kid/1", author="host")
    world.ledger.admit(kid, "task", "assistant_run")
    world.ledger.start(kid, "task")
    grandkid = OwnerRef("subagent", "kid_2")
    below = world.ledger.spawn(kid, grandkid, "kid/2", author="kid")
    world.ledger.admit(below, "task", "assistant_run")
    return held, kid


@pytest.mark.parametrize("reason", REASONS)
def test_a_bar_over_the_whole_stream_reaches_every_descendant(
    world: World, reason: ReplayReason
) -> None:
    _, kid = family(world)
    world.ledger.claim(JOB, TWO, "host", first=First("task", "human"))
    with world.writes() as lines:
        world.ledger.bar_replay(SESSION, reason, "ann")
        world.ledger.bar_replay(SESSION, reason, "ann")
    below = [
        f"kid_1 ReplayBarred@1 {reason}",
        "kid_2 ExecutionSettled@1 task cancelled",
        f"kid_2 ReplayBarred@1 {reason}",
    ]
    found = [one for one in lines if not one.startswith("ses_1")]
    assert found == (below if reason in WHOLE else [])
    if reason in WHOLE:
        with world.refuses(NotAdmitted):
            world.ledger.begin_tool_call(kid, "task", "c1", "read", {})


@pytest.mark.parametrize("reason", WHOLE)
def test_a_child_spawned_after_the_bar_is_free(
    world: World, reason: ReplayReason
) -> None:
    held, _ = family(world)
    world.ledger.bar_replay(SESSION, reason, "ann")
    late = OwnerRef("subagent", "late")
    free = world.ledger.spawn(held, late, "kid/9", author="host")
    world.ledger.admit(free, "task", "assistant_run")
    assert world.ledger.begin_tool_call(free, "task", "c", "read", {}).state == "fresh"


def test_a_bar_skips_descendants_that_ended(world: World) -> None:
    _, kid = family(world)
    world.ledger.terminate(kid, "done", "ok")
    with world.writes() as lines:
        world.ledger.bar_replay(SESSION, "agent_closed", "ann")
    assert not any(one.startswith("kid_1") for one in lines)
    assert "kid_2 ReplayBarred@1 agent_closed" in lines


def test_a_newer_checkpoint_is_more_to_cover(world: World) -> None:
    held = begin(world)
    at = world.ledger.bar_replay(SESSION, "model_switch", "ann")
    world.ledger.save_checkpoint(held, LOOP, keys=[])
    assert world.ledger.bar_replay(SESSION, "model_switch", "ann") > at
