"""The work of the daemon that is killed: what may go on after it, and what may not.

There is a checkpoint of each of the four modes, and work of several kinds that no
restart must run again.
"""

from __future__ import annotations

from tenure import (
    Authority,
    ExecutionConfig,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
    arguments_digest,
)

__all__ = [
    "ASKED",
    "BARE",
    "CANCELLED",
    "DELETED",
    "HELPER",
    "HOURLY",
    "LOOP",
    "NIGHTLY",
    "QUEUED",
    "SPOKEN",
    "leave_work",
]

ASKED, QUEUED, LOOP, SPOKEN, CANCELLED, DELETED, BARE = (
    OwnerRef("session", f"ses_{number}") for number in range(4, 11)
)
HELPER = OwnerRef("subagent", "helper")
NIGHTLY, HOURLY = OwnerRef("cron", "nightly"), OwnerRef("cron", "hourly")
CONFIG = ExecutionConfig(model="large")
STEP = RuntimeRestartReactionLoopState(consecutive_batches=1)
SLOT = "2026-01-01T02:00:00+01:00"


def leave_work(ledger: Ledger) -> None:
    """Begin all of it, and finish nothing."""
    _wait_for_a_person(ledger)
    _merge_the_queue(ledger)
    _call_tools(ledger)
    _run_jobs(ledger)
    _speak(ledger)
    _what_was_stopped(ledger)


def _begin(ledger: Ledger, owner: OwnerRef) -> Authority:
    agent = f"{owner.recovery_class}/{owner.owner_id}"
    held = ledger.claim(owner, agent, "daemon", first=First("msg_1", "human"))
    ledger.start(held, "msg_1")
    return held


def _wait_for_a_person(ledger: Ledger) -> None:
    held, invoice = _begin(ledger, ASKED), {"amount": 12}
    ledger.intend_tool_call(held, "msg_1", "call_1", "pay", invoice)
    ledger.request_approval(held, "call_1", "pay", arguments_digest(invoice), "v1", 600)
    wait = RuntimeRestartToolApprovalWait(
        wait_started_at_ms=0,
        timeout_remaining_ms=600_000,
        dispatched_before_restart=False,
    )
    ledger.save_checkpoint(held, wait, CONFIG)


def _merge_the_queue(ledger: Ledger) -> None:
    held = ledger.claim(QUEUED, "session/ses_5", "daemon")
    for name in ("msg_1", "msg_2"):
        ledger.accept(QUEUED, name, "inbox", human=True)
    ledger.admit(held, "msg_2", "human", absorbed=["msg_1"])
    merged = RuntimeRestartQueuedSubmission(
        submission_key="msg_2", absorbed_submission_keys=["msg_1"]
    )
    ledger.save_checkpoint(held, merged, CONFIG)


def _call_tools(ledger: Ledger) -> None:
    held = _begin(ledger, LOOP)
    asked = [
        {"call_id": f"call_{number}", "tool": "send_mail", "arguments": {"to": name}}
        for number, name in enumerate(("anna", "bert", "cleo"), 1)
    ]
    loop = STEP.model_copy(update={"pending_tool_calls": asked})
    ledger.save_checkpoint(held, loop, CONFIG)
    for number, name in enumerate(("anna", "bert"), 1):
        call = ledger.begin_tool_call(
            held, "msg_1", f"call_{number}", "send_mail", {"to": name}
        )
        if number == 1:
            ledger.complete_tool_call(held, call, {"sent": name})


def _run_jobs(ledger: Ledger) -> None:
    for owner, window in ((NIGHTLY, None), (HOURLY, 600)):
        job = RuntimeRestartScheduledWorkContext(
            job_id=owner.owner_id,
            attempt=1,
            version=1,
            scheduled_work_context={"slot": SLOT, "window_seconds": window},
        )
        ledger.save_checkpoint(_begin(ledger, owner), job, CONFIG)


def _speak(ledger: Ledger) -> None:
    held = _begin(ledger, SPOKEN)
    ledger.save_checkpoint(held, STEP, CONFIG)
    ledger.mark_output_started(held, "msg_1")
    ledger.accept(SPOKEN, "msg_2", "inbox", human=True)


def _what_was_stopped(ledger: Ledger) -> None:
    ledger.save_checkpoint(_begin(ledger, CANCELLED), STEP, CONFIG)
    ledger.bar_replay(CANCELLED, "user_cancelled", "anna")
    held = _begin(ledger, DELETED)
    ledger.save_checkpoint(held, STEP, CONFIG)
    helper = ledger.spawn(held, HELPER, "subagent/helper", author="daemon")
    ledger.admit(helper, "task_1", "assistant_run")
    ledger.start(helper, "task_1")
    ledger.save_checkpoint(helper, STEP, CONFIG)
    _begin(ledger, BARE)
