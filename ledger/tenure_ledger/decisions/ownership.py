"""Claim, succeed, advance: who holds an owner from now on.

Source of the rules: design section 5, the table of states by commands.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tenure_ledger.decisions.fence import blocked, blocked_or_unclaimed, fence
from tenure_ledger.decisions.grants import (
    Grant,
    append_grant,
    check_grant,
    give,
    give_checked,
    new_reason,
    refuse_live,
    why_not_new,
)
from tenure_ledger.decisions.work import Context, Decided, Granted, States, Work
from tenure_ledger.errors import InvalidInput, OwnerEnded, Rejection, refuse
from tenure_ledger.values import Authority, First, OwnerRef

__all__ = [
    "Advance",
    "Claim",
    "Succeed",
    "decide_advance",
    "decide_claim",
    "decide_succeed",
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
    return give_checked(Work(states, context), grant)


def decide_succeed(
    states: States, command: Succeed, context: Context
) -> Decided | Rejection:
    """Begin the next term: what is waiting is carried over, then ``first``."""
    owner = command.owner
    state = states[owner.stream]
    own = state.ownership
    refusal = blocked_or_unclaimed(state, owner)
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
    return give_checked(Work(states, context), grant)


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
