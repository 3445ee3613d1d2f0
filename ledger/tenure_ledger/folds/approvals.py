"""What became of each approval: requested, decided, consumed, closed.

Source of the rules: design section 7.
"""

from __future__ import annotations

from msgspec.structs import replace

from tenure_ledger.events import (
    ApprovalClosed,
    ApprovalConsumed,
    ApprovalDecided,
    ApprovalRequested,
)
from tenure_ledger.folds.effects import Approval, Effects
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    without,
)

__all__ = ["RULES"]


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
    ApprovalRequested: Rule(_judge_requested, _request),
    ApprovalDecided: Rule(_judge_decided, _decide),
    ApprovalConsumed: Rule(_judge_consumed, _consume),
    ApprovalClosed: Rule(_judge_ended, _end),
}
