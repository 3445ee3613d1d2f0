"""Resume plans of what was queued, scheduled, or not begun: S20, the plan's part."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import pytest
from pydantic import JsonValue

from resuming import GONE, S, begun, only, plan, resumed
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    Closed,
    DropJob,
    First,
    GoOn,
    InvalidInput,
    OwnerRef,
    QueuedMessage,
    QueueSubmission,
    RunJob,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartScheduledWorkContext,
    TellCall,
    TimeOutJob,
    Unstarted,
    recover,
    run_key,
)
from tenure_gate.recovery.plans import plan_of
from tenure_ledger.payloads import RestartPayload
from tenure_ledger.snapshots import RestartSnapshot, read_payload
from worlds import World

SENDERS = {"m1": "ann", "m2": "bob", "m3": "ann"}


def queue(*absorbed: str) -> RuntimeRestartQueuedSubmission:
    return RuntimeRestartQueuedSubmission(
        submission_key="q", absorbed_submission_keys=list(absorbed)
    )


def accepted(world: World) -> Authority:
    """A term to which three people sent a message each."""
    held = world.ledger.claim(S, "t1", "host")
    for key, sender in SENDERS.items():
        world.ledger.accept(S, key, "inbox", sender, f"digest of {key}", human=True)
    return held


def merged(world: World, *absorbed: str) -> Authority:
    held = accepted(world)
    world.ledger.admit(held, "q", "assistant_run", absorbed=absorbed)
    world.ledger.save_checkpoint(held, queue(*absorbed))
    return held


def submission(*keys: str, admitted: bool) -> QueueSubmission:
    parts = tuple(QueuedMessage(at, SENDERS[at], f"digest of {at}") for at in keys)
    return QueueSubmission(QueuedMessage("q", None, None), parts, admitted)


@pytest.mark.parametrize("order", [*permutations(SENDERS)], ids="".join)
def test_s20_the_submission_comes_back_with_all_it_absorbed_in_order(
    world: World, order: tuple[str, ...]
) -> None:
    merged(world, *order)
    found = plan(world)
    assert found.steps == (submission(*order, admitted=True),)
    assert found.keys == ("q",)
    assert found.payload == queue(*order)


def test_s20_a_redelivery_is_a_duplicate_at_every_moment(world: World) -> None:
    held = merged(world, *SENDERS)
    ledger = world.ledger
    at = ledger.execution(ChatExecutionKey("ses_1", "m2"))
    assert at is not None

    def redelivered() -> None:
        with world.writes() as lines:
            assert ledger.accept(S, "m2", "inbox", "bob", human=True) == at.accepted
        assert lines == []

    redelivered()
    one = resumed(world)
    redelivered()
    assert one.plan.steps == plan(world).steps
    two = resumed(world)
    ledger.start(two.authority, "q")
    redelivered()
    ledger.settle(two.authority, "q", "completed")
    redelivered()
    with world.refuses(AlreadyDecided):
        ledger.admit(two.authority, "m2", "human")
    assert isinstance(held, Authority)


def test_s20_merged_in_the_checkpoint_alone_it_is_admitted_whole_first(
    world: World,
) -> None:
    held = accepted(world)
    world.ledger.save_checkpoint(held, queue(*SENDERS))
    assert plan(world).steps == (submission(*SENDERS, admitted=False),)


@pytest.mark.parametrize("lost", SENDERS)
def test_s20_all_of_it_is_queued_or_none(world: World, lost: str) -> None:
    held = accepted(world)
    world.ledger.save_checkpoint(held, queue(*SENDERS))
    world.ledger.bar_replay(S, "user_cancelled", lost, [lost])
    rest = tuple(at for at in SENDERS if at != lost)
    assert plan(world).steps == (Unstarted(rest),)


@pytest.mark.parametrize("lost", SENDERS)
def test_s20_what_was_cancelled_of_a_merged_submission_is_not_queued_again(
    world: World, lost: str
) -> None:
    merged(world, *SENDERS)
    world.ledger.bar_replay(S, "user_cancelled", lost, [lost])
    rest = tuple(at for at in SENDERS if at != lost)
    assert plan(world).steps == (submission(*rest, admitted=True),)


def test_the_ledgers_queue_stands_where_the_checkpoint_has_another(
    world: World,
) -> None:
    held = merged(world, "m1", "m2")
    world.ledger.save_checkpoint(held, queue("m3", "m1", "m2"))
    assert plan(world).steps == (
        submission("m1", "m2", admitted=True),
        Unstarted(("m3",)),
    )


def test_a_submission_that_was_begun_and_not_seen_is_queued_again(
    world: World,
) -> None:
    held = merged(world, *SENDERS)
    world.ledger.start(held, "q")
    world.ledger.begin_tool_call(held, "q", "x", "read", {})
    assert plan(world).steps == (
        TellCall("q", "x", "unknown"),
        submission(*SENDERS, admitted=True),
    )


def test_what_runs_beside_the_queue_goes_on(world: World) -> None:
    held = begun(world, "m0")
    world.ledger.admit(held, "q", "human")
    world.ledger.save_checkpoint(held, queue())
    found = plan(world)
    queued = QueueSubmission(QueuedMessage("q", None, None), (), admitted=True)
    assert found.steps == (queued, GoOn(("m0",), None))
    assert found.keys == ("q", "m0")


def test_without_checkpoint_what_nobody_began_is_listed_in_order(world: World) -> None:
    held = accepted(world)
    world.ledger.admit(held, "q", "human", absorbed=["m2"])
    found = plan(world)
    assert (found.mode, found.keys, found.payload) == (None, (), None)
    assert found.steps == (Unstarted(("m1", "m3", "q")),)


def test_what_was_begun_without_a_checkpoint_does_not_come_back(world: World) -> None:
    begun(world)
    (closed, _) = recover(world.open("p2"), GONE, only=[S]).results
    assert isinstance(closed, Closed)


# Schedules. Owner: the job; message id: the run of one slot.

JOB = OwnerRef("cron", "nightly")
SLOT = datetime(2026, 1, 1, tzinfo=UTC)
RUN = run_key("nightly", SLOT)


def work(window_seconds: float | None = None) -> RestartPayload:
    context: JsonValue = {
        "slot": "2026-01-01T01:00:00+01:00",
        "window_seconds": window_seconds,
    }
    return RuntimeRestartScheduledWorkContext(
        job_id="nightly", attempt=2, version=5, scheduled_work_context=context
    )


def job(world: World, payload: RestartPayload) -> Authority:
    ledger = world.ledger
    held = ledger.claim(JOB, "cron/1", "cron", first=First(RUN, "assistant_run"))
    ledger.start(held, RUN)
    ledger.save_checkpoint(held, payload)
    return held


def step_now(world: World) -> object:
    """What a plan would say now, if the ledger's own judgement did not come first."""
    state = world.ledger.fresh_state(JOB)
    live = state.recovery.checkpoint
    assert live is not None
    read = read_payload(live.mode, world.store().body(JOB.stream, live.payload))
    assert isinstance(read, RestartSnapshot)
    (step,) = plan_of(state, read, world.now).steps
    return step


def test_a_job_runs_again_under_its_identity_in_utc(world: World) -> None:
    job(world, work(3600))
    world.pass_seconds(3599)
    (one,) = recover(world.open("p2"), GONE, only=[JOB]).resumed
    assert one.plan.steps == (RunJob("nightly", SLOT, 2, 5, (RUN,)),)
    assert RUN == "nightly@2026-01-01T00:00:00+00:00"


def test_past_its_window_a_job_is_timed_out(world: World) -> None:
    job(world, work(3600))
    world.pass_seconds(3600)
    assert step_now(world) == TimeOutJob("nightly", SLOT, (RUN,))
    (one,) = recover(world.open("p2"), GONE, only=[JOB]).closed
    assert one.reasons == ("cron_exec_timeout",)


def test_a_job_that_has_finished_is_dropped(world: World) -> None:
    held = job(world, work())
    world.ledger.settle(held, RUN, "completed")
    assert step_now(world) == DropJob("nightly", SLOT)


def test_a_slot_that_ran_under_another_checkpoint_is_dropped(world: World) -> None:
    held = job(world, work())
    world.ledger.settle(held, RUN, "completed")
    world.ledger.admit(held, "again", "assistant_run")
    world.ledger.start(held, "again")
    world.ledger.save_checkpoint(held, work(), keys=["again"])
    assert step_now(world) == DropJob("nightly", SLOT)


def test_the_hour_that_comes_twice_has_two_runs() -> None:
    summer = datetime.fromisoformat("2026-10-25T02:30:00+02:00").astimezone(UTC)
    winter = datetime.fromisoformat("2026-10-25T02:30:00+01:00").astimezone(UTC)
    assert run_key("nightly", summer) != run_key("nightly", winter)
    local = datetime.fromisoformat("2026-10-25T02:30:00+02:00")
    assert run_key("nightly", local) == run_key("nightly", summer)
    for wrong in (local.replace(tzinfo=None), "2026-10-25"):
        with pytest.raises(InvalidInput):
            run_key("nightly", wrong)  # type: ignore[arg-type]


def test_a_job_without_a_slot_has_no_window(world: World) -> None:
    payload = RuntimeRestartScheduledWorkContext(job_id="j", attempt=0, version=1)
    job(world, payload)
    world.pass_seconds(10**7)
    assert step_now(world) == RunJob("j", None, 0, 1, (RUN,))
    assert only(plan_of(world.ledger.fresh_state(JOB), None, world.now), RunJob) == []
