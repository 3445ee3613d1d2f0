"""What became of each tool call: intended, dispatched, completed, closed, late.

Source of the rules: design section 7.
"""

from __future__ import annotations

from msgspec.structs import replace

from tenure_ledger.events import (
    LateResult,
    ToolCallClosed,
    ToolCallCompleted,
    ToolCallDispatched,
    ToolCallIntended,
)
from tenure_ledger.folds.effects import Call, Effects
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    without,
)

__all__ = ["RULES"]


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


RULES: Rules[Effects] = {
    ToolCallIntended: Rule(_judge_intended, _intend),
    ToolCallDispatched: Rule(_judge_dispatched, _dispatch),
    ToolCallCompleted: Rule(_judge_completed, _complete),
    ToolCallClosed: Rule(_judge_closed, _close),
    LateResult: Rule(_judge_late, _late),
}
