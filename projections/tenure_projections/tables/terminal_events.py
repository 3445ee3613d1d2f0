"""`recovery_owner_terminal_events`: each end of each generation (seed 000 1.3)."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.folds.ownership import Terminal
from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.rows import Row
from tenure_projections.tables.shape import (
    Body,
    Key,
    Table,
    moment,
    owner_of,
    readable,
    spec,
)

__all__ = ["RECOVERY_OWNER_TERMINAL_EVENTS"]


def _ends(state: State) -> dict[Key, Terminal]:
    owner = owner_of(state)
    if owner is None:
        return {}
    ends = sorted(state.ownership.ends.values(), key=lambda end: -end.version)
    # The first of a generation and kind is final, so it is the one that is kept.
    return {(*owner, end.generation, end.event_type): end for end in ends}


def _touched(change: Change) -> Iterable[Key]:
    if change.after.ownership.ends is change.before.ownership.ends:
        return ()
    return _ends(change.after)


def _row(state: State, key: Key, _body: Body) -> Row | None:
    end = _ends(state).get(key)
    if end is None:
        return None
    payload = readable(
        {
            "terminal_status": end.status,
            "incarnation": end.incarnation,
            "author": end.author,
            "version": end.version,
        }
    )
    return (*key, moment(end.at), payload)


RECOVERY_OWNER_TERMINAL_EVENTS = Table(
    spec(
        "recovery_owner_terminal_events",
        "recovery_class owner_id generation event_type created_at payload_json",
        "recovery_class owner_id generation event_type",
    ),
    _ends,
    _touched,
    _row,
    frozenset({"ownership"}),
)
