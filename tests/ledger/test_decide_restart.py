"""Take-over by the owner's own agent settles as 7.2 and 7.3 say, in one step."""

from __future__ import annotations

import pytest

from scenes import LOOP, ONE, SESSION
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    Evidence,
    FencedOut,
    First,
    Notice,
)
from tenure_ledger.values import ReplayReason
from worlds import World


def begin(world: World) -> Authority:
    """Give a term with two messages that run and one that waits."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.admit(held, "m2", "human")
    world.ledger.admit(held, "m3", "human")
    world.ledger.start(held, "m1")
    world.ledger.start(held, "m2")
    return held


def restart(world: World, first: First | None = None) -> Authority:
    """Come back as the same agent, in another process."""
    evidence = Evidence.gone(world.ledger.owner(SESSION), "the daemon was restarted")
    return world.open("p2").take_over(SESSION, ONE, "rescuer", evidence, first=first)


def told(world: World) -> list[tuple[tuple[str, ...], list[tuple[str, str | None]]]]:
    """Return reasons and facts of every notice that waits."""
    found: list[Notice] = world.ledger.pending_notices(SESSION)
    return [
        (one.reasons, [(fact.kind, fact.key) for fact in one.facts]) for one in found
    ]


def test_without_bars_and_checkpoint_nothing_is_settled(world: World) -> None:
    begin(world)
    with world.writes() as lines:
        held = restart(world)
    assert lines == ["ses_1 GenerationAdvanced@2 instance_restart"]
    assert world.ledger.owner(SESSION).process == "p2"
    world.ledger.settle(held, "m1", "completed")
    world.ledger.start(held, "m3")


def test_what_output_began_for_is_closed_and_told(world: World) -> None:
    held = begin(world)
    world.ledger.mark_output_started(held, "m1")
    with world.writes() as lines:
        restart(world)
    assert lines == [
        "ses_1 ExecutionSettled@1 m1 closed_in_recovery",
        "ses_1 GenerationAdvanced@2 instance_restart",
        "ses_1 NoticeIssued@2 instance_restart",
    ]
    assert told(world) == [
        (
            ("visible_output_started",),
            [("unfinished", "m1"), ("output_may_have_been_seen", "m1")],
        )
    ]


@pytest.mark.parametrize("reason", ["model_switch", "runtime_work_reap"])
def test_what_a_bar_covers_is_closed_and_its_checkpoint_cleared(
    world: World, reason: ReplayReason
) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, keys=["m1"])
    world.ledger.bar_replay(SESSION, reason, "host", ["m1"])
    with world.writes() as lines:
        restart(world)
    assert lines == [
        "ses_1 ExecutionSettled@1 m1 closed_in_recovery",
        f"ses_1 CheckpointCleared@1 {reason}",
        "ses_1 GenerationAdvanced@2 instance_restart",
        "ses_1 NoticeIssued@2 instance_restart",
    ]
    assert told(world) == [((reason,), [("unfinished", "m1")])]


def test_what_the_user_cancelled_is_settled_so_and_never_listed(
    world: World,
) -> None:
    begin(world)
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m1"])
    with world.writes() as lines:
        restart(world)
    assert lines == [
        "ses_1 ExecutionSettled@1 m1 cancelled",
        "ses_1 GenerationAdvanced@2 instance_restart",
    ]
    assert told(world) == []


def test_a_resumable_checkpoint_keeps_its_own_and_ends_the_rest_as_unknown(
    world: World,
) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, keys=["m1"])
    with world.writes() as lines:
        held = restart(world)
    assert lines == [
        "ses_1 ExecutionSettled@1 m2 outcome_unknown",
        "ses_1 GenerationAdvanced@2 instance_restart",
        "ses_1 NoticeIssued@2 instance_restart",
    ]
    assert told(world) == [((), [("outcome_unknown", "m2")])]
    world.ledger.settle(held, "m1", "completed")
    world.ledger.start(held, "m3")


def test_a_bar_over_one_key_forbids_the_whole_checkpoint(world: World) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, keys=["m1", "m2", "m3"])
    world.ledger.mark_output_started(held, "m2")
    with world.writes() as lines:
        held = restart(world)
    assert lines == [
        "ses_1 ExecutionSettled@1 m1 closed_in_recovery",
        "ses_1 ExecutionSettled@1 m2 closed_in_recovery",
        "ses_1 CheckpointCleared@1 visible_output_started",
        "ses_1 GenerationAdvanced@2 instance_restart",
        "ses_1 NoticeIssued@2 instance_restart",
    ]
    world.ledger.start(held, "m3")


def test_reasons_are_listed_in_the_order_of_the_seed(world: World) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, keys=["m1"])
    world.ledger.bar_replay(SESSION, "cron_exec_timeout", "host")
    world.ledger.bar_replay(SESSION, "model_switch", "host")
    world.ledger.mark_output_started(held, "m1")
    restart(world)
    assert told(world)[0][0] == (
        "visible_output_started",
        "model_switch",
        "cron_exec_timeout",
    )


def test_a_checkpoint_without_keys_stands_for_its_owner(world: World) -> None:
    held = begin(world)
    world.ledger.settle(held, "m1", "completed")
    world.ledger.settle(held, "m2", "completed")
    world.ledger.save_checkpoint(held, LOOP, keys=[])
    world.ledger.bar_replay(SESSION, "model_switch", "host")
    with world.writes() as lines:
        restart(world)
    assert lines == [
        "ses_1 CheckpointCleared@1 model_switch",
        "ses_1 GenerationAdvanced@2 instance_restart",
        "ses_1 NoticeIssued@2 instance_restart",
    ]


def test_a_checkpoint_of_another_term_is_not_touched_by_old_bars(
    world: World,
) -> None:
    held = begin(world)
    world.ledger.bar_replay(SESSION, "model_switch", "host")
    world.ledger.retire(held, "accepted")
    held = world.ledger.succeed(SESSION, ONE, "host")
    world.ledger.save_checkpoint(held, LOOP, keys=[])
    with world.writes() as lines:
        restart(world)
    assert lines == ["ses_1 GenerationAdvanced@3 instance_restart"]


def test_a_checkpoint_whose_work_is_settled_is_cleared_and_says_nothing(
    world: World,
) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, keys=["m1"])
    world.ledger.settle(held, "m1", "completed")
    with world.writes() as lines:
        restart(world)
    assert lines == [
        "ses_1 CheckpointCleared@1 settled",
        "ses_1 GenerationAdvanced@2 instance_restart",
    ]
    assert [one.key for one in world.ledger.owner(SESSION).open_executions] == [
        "m2",
        "m3",
    ]


def test_first_is_admitted_before_the_notice(world: World) -> None:
    held = begin(world)
    world.ledger.mark_output_started(held, "m1")
    with world.writes() as lines:
        restart(world, First("m4", "runtime_recovery"))
    assert lines[1:] == [
        "ses_1 GenerationAdvanced@2 instance_restart",
        "ses_1 ExecutionAdmitted@2 m4",
        "ses_1 NoticeIssued@2 instance_restart",
    ]


def test_a_restart_cannot_begin_with_a_request_that_is_settled(world: World) -> None:
    held = begin(world)
    world.ledger.settle(held, "m1", "completed")
    with world.refuses(AlreadyDecided):
        restart(world, First("m1", "runtime_recovery"))


def test_the_killed_process_is_fenced_out_and_its_answer_is_a_fact(
    world: World,
) -> None:
    held = begin(world)
    world.ledger.mark_output_started(held, "m1")
    restart(world)
    late = ("ses_1 LateResult@1 m1 completed", "ses_1 NoticeIssued@1 late_result")
    with world.refuses(FencedOut, *late) as refusal:
        world.ledger.settle(held, "m1", "completed")
    found = world.ledger.execution(ChatExecutionKey("ses_1", "m1"))
    assert found is not None
    assert (found.outcome, found.late) == ("closed_in_recovery", refusal.value.late)
