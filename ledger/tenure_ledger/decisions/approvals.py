"""Approvals: a call waits for a person, and the first decision wins (section 7)."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.approved import latest
from tenure_ledger.decisions.fence import fence, unfenced
from tenure_ledger.decisions.work import Asked, Context, Decided, States, Work
from tenure_ledger.errors import (
    AlreadyDecided,
    KeyReused,
    NotFound,
    Rejection,
    refuse,
)
from tenure_ledger.folds.effects import Approval
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "CloseApproval",
    "DecideApproval",
    "RequestApproval",
    "decide_approval",
    "decide_close",
    "decide_request",
]


class RequestApproval(NamedTuple):
    """Ask a person about one call, bound to its arguments and a policy version."""

    authority: Authority
    call_id: str
    tool: str
    arguments_digest: str
    policy_version: str
    timeout: float | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner whose call waits."""
        return self.authority.owner


class DecideApproval(NamedTuple):
    """A person's answer; unfenced."""

    owner: OwnerRef
    request_id: str
    decision: e.Decision
    author: str


class CloseApproval(NamedTuple):
    """Say that nobody will decide or use a request any more."""

    authority: Authority
    request_id: str
    reason: e.CloseReason

    @property
    def owner(self) -> OwnerRef:
        """The owner whose call waited."""
        return self.authority.owner


def decide_request(
    states: States, command: RequestApproval, context: Context
) -> Decided | Rejection:
    """Open a request; the same call asked again has the request that is open."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    before = latest(state.effects, command.call_id)
    if before is not None and not (before.consumed or before.closed):
        same = (command.tool, command.arguments_digest, command.policy_version)
        if same == (before.tool, before.arguments, before.policy_version):
            return work.decided(Asked(before.request_id))
        return refuse(
            KeyReused,
            f"call {command.call_id} waits for approval {before.request_id} with "
            "other arguments or another policy version: close it, or give the call a "
            "new id",
            request_id=before.request_id,
            version=before.requested,
        )
    expires = None
    if command.timeout is not None:
        expires = context.now + timedelta(seconds=command.timeout)
    event = e.ApprovalRequested(
        **work.by_holder(owner),
        request_id=context.new_id,
        call_id=command.call_id,
        tool=command.tool,
        arguments_digest=command.arguments_digest,
        policy_version=command.policy_version,
        timeout_seconds=command.timeout,
        expires_at=expires,
    )
    work.add(owner.stream, event)
    return work.decided(Asked(context.new_id))


def decide_approval(
    states: States, command: DecideApproval, context: Context
) -> Decided | Rejection:
    """Store the first decision; after the time-out close the request as expired."""
    owner = command.owner
    state = states[owner.stream]
    refusal = unfenced(state, owner)
    if refusal is not None:
        return refusal
    known = _request(state, owner, command.request_id)
    if isinstance(known, Rejection):
        return known
    at = known.decided or known.closed or known.consumed
    if at:
        # An imported history may have used a request that nobody decided.
        first = known.decision or known.reason or "consumed"
        return refuse(
            AlreadyDecided,
            f"approval {known.request_id} is {first} since version {at}: that stands",
            first=first,
            version=at,
            author=known.author,
        )
    work = Work(states, context)
    envelope = work.by(command.author, state.ownership.generation)
    if known.expires_at is not None and context.now >= known.expires_at:
        closed = e.ApprovalClosed(
            **envelope, request_id=known.request_id, reason="expired"
        )
        work.add(owner.stream, closed)
    else:
        decided = e.ApprovalDecided(
            **envelope, request_id=known.request_id, decision=command.decision
        )
        work.add(owner.stream, decided)
    return work.decided(Asked(known.request_id))


def decide_close(
    states: States, command: CloseApproval, context: Context
) -> Decided | Rejection:
    """Close a request that waits; what was decided never expires.

    The holder judges the time-out, by its own clock.
    """
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    known = _request(state, owner, command.request_id)
    if isinstance(known, Rejection):
        return known
    work = Work(states, context)
    if known.reason == command.reason:
        return work.decided(Asked(known.request_id))
    unused = known.decision == "approved" and command.reason == "void"
    if not known.open or (known.decided and not unused):
        first = known.reason or ("consumed" if known.consumed else known.decision)
        return refuse(
            AlreadyDecided,
            f"approval {known.request_id} is {first}: that stands",
            first=first,
            version=known.closed or known.consumed or known.decided,
            author=known.author,
        )
    closed = e.ApprovalClosed(
        **work.by_holder(owner), request_id=known.request_id, reason=command.reason
    )
    work.add(owner.stream, closed)
    return work.decided(Asked(known.request_id))


def _request(state: State, owner: OwnerRef, request_id: str) -> Approval | Rejection:
    known = state.effects.approvals.get(request_id)
    if known is not None:
        return known
    return refuse(
        NotFound,
        f"{owner} has no approval request {request_id}",
        kind="approval",
        id=request_id,
    )
