"""`recovery_owners`: who owns what, now (seed 000 section 1.1)."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.rows import Row
from tenure_projections.tables.shape import Body, Key, Table, moment, owner_of, spec

__all__ = ["RECOVERY_OWNERS"]


def _keys(state: State) -> Iterable[Key]:
    owner = owner_of(state)
    return (owner,) if owner and state.ownership.status != "absent" else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before, change.after
    if (
        after.ownership is before.ownership
        and after.executions.at_work is before.executions.at_work
    ):
        return ()
    return _keys(after)


def _row(state: State, key: Key, _body: Body) -> Row | None:
    own, at_work = state.ownership, state.executions.at_work
    if own.active_at is None:
        return None
    ended_at, status = None, None
    if own.status == "terminal" and own.terminal is not None:
        ended_at, status = own.terminal.at, own.terminal.status
    elif own.status == "cut" and own.cut is not None:
        # The session goes on; what ended its term is shown until the next one.
        status = own.cut.terminal_status
    elif own.status == "deleted":
        ended_at, status = own.ended_at, "deleted"
    return (
        *key,
        own.generation,
        own.agent_id,
        at_work.key if at_work.term == own.term else None,
        moment(own.active_at),
        moment(ended_at),
        status,
    )


RECOVERY_OWNERS = Table(
    spec(
        "recovery_owners",
        "recovery_class owner_id generation agent_id message_id active_at terminal_at "
        "terminal_status",
        "recovery_class owner_id",
        unique="agent_id",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"ownership", "executions"}),
)
