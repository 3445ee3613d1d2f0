"""A restart on a world: process ``p1`` is gone, and ``p2`` recovers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gates import texts
from tenure import (
    NOTICE,
    Authority,
    First,
    Ledger,
    OwnerRef,
    RecoveryEnvironment,
    RecoveryReport,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
    View,
    recover,
)
from worlds import World

__all__ = [
    "CLOSED",
    "KID",
    "NINE",
    "PAYLOADS",
    "SESSION",
    "STATUS",
    "again",
    "begin",
    "environment",
    "hears_only_what_came_after_the_cancel",
    "owner_row",
    "restart",
    "the",
]

SESSION = OwnerRef("session", "ses_1")
KID = OwnerRef("subagent", "kid_1")
STATUS = "Closed during restart recovery without reporting a result."
"""As the seed writes it."""
CLOSED = "closed_in_recovery"
PAYLOADS: Mapping[str, Any] = {
    "tool_approval_wait": RuntimeRestartToolApprovalWait(
        wait_started_at_ms=0,
        timeout_remaining_ms=60_000,
        dispatched_before_restart=False,
    ),
    "queued_submission": RuntimeRestartQueuedSubmission(submission_key="m1"),
    "reaction_loop": RuntimeRestartReactionLoopState(consecutive_batches=3),
    "scheduled_work": RuntimeRestartScheduledWorkContext(
        job_id="job", attempt=1, version=1
    ),
}
NINE = (
    "visible_output_started",
    "user_cancelled",
    "user_cancelled_whole_stream",
    "agent_closed",
    "model_switch",
    "context_reset",
    "runtime_work_reap",
    "cron_exec_timeout",
    "successor_accepted",
)
"""In the order of the seed."""

R = TypeVar("R")


def begin(
    ledger: Ledger, owner: OwnerRef = SESSION, agent: str = "manager/1"
) -> Authority:
    """Claim the owner and start ``m1``."""
    held = ledger.claim(owner, agent, "host", first=First("m1", "human"))
    ledger.start(held, "m1")
    return held


def environment(
    *alive: str, **answers: Callable[[OwnerRef], Any]
) -> RecoveryEnvironment:
    """Every process is gone but ``p2`` and these."""
    there = {"p2", *alive}
    return RecoveryEnvironment(
        holder=lambda _, process: "alive" if process in there else "gone", **answers
    )


def restart(
    world: World, *alive: str, **answers: Callable[[OwnerRef], Any]
) -> RecoveryReport:
    """Recover as ``p2``; nothing may fail."""
    report = recover(world.open("p2"), environment(*alive, **answers))
    assert report.failed == ()
    return report


def again(world: World, **answers: Callable[[OwnerRef], Any]) -> RecoveryReport:
    """Recover once more, over what is unchanged: nothing is appended."""
    with world.writes() as lines:
        report = restart(world, **answers)
    assert lines == []
    return report


def the(report: RecoveryReport, kind: type[R]) -> R:
    """Return the one result of this kind."""
    (one,) = [one for one in report.results if isinstance(one, kind)]
    return one


def owner_row(world: World, owner: OwnerRef) -> dict[str, Any]:
    """Return the owner's row in `recovery_owners`."""
    (row,) = world.ledger.rows("recovery_owners", owner)
    return row


def hears_only_what_came_after_the_cancel(view: View | None) -> None:
    """Hold that `m1` to `m3` are told as cancelled, twice, and `m4` is to be done."""
    said = texts(view)
    assert view is not None
    assert said[-1] == "text of m4"
    assert not {"text of m1", "text of m2", "text of m3"} & {*said}
    assert len(view.notices) == 2
    for text in view.notices:
        assert text.startswith(NOTICE)
        assert "The user cancelled this. Do not redo it unless asked." in text
        assert "not finished" not in text
