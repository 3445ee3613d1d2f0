"""The verdict over a live owner whose holder is gone: may it go on, and if not, why.

Pure. Source: design section 7.1 and 7.2.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.live import live_executions
from tenure_ledger.decisions.recovering.assertions import (
    Case,
    Failure,
    failed_assertion,
)
from tenure_ledger.decisions.recovering.command import SettleRecovery
from tenure_ledger.decisions.restart import covering, forbidden, ordered
from tenure_ledger.decisions.work import Work
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import RuntimeRestartScheduledWorkContext
from tenure_ledger.snapshots import RestartSnapshot
from tenure_ledger.values import ReplayReason

__all__ = ["NO_CHECKPOINT", "Verdict", "case_of", "judge", "record", "standing"]

NO_CHECKPOINT = "no_checkpoint"
"""Work was started and nothing says how to go on with it. No reason of the nine."""


class Verdict(NamedTuple):
    """What is to be done with a live owner whose holder is gone."""

    failure: Failure | None = None
    reasons: tuple[str, ...] = ()

    @property
    def resumable(self) -> bool:
        """Say whether it may go on."""
        return self.failure is None and not self.reasons


def judge(work: Work, command: SettleRecovery) -> Verdict:
    """Return what is to be done, by assertions first and reasons then."""
    state = work.state(command.owner)
    checkpoint = state.recovery.checkpoint
    # All are asked, also behind an assertion that fails: what a person cancelled is
    # told as such, whatever else was wrong with it.
    failure = failed_assertion(case_of(work, command))
    if checkpoint is not None:
        against = forbidden(state) | standing(state, command, work.context.now)
        return Verdict(failure, ordered(against))
    reasons: set[ReplayReason] = set()
    started = False
    for one in live_executions(state):
        if one.started:
            started = True
            reasons |= covering(state, one)
    told = (NO_CHECKPOINT,) if started else ()
    return Verdict(failure, (*ordered(reasons), *told))


def case_of(work: Work, command: SettleRecovery) -> Case:
    """Return what the assertions look at, as the states are now."""
    owner = command.owner
    live = work.state(owner).recovery.checkpoint is not None
    snapshot = command.snapshot if live else None
    return Case(work.states, owner, snapshot, command.answers, work.context.now)


def standing(
    state: State, command: SettleRecovery, now: datetime
) -> frozenset[ReplayReason]:
    """Return the reasons that lie in the host and the time, not on record.

    They are against what the live checkpoint names.
    """
    snapshot = command.snapshot
    if state.recovery.checkpoint is None or not isinstance(snapshot, RestartSnapshot):
        return frozenset()
    found: set[ReplayReason] = set()
    model = command.answers.model
    if None not in {model, snapshot.config.model} and model != snapshot.config.model:
        found.add("model_switch")
    job = snapshot.payload
    ends = None
    if isinstance(job, RuntimeRestartScheduledWorkContext):
        ends = job.window_ends_at
    if ends is not None and now >= ends:
        found.add("cron_exec_timeout")
    return frozenset(found)


def record(
    work: Work, command: SettleRecovery, disposition: str, verdict: Verdict
) -> None:
    """Put on record what was decided, before what follows from it."""
    own = work.state(command.owner).ownership
    failure = verdict.failure
    event = e.RecoveryDecided(
        **work.by(command.author, own.generation),
        disposition=disposition,
        assertion=failure.assertion if failure else None,
        reasons=verdict.reasons,
        detail=failure.detail if failure else "",
        evidence=command.evidence,
    )
    work.add(command.owner.stream, event)
