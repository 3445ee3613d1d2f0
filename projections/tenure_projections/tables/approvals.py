"""`approvals`: each request for a person's decision."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.folds.effects import Approval
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

__all__ = ["APPROVALS"]


def _keys(state: State) -> Iterable[Key]:
    owner = owner_of(state)
    return ((*owner, at) for at in state.effects.approvals) if owner else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before.effects.approvals, change.after.effects.approvals
    owner = owner_of(change.after)
    if after is before or owner is None:
        return ()
    found = fields_of(change.events)
    named = {str(fields.get("request_id", "")) for fields in found}
    return [(*owner, at) for at in sorted(named) if at in after]


def _row(state: State, key: Key, _body: Body) -> Row | None:
    known = state.effects.approvals.get(str(key[-1]))
    if known is None:
        return None
    return (
        *key,
        known.call_id,
        known.tool,
        known.arguments,
        known.policy_version,
        _state(known),
        known.decision,
        known.author,
        known.reason,
        known.timeout_seconds,
        moment(known.expires_at),
        known.requested,
        known.decided or None,
        known.consumed or None,
        known.closed or None,
        moment(known.requested_at),
        moment(known.decided_at),
        moment(known.ended_at),
    )


def _state(known: Approval) -> str:
    if known.consumed:
        return "consumed"
    if known.closed:
        return "closed"
    return known.decision or "waiting"


APPROVALS = Table(
    spec(
        "approvals",
        "recovery_class owner_id request_id call_id tool arguments_digest "
        "policy_version state decision decided_by close_reason timeout_seconds "
        "expires_at requested_version decided_version consumed_version closed_version "
        "requested_at decided_at ended_at",
        "recovery_class owner_id request_id",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"effects"}),
)
