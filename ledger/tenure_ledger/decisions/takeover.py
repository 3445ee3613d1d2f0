"""Take over: end a holding on evidence, and hold its owner from now on.

Source of the rules: design section 5, rule 5 and the table of states by commands.
"""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.admission import admit_first
from tenure_ledger.decisions.fence import blocked_or_unclaimed
from tenure_ledger.decisions.grants import (
    Grant,
    check_grant,
    give,
    give_checked,
    refuse_live,
    why_not_new,
)
from tenure_ledger.decisions.restart import drop_settled, settle_restart
from tenure_ledger.decisions.work import Context, Decided, States, Work
from tenure_ledger.errors import (
    FencedOut,
    InvalidInput,
    OwnerEnded,
    OwnerIsLive,
    OwnerMoved,
    Rejection,
    refuse,
)
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Evidence, First, OwnerRef

__all__ = ["TakeOver", "decide_take_over", "judge_evidence"]


class TakeOver(NamedTuple):
    """End another's holding on evidence, and hold the owner."""

    owner: OwnerRef
    agent_id: str | None
    author: str
    evidence: Evidence | None = None
    override: bool = False
    first: First | None = None
    lease_seconds: float | None = None


def decide_take_over(
    states: States, command: TakeOver, context: Context
) -> Decided | Rejection:
    """Take a held owner by evidence, a used thing without, an imported one as claim."""
    owner = command.owner
    state = states[owner.stream]
    own = state.ownership
    refusal = blocked_or_unclaimed(state, owner)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    if own.status == "live":
        return _take_live(work, command)
    if own.status == "revoked":
        return _take_thing(work, command)
    if own.status == "imported":
        return give_checked(work, _grant(command, command.agent_id, "adopted"))
    return why_not_new(own, owner) or refuse(
        OwnerEnded,
        f"{owner} ended at version {own.ended}: use claim",
        version=own.ended,
        generation=own.generation,
    )


def _grant(command: TakeOver, agent_id: str | None, reason: e.AdvanceReason) -> Grant:
    return Grant(
        owner=command.owner,
        agent_id=agent_id,
        author=command.author,
        reason=reason,
        first=command.first,
        lease_seconds=command.lease_seconds,
        evidence=command.evidence,
        override=command.override,
    )


def _take_live(work: Work, command: TakeOver) -> Decided | Rejection:
    state = work.state(command.owner)
    own = state.ownership
    refusal = judge_evidence(
        state, command.owner, command.evidence, override=command.override
    )
    if refusal is None and own.agent_id is None:
        refusal = _why_not_thing(work, command)
        command = command._replace(agent_id=None)
    elif refusal is None and command.agent_id is None:
        refusal = refuse(InvalidInput, "agent_id is missing: name the running agent")
    if refusal is not None:
        return refusal
    if command.agent_id != own.agent_id:
        return give_checked(work, _grant(command, command.agent_id, "takeover"))
    grant = _grant(command, command.agent_id, "instance_restart")
    refusal = check_grant(work, grant)
    if refusal is not None:
        return refusal
    drop_settled(work, command.owner, command.author)
    told = settle_restart(work, command.owner, command.author)
    granted = give(work, grant)
    if command.first is not None:
        admit_first(work, command.owner, command.first)
    notices.tell(work, command.owner, command.author, told, "instance_restart")
    return work.decided(granted)


def judge_evidence(
    state: State, owner: OwnerRef, evidence: Evidence | None, *, override: bool = False
) -> Rejection | None:
    """Return why this evidence does not end the live holding, if so (rule 5)."""
    own = state.ownership
    holding = own.holding
    if evidence is None or holding is None:
        return refuse_live(own, owner)
    if evidence.incarnation != holding.incarnation:
        return refuse(
            OwnerMoved,
            f"the holding of {owner} that you judged ended; generation "
            f"{own.generation} holds it: look again",
            generation=own.generation,
            incarnation=holding.incarnation,
        )
    if evidence.version > state.version:
        return refuse(
            InvalidInput,
            f"the evidence is about version {evidence.version} of {owner}, which ends "
            f"at version {state.version}: look again",
            version=state.version,
        )
    proof = max(state.active, holding.granted)
    if proof > evidence.version:
        return refuse(
            OwnerIsLive,
            f"the holder of {owner} wrote version {proof} after you looked at "
            f"version {evidence.version}: it lives; look again",
            version=proof,
            generation=own.generation,
        )
    if evidence.kind != "gone" and not override:
        return refuse(
            OwnerIsLive,
            f"the evidence about the holder of {owner} says {evidence.kind}: make "
            "sure that it is gone, or pass override=True, which is recorded",
            kind=evidence.kind,
            generation=own.generation,
        )
    return None


def _take_thing(work: Work, command: TakeOver) -> Decided | Rejection:
    """Give a used thing to the next holder of its parent; no evidence needed."""
    refusal = _why_not_thing(work, command)
    if refusal is not None:
        return refusal
    return give_checked(work, _grant(command, None, "takeover"))


def _why_not_thing(work: Work, command: TakeOver) -> Rejection | None:
    """Return why this agent cannot take a thing that its parent's holder uses."""
    own = work.state(command.owner).ownership
    parent = own.parent
    above = work.states[parent.stream].ownership if parent is not None else None
    if parent is None or above is None or not above.live:
        return refuse(
            OwnerEnded,
            f"{command.owner} is used by {parent}, which nobody holds: take that first",
            generation=own.generation,
        )
    if command.agent_id not in {None, above.agent_id}:
        return refuse(
            FencedOut,
            f"{command.owner} is used by {parent}, which {above.agent_id} holds: only "
            "that agent takes it",
            holder=above.agent_id,
            generation=own.generation,
        )
    return None
