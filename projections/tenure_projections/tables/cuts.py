"""`retirement_cuts`: the end of each term."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.rows import Row
from tenure_projections.tables.shape import Body, Key, Table, moment, owner_of, spec

__all__ = ["RETIREMENT_CUTS"]


def _keys(state: State) -> Iterable[Key]:
    owner = owner_of(state)
    return ((*owner, version) for version in state.ownership.cuts) if owner else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before.ownership.cuts, change.after.ownership.cuts
    owner = owner_of(change.after)
    if after is before or owner is None:
        return ()
    versions = (one.version for one in change.events)
    return [(*owner, at) for at in versions if at in after]


def _row(state: State, key: Key, _body: Body) -> Row | None:
    version = key[-1]
    cut = state.ownership.cuts.get(version) if isinstance(version, int) else None
    if cut is None:
        return None
    return (
        *key,
        cut.generation,
        cut.incarnation,
        cut.agent_id,
        cut.outcome,
        cut.boundary.message_id if cut.boundary else None,
        cut.boundary.index if cut.boundary else None,
        cut.handover,
        cut.author,
        moment(cut.at),
    )


RETIREMENT_CUTS = Table(
    spec(
        "retirement_cuts",
        "recovery_class session_id cut_version generation incarnation agent_id outcome "
        "boundary_message_id boundary_index handover_digest author cut_at",
        "recovery_class session_id cut_version",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"ownership"}),
)
