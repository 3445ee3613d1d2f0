"""Claim, succeed, take over, advance: who holds an owner from now on.

Source of the rules: design section 5, rule 5 and the table of states by commands.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.executions import admit_first
from tenure_ledger.decisions.grants import (
    Grant,
    append_grant,
    check_grant,
    give,
    refuse_live,
    why_not_new,
)
from tenure_ledger.decisions.restart import settle_restart
from tenure_ledger.decisions.work import (
    Context,
    Decided,
    Granted,
    States,
    Work,
    blocked,
    fence,
)
from tenure_ledger.errors import (
    FencedOut,
    InvalidInput,
    OwnerEnded,
    OwnerIsLive,
    OwnerMoved,
    Rejection,
    UnknownOwner,
    refuse,
)
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, Evidence, First, OwnerRef

__all__ = [
    "Advance",
    "Claim",
    "Succeed",
    "TakeOver",
    "decide_advance",
    "decide_claim",
    "decide_succeed",
    "decide_take_over",
]


class Claim(NamedTuple):
    """Take an owner that nobody holds: absent, ended or imported."""

    owner: OwnerRef
    agent_id: str
    author: str
    first: First | None = None
    lease_seconds: float | None = None


class Succeed(NamedTuple):
    """Begin the next term after a cut."""

    owner: OwnerRef
    agent_id: str
    author: str
    first: First | None = None
    lease_seconds: float | None = None


class TakeOver(NamedTuple):
    """End another's holding on evidence, and hold the owner."""

    owner: OwnerRef
    agent_id: str | None
    author: str
    evidence: Evidence | None = None
    override: bool = False
    first: First | None = None
    lease_seconds: float | None = None


class Advance(NamedTuple):
    """Raise the generation by the holding itself: renew its lease, or move it."""

    authority: Authority
    reason: Literal["lease_renewal", "migration"]
    agent_id: str | None = None
    lease_seconds: float | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner that is held."""
        return self.authority.owner


def _give(work: Work, grant: Grant) -> Decided | Rejection:
    refusal = check_grant(work, grant)
    if refusal is not None:
        return refusal
    return work.decided(give(work, grant))


def decide_claim(
    states: States, command: Claim, context: Context
) -> Decided | Rejection:
    """Give the owner to an agent; the waiting messages are carried over."""
    state = states[command.owner.stream]
    own = state.ownership
    refusal = blocked(state, command.owner) or why_not_new(own, command.owner)
    if refusal is None and own.thing:
        refusal = refuse(
            OwnerEnded,
            f"{command.owner} is used by {own.parent} and ended: spawn it again with "
            "the parent's authority",
            version=own.ended,
            generation=own.generation,
        )
    if refusal is not None:
        return refusal
    grant = Grant(
        command.owner,
        command.agent_id,
        command.author,
        new_reason(own),
        command.first,
        command.lease_seconds,
    )
    return _give(Work(states, context), grant)


def new_reason(own: Ownership) -> e.AdvanceReason | None:
    """Return the reason of a grant to a new holder where nobody holds the owner."""
    if own.status == "terminal":
        return "reclaim"
    return "adopted" if own.status == "imported" else None


def decide_succeed(
    states: States, command: Succeed, context: Context
) -> Decided | Rejection:
    """Begin the next term: what is waiting is carried over, then ``first``."""
    owner = command.owner
    state = states[owner.stream]
    own = state.ownership
    refusal = blocked(state, owner) or _unheld(own, owner)
    if refusal is not None:
        return refusal
    if own.live:
        return refuse_live(own, owner)
    if own.status != "cut":
        return refuse(
            OwnerEnded,
            f"{owner} is {own.status} since version {own.ended}: use claim",
            version=own.ended,
            generation=own.generation,
        )
    grant = Grant(
        owner,
        command.agent_id,
        command.author,
        "succession",
        command.first,
        command.lease_seconds,
    )
    return _give(Work(states, context), grant)


def _unheld(own: Ownership, owner: OwnerRef) -> Rejection | None:
    if own.status == "absent":
        return refuse(UnknownOwner, f"nobody ever claimed {owner}: use claim")
    return None


def decide_take_over(
    states: States, command: TakeOver, context: Context
) -> Decided | Rejection:
    """Take a held owner by evidence, a used thing without, an imported one as claim."""
    owner = command.owner
    state = states[owner.stream]
    own = state.ownership
    refusal = blocked(state, owner) or _unheld(own, owner)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    if own.status == "live":
        return _take_live(work, command)
    if own.status == "revoked":
        return _take_thing(work, command)
    if own.status == "imported":
        grant = _grant(command, command.agent_id, "adopted")
        return _give(work, grant)
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
        return _give(work, _grant(command, command.agent_id, "takeover"))
    grant = _grant(command, command.agent_id, "instance_restart")
    refusal = check_grant(work, grant)
    if refusal is not None:
        return refusal
    told = settle_restart(work, command.owner, command.author)
    granted = give(work, grant)
    if command.first is not None:
        admit_first(work, command.owner, command.first)
    notices.tell(work, command.owner, command.author, told, "instance_restart")
    return work.decided(granted)


def judge_evidence(
    state: State, owner: OwnerRef, evidence: Evidence | None, *, override: bool
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
    return _give(work, _grant(command, None, "takeover"))


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


def decide_advance(
    states: States, command: Advance, context: Context
) -> Decided | Rejection:
    """Renew the lease of the live holding, or move it to another process or agent."""
    owner = command.owner
    state = states[owner.stream]
    own = state.ownership
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    agent_id = command.agent_id if command.agent_id is not None else own.agent_id
    if command.reason == "lease_renewal" and agent_id != own.agent_id:
        return refuse(
            InvalidInput, "a lease renewal keeps its agent: leave agent_id out"
        )
    if own.agent_id is None and agent_id is not None:
        return refuse(InvalidInput, f"{owner} has no agent: leave agent_id out")
    work = Work(states, context)
    grant = Grant(
        owner=owner,
        agent_id=agent_id,
        author=own.holder,
        reason=command.reason,
        lease_seconds=command.lease_seconds,
        fenced=True,
    )
    refusal = check_grant(work, grant)
    if refusal is not None:
        return refusal
    if command.reason == "lease_renewal":
        authority = append_grant(work, grant, own)
        return work.decided(Granted(authority, context.process))
    return work.decided(give(work, grant))
