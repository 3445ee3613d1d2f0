"""Tool calls and the approvals they wait for (design section 7)."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from immutables import Map

from tenure_ledger.events import (
    ApprovalClosed,
    ApprovalConsumed,
    ApprovalDecided,
    ApprovalRequested,
    CallOutcome,
    CloseReason,
    Decision,
    Event,
    LateResult,
    ToolCallClosed,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallIntended,
)
from tenure_ledger.folds.judgement import APPLY, DUPLICATE, Judgement, without

__all__ = ["Approval", "Call", "CallKey", "Effects"]

CallKey = tuple[str, str]
"""Message id and call id."""


class Call(NamedTuple):
    """One tool call. Numbers are versions in the owner's stream; 0: not."""

    key: str
    call_id: str
    tool: str
    arguments: str
    """Digest of the arguments."""
    idempotency_key: str
    intended: int
    dispatched: int = 0
    completed: int = 0
    closed: int = 0
    outcome: CallOutcome | None = None
    late: int = 0
    result: str | None = None
    """Digest of the result, of a late one too."""

    @property
    def open(self) -> bool:
        """Say whether a result may still be recorded by the holding."""
        return not (self.completed or self.closed)


class Approval(NamedTuple):
    """One request for a person's decision. Numbers are versions; 0: not."""

    request_id: str
    call_id: str
    tool: str
    arguments: str
    policy_version: str
    timeout_seconds: float | None
    expires_at: datetime | None
    requested: int
    decided: int = 0
    decision: Decision | None = None
    author: str | None = None
    """Who decided."""
    consumed: int = 0
    closed: int = 0
    reason: CloseReason | None = None

    @property
    def open(self) -> bool:
        """Say whether it is neither consumed nor closed, nor denied."""
        return not (self.consumed or self.closed or self.decision == "denied")


class Effects(NamedTuple):
    """Every call and approval of an owner."""

    calls: Map[CallKey, Call] = Map()
    open_calls: Map[CallKey, int] = Map()
    approvals: Map[str, Approval] = Map()
    open_approvals: Map[str, int] = Map()
    by_call: Map[str, str] = Map()
    """Call id -> its latest request id."""


def judge(state: Effects, event: Event) -> Judgement:
    """Say what an effect event is to this state (module `judgement`)."""
    match event:
        case ToolCallIntended():
            known = state.calls.get((event.key, event.call_id))
            if known is None:
                return APPLY
            same = (known.tool, known.arguments) == (event.tool, event.arguments)
            return DUPLICATE if same else known.intended
        case ToolCallDispatched() | ToolCallCompleted() | ToolCallClosed():
            return _judge_call(state.calls.get((event.key, event.call_id)), event)
        case LateResult(call_id=str(call_id)):
            known = state.calls.get((event.key, call_id))
            if known is None:
                return 0
            return DUPLICATE if known.late else APPLY
        case ApprovalRequested():
            known_request = state.approvals.get(event.request_id)
            return APPLY if known_request is None else DUPLICATE
        case ApprovalDecided() | ApprovalConsumed() | ApprovalClosed():
            return _judge_approval(state.approvals.get(event.request_id), event)
        case _:
            return APPLY


def _judge_call(
    known: Call | None,
    event: ToolCallDispatched | ToolCallCompleted | ToolCallClosed,
) -> Judgement:
    if known is None:
        return 0
    match event:
        case ToolCallDispatched():
            if known.dispatched:
                return DUPLICATE
            return known.closed or APPLY
        case ToolCallCompleted():
            if known.completed:
                same = known.result == event.result
                return DUPLICATE if same else known.completed
            return known.closed or APPLY
        case ToolCallClosed():
            if known.closed:
                return DUPLICATE if known.outcome == event.outcome else known.closed
            return known.completed or APPLY


def _judge_approval(
    known: Approval | None,
    event: ApprovalDecided | ApprovalConsumed | ApprovalClosed,
) -> Judgement:
    if known is None:
        return 0
    match event:
        case ApprovalDecided():
            if known.decided:
                same = known.decision == event.decision
                return DUPLICATE if same else known.decided
            return known.closed or APPLY
        case ApprovalConsumed():
            return DUPLICATE if known.consumed else known.closed or APPLY
        case ApprovalClosed():
            return DUPLICATE if known.closed else known.consumed or APPLY


def apply(state: Effects, version: int, event: Event) -> Effects:
    """Return the state after an effect event."""
    match event:
        case ToolCallIntended():
            call = Call(
                event.key,
                event.call_id,
                event.tool,
                event.arguments,
                event.idempotency_key,
                version,
            )
            return _put_call(state, call)
        case ToolCallDispatched() | ToolCallCompleted() | ToolCallClosed():
            return _advance_call(state, version, event)
        case LateResult(call_id=str(call_id)):
            known = state.calls.get((event.key, call_id))
            if known is None:
                return state
            return _put_call(state, known._replace(late=version, result=event.result))
        case ApprovalRequested():
            return _put_approval(state, _requested(version, event))
        case ApprovalDecided() | ApprovalConsumed() | ApprovalClosed():
            return _advance_approval(state, version, event)
        case _:
            return state


def _put_call(state: Effects, call: Call) -> Effects:
    at = (call.key, call.call_id)
    opened = (
        state.open_calls.set(at, call.intended)
        if call.open
        else without(state.open_calls, at)
    )
    return state._replace(calls=state.calls.set(at, call), open_calls=opened)


def _advance_call(
    state: Effects,
    version: int,
    event: ToolCallDispatched | ToolCallCompleted | ToolCallClosed,
) -> Effects:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return state
    match event:
        case ToolCallDispatched():
            return _put_call(state, known._replace(dispatched=version))
        case ToolCallCompleted():
            done = known._replace(completed=version, result=event.result)
            return _put_call(state, done)
        case ToolCallClosed():
            closed = known._replace(closed=version, outcome=event.outcome)
            return _put_call(state, closed)


def _requested(version: int, event: ApprovalRequested) -> Approval:
    return Approval(
        event.request_id,
        event.call_id,
        event.tool,
        event.arguments_digest,
        event.policy_version,
        event.timeout_seconds,
        event.expires_at,
        version,
    )


def _put_approval(state: Effects, approval: Approval) -> Effects:
    at = approval.request_id
    opened = (
        state.open_approvals.set(at, approval.requested)
        if approval.open
        else without(state.open_approvals, at)
    )
    return state._replace(
        approvals=state.approvals.set(at, approval),
        open_approvals=opened,
        by_call=state.by_call.set(approval.call_id, at),
    )


def _advance_approval(
    state: Effects,
    version: int,
    event: ApprovalDecided | ApprovalConsumed | ApprovalClosed,
) -> Effects:
    known = state.approvals.get(event.request_id)
    if known is None:
        return state
    match event:
        case ApprovalDecided():
            known = known._replace(
                decided=version, decision=event.decision, author=event.author
            )
        case ApprovalConsumed():
            known = known._replace(consumed=version)
        case ApprovalClosed():
            known = known._replace(closed=version, reason=event.reason)
    return _put_approval(state, known)
