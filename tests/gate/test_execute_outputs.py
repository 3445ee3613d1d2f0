"""The reference executor: outputs, compactions, queues and jobs."""

from __future__ import annotations

from datetime import UTC, datetime

from executing import Host, go, kept, run_of
from resuming import ARGUMENTS, S, begun, resumed
from tenure import (
    ChatExecutionKey,
    DropJob,
    GoOn,
    Json,
    KeepOutput,
    OwnerRef,
    QueuedMessage,
    QueueSubmission,
    RunJob,
    RuntimeRestartReactionLoopState,
    RuntimeRestartToolApprovalWait,
    TimeOutJob,
    Unstarted,
)
from tenure_ledger.events import HistoryRewritten
from worlds import World

# Outputs, compactions, queues, jobs.


def test_an_output_that_the_checkpoint_held_completes_the_call(world: World) -> None:
    held = begun(world)
    world.ledger.begin_tool_call(held, "m1", "x", "write", ARGUMENTS)
    assert go(world, held, kept("x", "done")) == [("kept", "x", "done")]
    known = world.ledger.tool_call(S, "m1", "x")
    assert known is not None
    assert (known.state, known.result) == ("completed", "done")


def test_an_output_of_a_call_that_the_ledger_never_saw_is_kept(world: World) -> None:
    held = begun(world)
    items: list[Json] = [
        {"tool_use_id": "x", "content": 1},
        {"id": "x", "result": 1},
    ]
    for item in items:
        step = KeepOutput("m1", "x", item, None)
        assert go(world, held, step) == [("kept", "x", 1)]
    assert go(world, held, KeepOutput(None, "x", "x", None)) == [("kept", "x", "x")]


def test_of_two_results_the_one_on_record_is_kept(world: World) -> None:
    held = begun(world)
    call = world.ledger.begin_tool_call(held, "m1", "x", "write", ARGUMENTS)
    world.ledger.complete_tool_call(held, call, "on record")
    assert go(world, held, kept("x", "held")) == [("kept", "x", "on record")]


def test_a_compaction_is_put_on_record_as_a_rewrite(world: World) -> None:
    held = begun(world)
    payload = RuntimeRestartReactionLoopState(
        consecutive_batches=1, pending_compact="please"
    )
    world.ledger.history_rewritten(held, 4, "m0")
    world.ledger.save_checkpoint(held, payload)
    host = Host()
    run_of(world, resumed(world), host)
    assert host.asked == [("compacted", "please", 5), GoOn(("m1",), payload)]
    (event,) = [
        one.event
        for one in world.ledger.history(S)
        if isinstance(one.event, HistoryRewritten)
        and one.event.history_rewrite_generation == 5
    ]
    assert (event.prompt_floor, event.checkpoint_seq) == ("m1", "seq 9")
    assert world.ledger.body(S, str(event.state)) == {"kept": 1}
    again = Host()
    run_of(world, resumed(world), again)
    assert again.asked == [GoOn(("m1",), payload)]


def test_a_submission_is_admitted_whole_before_it_is_queued(world: World) -> None:
    held = world.ledger.claim(S, "t1", "host")
    for key in ("q", "m2"):
        world.ledger.accept(S, key, "inbox", "ann", human=True)
    parts = (QueuedMessage("m2", "ann", None), QueuedMessage("m3", None, None))
    step = QueueSubmission(QueuedMessage("q", "ann", None), parts, admitted=False)
    assert go(world, held, step) == [step]
    for key in ("q", "m2", "m3"):
        known = world.ledger.execution(ChatExecutionKey("ses_1", key))
        assert known is not None
        assert known.admitted
    with world.writes() as lines:
        assert go(world, held, step, Unstarted(("m9",))) == [step, Unstarted(("m9",))]
    assert lines == []


def test_a_job_past_its_window_is_barred_settled_and_cleared(world: World) -> None:
    held = begun(world, "run", OwnerRef("cron", "nightly"))
    payload = RuntimeRestartToolApprovalWait(
        wait_started_at_ms=0, dispatched_before_restart=False
    )
    world.ledger.save_checkpoint(held, payload)
    slot = datetime(2026, 1, 1, tzinfo=UTC)
    step = TimeOutJob("nightly", slot, ("run", "other"))
    world.ledger.admit(held, "other", "assistant_run")
    world.ledger.start(held, "other")
    world.ledger.settle(held, "other", "completed")
    with world.writes() as lines:
        assert go(world, held, step) == []
    assert lines == [
        "nightly ReplayBarred@1 cron_exec_timeout",
        "nightly ExecutionSettled@1 run failed",
        "nightly CheckpointCleared@1 cron_exec_timeout",
    ]
    with world.writes() as again:
        assert go(world, held, step) == []
    assert again == []


def test_a_finished_job_leaves_no_checkpoint_and_another_is_run(world: World) -> None:
    held = begun(world, "run", OwnerRef("cron", "nightly"))
    payload = RuntimeRestartReactionLoopState(consecutive_batches=1)
    world.ledger.save_checkpoint(held, payload)
    job = RunJob("nightly", None, 0, 1, ("run",))
    assert go(world, held, DropJob("nightly", None), job) == [job]
    assert world.ledger.owner(OwnerRef("cron", "nightly")).checkpoint is None
