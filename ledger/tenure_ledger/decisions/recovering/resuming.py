"""Resume an owner: the next generation for this process, and what does not go on.

Source: design section 7.3.
"""

from __future__ import annotations

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.ending import Ending, leads
from tenure_ledger.decisions.grants import Grant, check_grant, give
from tenure_ledger.decisions.live import live_executions
from tenure_ledger.decisions.recovering.assertions import allowed_grants
from tenure_ledger.decisions.recovering.closing import facts_of
from tenure_ledger.decisions.recovering.command import SettleRecovery, kept_outputs
from tenure_ledger.decisions.recovering.verdict import Verdict, case_of, record
from tenure_ledger.decisions.restart import covering, ordered
from tenure_ledger.decisions.work import Decided, Recovered, Work
from tenure_ledger.errors import Rejection
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.folds.stream import State
from tenure_ledger.values import ReplayReason

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
    facts, reasons = _end_unnamed(work, command)
    facts.extend(_close_dispatched(work, command))
    _expire(work, command)
    granted = give(work, grant)
    told = Ending(tuple(facts), reasons, own.generation)
    notices.tell(work, owner, command.author, told, "instance_restart")
    outcome = Recovered(
        "resumed",
        work.state(owner).version,
        discarded=discarded,
        told=owner if facts else None,
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


def _end_unnamed(
    work: Work, command: SettleRecovery
) -> tuple[list[e.Fact], tuple[str, ...]]:
    """Settle what was started and the checkpoint does not name: nobody knows.

    Return what the notice says of it, and the reasons of what was covered.
    """
    state = work.state(command.owner)
    checkpoint = state.recovery.checkpoint
    facts: list[e.Fact] = []
    reasons: set[ReplayReason] = set()
    if checkpoint is None or not checkpoint.keys:
        return facts, ()
    named = leads(state, checkpoint.keys)
    envelope = work.by(command.author, state.ownership.generation)
    for one in live_executions(state):
        if not one.started or one.absorbed_by is not None or one.key in named:
            continue
        covered = covering(state, one)
        outcome: e.SettleOutcome = "outcome_unknown"
        if covered:
            cancelled = covered & CANCELLING
            outcome = "cancelled" if cancelled else "closed_in_recovery"
        settled = e.ExecutionSettled(**envelope, key=one.key, outcome=outcome)
        work.add(command.owner.stream, settled)
        if outcome != "cancelled":
            reasons |= covered
            kind: e.FactKind = "unfinished" if covered else "outcome_unknown"
            facts.extend(facts_of(state, one, kind))
    return facts, ordered(reasons)


def _close_dispatched(work: Work, command: SettleRecovery) -> list[e.Fact]:
    """Close the calls that may have run: their process is gone, so nobody will say.

    A call whose output lies in the checkpoint is known: whoever goes on completes it.
    """
    state = work.state(command.owner)
    envelope = work.by(command.author, state.ownership.generation)
    facts: list[e.Fact] = []
    kept = kept_outputs(command)
    for call in state.effects.listed_calls():
        if not call.dispatched or call.call_id in kept:
            continue
        closed = e.ToolCallClosed(
            **envelope, key=call.key, call_id=call.call_id, outcome="outcome_unknown"
        )
        work.add(command.owner.stream, closed)
        facts.append(
            e.Fact(
                kind="outcome_unknown",
                key=call.key,
                call_id=call.call_id,
                tool=call.tool,
            )
        )
    return facts


def _expire(work: Work, command: SettleRecovery) -> None:
    """Close the requests that nobody decided in time; a decision never runs out."""
    state = work.state(command.owner)
    envelope = work.by(command.author, state.ownership.generation)
    for approval in state.effects.listed_approvals():
        until = approval.expires_at
        if approval.decided or until is None or work.context.now < until:
            continue
        closed = e.ApprovalClosed(
            **envelope, request_id=approval.request_id, reason="expired"
        )
        work.add(command.owner.stream, closed)
