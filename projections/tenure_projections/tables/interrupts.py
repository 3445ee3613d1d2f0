"""`interrupts`: each stripped request, and the end of its clean-up."""

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
    spec,
)

__all__ = ["INTERRUPTS"]


def _keys(state: State) -> Iterable[Key]:
    owner = owner_of(state)
    return ((*owner, at) for at in state.relay.interrupts) if owner else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before.relay.interrupts, change.after.relay.interrupts
    owner = owner_of(change.after)
    if after is before or owner is None:
        return ()
    found = fields_of(change.events)
    named = {str(fields.get("interrupt_id", "")) for fields in found}
    return [(*owner, at) for at in sorted(named) if at in after]


def _row(state: State, key: Key, _body: Body) -> Row | None:
    known = state.relay.interrupts.get(str(key[-1]))
    if known is None:
        return None
    return (
        *key,
        known.key,
        known.verdict,
        known.cut,
        known.author,
        known.opened,
        moment(known.opened_at),
        known.outcome,
        known.settled or None,
        moment(known.settled_at),
    )


INTERRUPTS = Table(
    spec(
        "interrupts",
        "recovery_class session_id interrupt_id physical_user_message_id verdict "
        "cut_version author stripped_version stripped_at outcome settled_version "
        "settled_at",
        "recovery_class session_id interrupt_id",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"relay"}),
)
