"""Tool calls and the approvals they wait for (design section 7)."""

from __future__ import annotations

from datetime import datetime

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import (
    ApprovalClosed,
    ApprovalConsumed,
    ApprovalDecided,
    ApprovalRequested,
    CallOutcome,
    CloseReason,
    Decision,
    LateResult,
    ToolCallClosed,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallIntended,
)
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    Value,
    without,
)

__all__ = ["RULES", "Approval", "Call", "CallKey", "Effects"]

CallKey = tuple[str, str]
"""Message id and call id."""


class Call(Value, frozen=True):
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
    intended_at: datetime | None = None
    dispatched_at: datetime | None = None
    ended_at: datetime | None = None
    """When it was completed or closed."""

    @property
    def open(self) -> bool:
        """Say whether a result may still be recorded by the holding."""
        return not (self.completed or self.closed)


class Approval(Value, frozen=True):
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
    requested_at: datetime | None = None
    decided_at: datetime | None = None
    ended_at: datetime | None = None
    """When it was consumed or closed."""

    @property
    def open(self) -> bool:
        """Say whether it is neither consumed nor closed, nor denied."""
        return not (self.consumed or self.closed or self.decision == "denied")


class Effects(Value, frozen=True):
    """Every call and approval of an owner."""

    calls: Map[CallKey, Call] = Map()
    open_calls: Map[CallKey, int] = Map()
    approvals: Map[str, Approval] = Map()
    open_approvals: Map[str, int] = Map()
    by_call: Map[str, str] = Map()
    """Call id -> its latest request id."""

    def listed_calls(self) -> tuple[Call, ...]:
        """Return the open calls, oldest first."""
        order = sorted(self.open_calls.items(), key=lambda pair: pair[1])
        return tuple(self.calls[at] for at, _ in order)

    def listed_approvals(self) -> tuple[Approval, ...]:
        """Return the open requests, oldest first."""
        order = sorted(self.open_approvals.items(), key=lambda pair: pair[1])
        return tuple(self.approvals[at] for at, _ in order)


def _judge_intended(_own: object, state: Effects, event: ToolCallIntended) -> Judgement:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return APPLY
    same = known.tool == event.tool and known.arguments == event.arguments
    return DUPLICATE if same else known.intended


def _intend(
    _own: object, state: Effects, version: int, event: ToolCallIntended
) -> Effects:
    call = Call(
        event.key,
        event.call_id,
        event.tool,
        event.arguments,
        event.idempotency_key,
        version,
        intended_at=event.recorded_at,
    )
    return _put_call(state, call)


def _judge_dispatched(
    _own: object, state: Effects, event: ToolCallDispatched
) -> Judgement:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return 0
    if known.dispatched:
        return DUPLICATE
    return known.closed or APPLY


def _dispatch(
    _own: object, state: Effects, version: int, event: ToolCallDispatched
) -> Effects:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return state
    known = replace(known, dispatched=version, dispatched_at=event.recorded_at)
    return _put_call(state, known)


def _judge_completed(
    _own: object, state: Effects, event: ToolCallCompleted
) -> Judgement:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return 0
    if known.completed:
        return DUPLICATE if known.result == event.result else known.completed
    return known.closed or APPLY


def _complete(
    _own: object, state: Effects, version: int, event: ToolCallCompleted
) -> Effects:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return state
    return _put_call(
        state,
        replace(
            known, completed=version, result=event.result, ended_at=event.recorded_at
        ),
    )


def _judge_closed(_own: object, state: Effects, event: ToolCallClosed) -> Judgement:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return 0
    if known.closed:
        return DUPLICATE if known.outcome == event.outcome else known.closed
    return known.completed or APPLY


def _close(
    _own: object, state: Effects, version: int, event: ToolCallClosed
) -> Effects:
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return state
    return _put_call(
        state,
        replace(
            known, closed=version, outcome=event.outcome, ended_at=event.recorded_at
        ),
    )


def _judge_late(_own: object, state: Effects, event: LateResult) -> Judgement:
    if event.call_id is None:
        return APPLY
    known = state.calls.get((event.key, event.call_id))
    if known is None:
        return 0
    return DUPLICATE if known.late else APPLY


def _late(_own: object, state: Effects, version: int, event: LateResult) -> Effects:
    known = None
    if event.call_id is not None:
        known = state.calls.get((event.key, event.call_id))
    if known is None:
        return state
    return _put_call(state, replace(known, late=version, result=event.result))


def _put_call(state: Effects, call: Call) -> Effects:
    at = (call.key, call.call_id)
    opened = state.open_calls
    if not call.open:
        opened = without(opened, at)
    elif opened.get(at) != call.intended:
        opened = opened.set(at, call.intended)
    return replace(state, calls=state.calls.set(at, call), open_calls=opened)


def _judge_requested(
    _own: object, state: Effects, event: ApprovalRequested
) -> Judgement:
    return DUPLICATE if event.request_id in state.approvals else APPLY


def _request(
    _own: object, state: Effects, version: int, event: ApprovalRequested
) -> Effects:
    approval = Approval(
        event.request_id,
        event.call_id,
        event.tool,
        event.arguments_digest,
        event.policy_version,
        event.timeout_seconds,
        event.expires_at,
        version,
        requested_at=event.recorded_at,
    )
    return _put_approval(state, approval)


def _judge_decided(_own: object, state: Effects, event: ApprovalDecided) -> Judgement:
    known = state.approvals.get(event.request_id)
    if known is None:
        return 0
    if known.decided:
        return DUPLICATE if known.decision == event.decision else known.decided
    return known.closed or APPLY


def _decide(
    _own: object, state: Effects, version: int, event: ApprovalDecided
) -> Effects:
    known = state.approvals.get(event.request_id)
    if known is None:
        return state
    decision, author = event.decision, event.author
    known = replace(
        known,
        decided=version,
        decision=decision,
        author=author,
        decided_at=event.recorded_at,
    )
    return _put_approval(state, known)


def _judge_consumed(_own: object, state: Effects, event: ApprovalConsumed) -> Judgement:
    known = state.approvals.get(event.request_id)
    if known is None:
        return 0
    return DUPLICATE if known.consumed else known.closed or APPLY


def _consume(
    _own: object, state: Effects, version: int, event: ApprovalConsumed
) -> Effects:
    known = state.approvals.get(event.request_id)
    if known is None:
        return state
    return _put_approval(
        state, replace(known, consumed=version, ended_at=event.recorded_at)
    )


def _judge_ended(_own: object, state: Effects, event: ApprovalClosed) -> Judgement:
    known = state.approvals.get(event.request_id)
    if known is None:
        return 0
    return DUPLICATE if known.closed else known.consumed or APPLY


def _end(_own: object, state: Effects, version: int, event: ApprovalClosed) -> Effects:
    known = state.approvals.get(event.request_id)
    if known is None:
        return state
    return _put_approval(
        state,
        replace(known, closed=version, reason=event.reason, ended_at=event.recorded_at),
    )


def _put_approval(state: Effects, approval: Approval) -> Effects:
    at = approval.request_id
    opened = state.open_approvals
    if not approval.open:
        opened = without(opened, at)
    elif opened.get(at) != approval.requested:
        opened = opened.set(at, approval.requested)
    return replace(
        state,
        approvals=state.approvals.set(at, approval),
        open_approvals=opened,
        by_call=state.by_call.set(approval.call_id, at),
    )


RULES: Rules[Effects] = {
    ToolCallIntended: Rule(_judge_intended, _intend),
    ToolCallDispatched: Rule(_judge_dispatched, _dispatch),
    ToolCallCompleted: Rule(_judge_completed, _complete),
    ToolCallClosed: Rule(_judge_closed, _close),
    LateResult: Rule(_judge_late, _late),
    ApprovalRequested: Rule(_judge_requested, _request),
    ApprovalDecided: Rule(_judge_decided, _decide),
    ApprovalConsumed: Rule(_judge_consumed, _consume),
    ApprovalClosed: Rule(_judge_ended, _end),
}
