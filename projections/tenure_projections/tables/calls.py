"""`tool_calls`: each tool call, and whether it may have run."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.folds.effects import Call
from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.rows import Row
from tenure_projections.tables.shape import (
    Body,
    Key,
    Table,
    fields_of,
    moment,
    owner_of,
    spec,
)

__all__ = ["TOOL_CALLS"]


def _keys(state: State) -> Iterable[Key]:
    owner = owner_of(state)
    return ((*owner, *at) for at in state.effects.calls) if owner else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before.effects.calls, change.after.effects.calls
    owner = owner_of(change.after)
    if after is before or owner is None:
        return ()
    named = {
        (str(fields.get("key", "")), str(fields.get("call_id", "")))
        for fields in fields_of(change.events)
    }
    return [(*owner, *at) for at in sorted(named) if at in after]


def _row(state: State, key: Key, _body: Body) -> Row | None:
    known = state.effects.calls.get((str(key[-2]), str(key[-1])))
    if known is None:
        return None
    return (
        *key,
        known.tool,
        _state(known),
        known.outcome,
        known.idempotency_key,
        known.arguments,
        known.result,
        known.intended,
        known.dispatched or None,
        known.completed or None,
        known.closed or None,
        known.late or None,
        moment(known.intended_at),
        moment(known.dispatched_at),
        moment(known.ended_at),
    )


def _state(known: Call) -> str:
    if known.completed:
        return "completed"
    if known.closed:
        return "closed"
    return "dispatched" if known.dispatched else "intended"


TOOL_CALLS = Table(
    spec(
        "tool_calls",
        "recovery_class owner_id physical_user_message_id call_id tool state outcome "
        "idempotency_key arguments_digest result_digest intended_version "
        "dispatched_version completed_version closed_version late_version intended_at "
        "dispatched_at ended_at",
        "recovery_class owner_id physical_user_message_id call_id",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"effects"}),
)
