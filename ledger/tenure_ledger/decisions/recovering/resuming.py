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
        lease_seconds=_lease_seconds(work.state(owner)),
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


def _lease_seconds(state: State) -> float | None:
    """Return how long the lease was: whoever goes on is reaped like its predecessor."""
    own = state.ownership
    until = own.holding.lease_until if own.holding else None
    if until is None or own.active_at is None:
        return None
    return max(0.0, (until - own.active_at).total_seconds())


def _expire(work: Work, command: SettleRecovery) -> None:
    """Close the requests that nobody decided in time; a decision never runs out.

    A stored wait is of the request that has no time of its own, or is the only one.
    """
    state = work.state(command.owner)
    envelope = work.by(command.author, state.ownership.generation)
    listed = state.effects.listed_approvals()
    undecided = [approval for approval in listed if not approval.decided]
    waited = _waited_out(work, command)
    for approval in undecided:
        until = approval.expires_at
        over = until is not None and work.context.now >= until
        if over or (waited and (until is None or len(undecided) == 1)):
            closed = e.ApprovalClosed(
                **envelope, request_id=approval.request_id, reason="expired"
            )
            work.add(command.owner.stream, closed)


def _waited_out(work: Work, command: SettleRecovery) -> bool:
    """Say whether the wait in the live checkpoint is over; what ran is no wait."""
    checkpoint = work.state(command.owner).recovery.checkpoint
    snapshot = command.snapshot
    wait = snapshot.payload if isinstance(snapshot, RestartSnapshot) else None
    if checkpoint is None or not isinstance(wait, RuntimeRestartToolApprovalWait):
        return False
    if wait.timeout_remaining_ms is None or wait.dispatched_before_restart:
        return False
    gone = (work.context.now - checkpoint.updated_at).total_seconds()
    return wait.timeout_remaining_ms / 1000 <= max(0.0, gone)
