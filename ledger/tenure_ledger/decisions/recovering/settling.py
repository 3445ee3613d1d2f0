"""Settle one owner after a restart: verdict and claim in one step.

Two recovery runs cannot both win: what they decide, they decide on the stream's head,
and only over the holding that they saw. Source: design section 7.
"""

from __future__ import annotations

from tenure_ledger.decisions.children import ancestors
from tenure_ledger.decisions.ending import clear_checkpoint
from tenure_ledger.decisions.fence import blocked
from tenure_ledger.decisions.recovering.closing import Closing, close_owner
from tenure_ledger.decisions.recovering.command import (
    STATUS,
    SettleRecovery,
    kept_calls,
)
from tenure_ledger.decisions.recovering.resuming import resume
from tenure_ledger.decisions.recovering.verdict import (
    NO_CHECKPOINT,
    Verdict,
    judge,
    record,
    standing,
)
from tenure_ledger.decisions.restart import drop_settled
from tenure_ledger.decisions.takeover import judge_evidence
from tenure_ledger.decisions.work import Context, Decided, Recovered, States, Work
from tenure_ledger.errors import InvalidInput, OwnerMoved, Rejection, refuse
from tenure_ledger.folds.ownership import CLOSED
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef, agent_stream

__all__ = ["decide_recovery"]


def decide_recovery(
    states: States, command: SettleRecovery, context: Context
) -> Decided | Rejection:
    """Resume the owner, close it, or clear what is left over of it."""
    owner = command.owner
    state = states[owner.stream]
    refusal = blocked(state, owner) or _moved(state, command)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    if state.ownership.status != "live":
        return _settle_ended(work, command)
    refusal = _undecidable(states, command)
    if refusal is not None:
        return refusal
    discarded = _leftover(work, command)
    verdict = judge(work, command)
    if verdict.failure is not None and _of_another(work.state(owner)):
        # The checkpoint is of a holding that a newer one replaced: that is left alone
        # for it, and judged on as one that has none.
        discarded = _discard(work, command, verdict.failure.assertion)
        verdict = judge(work, command)
    if verdict.resumable:
        return resume(work, command, discarded)
    return _close(work, command, verdict, discarded)


def _moved(state: State, command: SettleRecovery) -> Rejection | None:
    """Refuse when somebody holds it, or ended it, since it was looked at."""
    own = state.ownership
    if own.generation != command.generation:
        return refuse(
            OwnerMoved,
            f"{command.owner} was at generation {command.generation} when you looked "
            f"and is at {own.generation}: somebody else has it",
            generation=own.generation,
            incarnation=own.holding.incarnation if own.holding else None,
        )
    if own.live:
        return judge_evidence(state, command.owner, command.evidence)
    if command.evidence.incarnation is not None:
        return refuse(
            OwnerMoved,
            f"the holding of {command.owner} that you judged ended at version "
            f"{own.ended}: look again",
            version=own.ended,
        )
    return None


def _undecidable(states: States, command: SettleRecovery) -> Rejection | None:
    owner = command.owner
    state = states[owner.stream]
    if state.ownership.agent_id is None:
        return refuse(
            InvalidInput,
            f"{owner} is used by {state.ownership.parent}: recover that",
            parent=state.ownership.parent,
        )
    # What cannot be read says nothing: neither who is above it, nor who is bound.
    agent = states[agent_stream(state.ownership.agent_id)]
    for read in (agent, *ancestors(states, owner)[1:]):
        if read.too_new or read.quarantine is not None:
            return blocked(read, OwnerRef.of_stream(read.stream) or owner)
    checkpoint = state.recovery.checkpoint
    if (checkpoint.payload if checkpoint else None) != command.payload:
        return refuse(
            OwnerMoved,
            f"the checkpoint of {owner} is not the one that you read: look again",
            version=checkpoint.version if checkpoint else state.version,
        )
    return None


def _settle_ended(work: Work, command: SettleRecovery) -> Decided:
    """Clear what an ended owner or term left over; nothing of it is in question."""
    discarded = None
    if work.state(command.owner).recovery.checkpoint is not None:
        status = work.state(command.owner).ownership.status
        if status != "imported":
            discarded = _discard(work, command, status)
    version = work.state(command.owner).version
    if discarded is None:
        return work.decided(Recovered("unchanged", version))
    return work.decided(Recovered("discarded", version, discarded=discarded))


def _leftover(work: Work, command: SettleRecovery) -> str | None:
    """Clear a checkpoint all of whose work is settled; return why it was cleared."""
    return "settled" if drop_settled(work, command.owner, command.author) else None


def _discard(work: Work, command: SettleRecovery, why: str) -> str:
    own = work.state(command.owner).ownership
    envelope = work.by(command.author, own.generation)
    clear_checkpoint(work, command.owner, envelope, why)
    return why


def _of_another(state: State) -> bool:
    """Say whether the checkpoint is of a holding that is not the live one."""
    checkpoint, holding = state.recovery.checkpoint, state.ownership.holding
    if checkpoint is None or holding is None:
        return False
    return checkpoint.incarnation != holding.incarnation


def _close(
    work: Work, command: SettleRecovery, verdict: Verdict, discarded: str | None
) -> Decided:
    owner, failure = command.owner, verdict.failure
    record(work, command, "closed", verdict)
    against = tuple(one for one in verdict.reasons if one != NO_CHECKPOINT)
    told = against if failure is None else (*against, failure.assertion)
    cleared = failure.assertion if failure is not None else (*against, CLOSED)[0]
    state = work.state(owner)
    why = Closing(
        CLOSED,
        STATUS,
        told,
        cleared,
        kept_calls(state, command),
        standing(state, command, work.context.now),
    )
    at = close_owner(work, owner, command.author, why)
    outcome = Recovered(
        "closed",
        work.state(owner).version,
        assertion=failure.assertion if failure else None,
        detail=failure.detail if failure else "",
        reasons=verdict.reasons,
        discarded=discarded,
        told=at,
    )
    return work.decided(outcome)
