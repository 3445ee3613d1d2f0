"""`notices`: the self-healing texts, and how far each one got."""

from __future__ import annotations

from collections.abc import Iterable

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
    readable,
    spec,
)

__all__ = ["NOTICES"]


def _keys(state: State) -> Iterable[Key]:
    owner = owner_of(state)
    return ((*owner, at) for at in state.notices.by_id) if owner else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before.notices, change.after.notices
    owner = owner_of(change.after)
    if after.by_id is before.by_id or owner is None:
        return ()
    found = fields_of(change.events)
    named = {str(fields.get("notice", "")) for fields in found}
    if any("outcome" in fields or fields.get("absorbed") for fields in found):
        # A settle finishes or frees the notices that its execution was given, and an
        # execution takes over those of what it absorbs.
        named.update((*before.pending, *after.pending))
    return [
        (*owner, at)
        for at in sorted(named)
        if at in after.by_id and after.by_id[at] is not before.by_id.get(at)
    ]


def _row(state: State, key: Key, _body: Body) -> Row | None:
    known = state.notices.by_id.get(str(key[-1]))
    if known is None:
        return None
    return (
        *key,
        known.about.recovery_class,
        known.about.owner_id,
        known.generation,
        known.event_type,
        readable([*known.reasons]),
        readable([fact.model_dump(exclude_defaults=True) for fact in known.facts]),
        known.text,
        known.version,
        moment(known.issued_at),
        known.delivered or None,
        known.key,
        moment(known.delivered_at),
        known.done or None,
        moment(known.done_at),
    )


NOTICES = Table(
    spec(
        "notices",
        "recovery_class owner_id notice_id about_class about_id about_generation "
        "event_type reasons_json facts_json text issued_version issued_at "
        "delivered_version delivered_to delivered_at done_version done_at",
        "recovery_class owner_id notice_id",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"notices"}),
)
