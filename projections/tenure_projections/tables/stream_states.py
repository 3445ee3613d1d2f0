"""`stream_states`: the streams that this version cannot fold to their end."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.rows import Row
from tenure_projections.tables.shape import Body, Key, Table, owner_of, spec

__all__ = ["STREAM_STATES"]


def _keys(state: State) -> Iterable[Key]:
    return ((state.stream,),) if state.quarantine or state.too_new else ()


def _touched(change: Change) -> Iterable[Key]:
    # Shown by every command that meets it: what was imported came by no command.
    return {*_keys(change.before), *_keys(change.after)}


def _row(state: State, key: Key, _body: Body) -> Row | None:
    owner = owner_of(state) or (None, None)
    agent = None if owner[0] else state.stream.partition(":")[2]
    if state.too_new:
        return (*key, *owner, agent, "too_new", state.too_new, None)
    stopped = state.quarantine
    if stopped is None:
        return None
    return (*key, *owner, agent, "quarantined", stopped.version, stopped.against)


STREAM_STATES = Table(
    spec(
        "stream_states",
        "stream recovery_class owner_id agent_id state version against_version",
        "stream",
    ),
    _keys,
    _touched,
    _row,
    frozenset(),
)
