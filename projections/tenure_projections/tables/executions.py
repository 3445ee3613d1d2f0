"""`chat_executions`: what became of each message."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.folds.executions import Execution
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

__all__ = ["CHAT_EXECUTIONS"]


def _keys(state: State) -> Iterable[Key]:
    owner = owner_of(state)
    return ((*owner, key) for key in state.executions.by_key) if owner else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before.executions, change.after.executions
    same_holder = change.after.ownership is change.before.ownership
    owner = owner_of(change.after)
    if owner is None or (after.by_key is before.by_key and same_holder):
        return ()
    found: set[str] = set()
    for fields in fields_of(change.events):
        key = fields.get("key")
        if isinstance(key, str):
            # An absorbed message shares start and settle of the one that absorbed it.
            found.update((key, *_absorbed(before.by_key.get(key))))
            found.update(fields.get("absorbed", ()))
    if not same_holder and _moved(change):
        # Who is open, and in which term, is told anew when a term ends or begins.
        for key in (*before.open, *after.open):
            found.update((key, *_absorbed(before.by_key.get(key))))
    return [(*owner, key) for key in sorted(found) if key in after.by_key]


def _absorbed(known: Execution | None) -> tuple[str, ...]:
    return known.absorbed if known is not None else ()


def _moved(change: Change) -> bool:
    before, after = change.before.ownership, change.after.ownership
    return (before.term, before.status) != (after.term, after.status)


def _row(state: State, key: Key, _body: Body) -> Row | None:
    known = state.executions.by_key.get(str(key[-1]))
    if known is None:
        return None
    return (
        *key,
        _status(state, known),
        known.outcome,
        known.origin,
        known.sender,
        known.digest,
        int(known.human),
        known.term,
        known.generation,
        known.incarnation,
        readable([*known.absorbed]) if known.absorbed else None,
        known.absorbed_by,
        known.into,
        known.accepted or None,
        known.admitted or None,
        known.started or None,
        known.output or None,
        known.settled or None,
        known.stripped or None,
        known.verdict,
        known.late or None,
        moment(known.known_at),
        moment(known.admitted_at),
        moment(known.started_at),
        moment(known.ended_at),
    )


def _status(state: State, known: Execution) -> str:
    own = state.ownership
    if not known.open:
        return "settled" if known.settled else "stripped"
    if own.status == "deleted":
        return "lapsed"
    if known.admitted and own.running and known.term == own.term:
        return "started" if known.started else "admitted"
    return "waiting" if known.accepted else "lapsed"


CHAT_EXECUTIONS = Table(
    spec(
        "chat_executions",
        "recovery_class session_id physical_user_message_id status outcome origin "
        "sender content_digest human term generation incarnation absorbed_json "
        "absorbed_by taken_into accepted_version admitted_version started_version "
        "output_version settled_version stripped_version verdict late_version "
        "known_at admitted_at started_at ended_at",
        "recovery_class session_id physical_user_message_id",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"ownership", "executions"}),
)
