"""Resume an owner: the next generation for this process, and what does not go on.

Source: design section 7.3.
"""

from __future__ import annotations

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.grants import Grant, check_grant, give
from tenure_ledger.decisions.recovering.assertions import allowed_grants
from tenure_ledger.decisions.recovering.command import SettleRecovery, kept_calls
from tenure_ledger.decisions.recovering.verdict import Verdict, case_of, record
from tenure_ledger.decisions.recovering.waits import (
    Wait,
    seconds_left,
    undecided,
    wait_of,
)
from tenure_ledger.decisions.restart import settle_restart
from tenure_ledger.decisions.work import Decided, Recovered, Work
from tenure_ledger.errors import Rejection
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import RuntimeRestartToolApprovalWait
from tenure_ledger.snapshots import RestartSnapshot

__all__ = ["resume"]


def resume(
    work: Work, command: SettleRecovery, discarded: str | None
) -> Decided | Rejection:
    """Raise the generation for this process, and settle what does not go on."""
    owner = command.owner
    own = work.state(owner).ownership
    grant = Grant(
        owner=owner,
        agent_id=own.agent_id,
        author=command.author,
        reason="instance_restart",
        # Whoever goes on is reaped like its predecessor.
        lease_seconds=own.lease_seconds,
        evidence=command.evidence,
    )
    refusal = check_grant(work, grant)
    if refusal is not None:
        return refusal
    record(work, command, "resumed", Verdict())
    kept = kept_calls(work.state(owner), command)
    told = settle_restart(work, owner, command.author, kept)
    _expire(work, command)
    granted = give(work, grant)
    notices.tell(work, owner, command.author, told, "instance_restart")
    outcome = Recovered(
        "resumed",
        work.state(owner).version,
        discarded=discarded,
        told=owner if told.facts else None,
        grants=allowed_grants(case_of(work, command)),
        authority=granted.authority,
        process=granted.process,
    )
    return work.decided(outcome)


def _expire(work: Work, command: SettleRecovery) -> None:
    """Close the requests that nobody decided in time; a decision never runs out."""
    state = work.state(command.owner)
    envelope = work.by(command.author, state.ownership.generation)
    wait, waiting = _wait(state, command), undecided(state)
    alone = len(waiting) == 1
    for asked in waiting:
        if seconds_left(asked, wait, work.context.now, alone=alone) == 0:
            closed = e.ApprovalClosed(
                **envelope, request_id=asked.request_id, reason="expired"
            )
            work.add(command.owner.stream, closed)


def _wait(state: State, command: SettleRecovery) -> Wait | None:
    """Return the wait in the live checkpoint; what may have run is none."""
    checkpoint, snapshot = state.recovery.checkpoint, command.snapshot
    if checkpoint is None or not isinstance(snapshot, RestartSnapshot):
        return None
    payload = snapshot.payload
    if isinstance(payload, RuntimeRestartToolApprovalWait):
        return (
            None if payload.dispatched_before_restart else wait_of(checkpoint, payload)
        )
    return None
