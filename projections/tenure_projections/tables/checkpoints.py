"""`runtime_restart_checkpoints`: each agent's one live snapshot (seed 000 1.2)."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.bodies import Json, body_value, sound_body
from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.rows import Row
from tenure_projections.tables.shape import (
    Body,
    Key,
    Table,
    milliseconds,
    owner_of,
    readable,
    spec,
)

__all__ = ["RUNTIME_RESTART_CHECKPOINTS"]


def _keys(state: State) -> Iterable[Key]:
    live = state.recovery.checkpoint
    return ((live.agent_id,),) if live is not None and live.agent_id else ()


def _touched(change: Change) -> Iterable[Key]:
    before, after = change.before, change.after
    if after.recovery.checkpoint is before.recovery.checkpoint:
        return ()
    return (*_keys(before), *_keys(after))


def _row(state: State, key: Key, body: Body) -> Row | None:
    live, owner = state.recovery.checkpoint, owner_of(state)
    if live is None or owner is None or (live.agent_id,) != key:
        return None
    # A table shows nothing that the events do not vouch for.
    stored = sound_body(body(state.stream, live.payload), live.payload, state.stream)
    payload, config = _parts(stored)
    return (
        live.agent_id,
        live.mode,
        payload,
        milliseconds(live.created_at),
        milliseconds(live.updated_at),
        *owner,
        config,
        live.generation,
    )


def _parts(stored: bytes | None) -> tuple[str | None, str | None]:
    """Return payload and execution config as JSON; None for what was erased."""
    if stored is None:
        return None, None
    value: Json = body_value(stored)
    if not isinstance(value, dict):
        return readable(value), None
    config = value.get("execution_config")
    payload = readable(value.get("payload"))
    return payload, None if config is None else readable(config)


RUNTIME_RESTART_CHECKPOINTS = Table(
    spec(
        "runtime_restart_checkpoints",
        "agent_id mode payload_json created_at updated_at recovery_class "
        "recovery_owner_id execution_config_json generation",
        "agent_id",
    ),
    _keys,
    _touched,
    _row,
    frozenset({"recovery"}),
)
