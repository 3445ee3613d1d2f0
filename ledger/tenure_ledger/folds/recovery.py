"""Checkpoints, markers and bars: what may run again after a restart.

Source of the rules: design section 7.
"""

from __future__ import annotations

from datetime import datetime

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import (
    CheckpointCleared,
    CheckpointMode,
    CheckpointSaved,
    GenerationAdvanced,
    ReplayBarred,
)
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    Value,
    always,
)
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.values import ReplayReason

__all__ = ["CANCELLING", "RULES", "Bar", "Checkpoint", "Recovery"]

CANCELLING: frozenset[ReplayReason] = frozenset(
    {"user_cancelled", "user_cancelled_whole_stream", "context_reset", "agent_closed"}
)
"""Bars by which a person wants no more of the work: it is settled ``cancelled``, and no
model is called for it."""


class Checkpoint(Value, frozen=True):
    """The one live restart snapshot of an agent."""

    version: int
    revision: int
    mode: CheckpointMode
    keys: tuple[str, ...]
    payload: str
    """Digest of the body."""
    agent_id: str | None
    generation: int
    incarnation: str | None
    """The holding that saved it or carries it on."""
    created_at: datetime
    updated_at: datetime
    grants: tuple[str, ...] = ()
    """What its owner was granted when it was saved."""


class Bar(Value, frozen=True):
    """A reason why something must not run again, and where it was written."""

    reason: ReplayReason
    version: int


class Recovery(Value, frozen=True):
    """What a restart of this owner would be judged by."""

    checkpoint: Checkpoint | None = None
    saved: tuple[str | None, int] = (None, -1)
    """Incarnation of the holding that saved last, and the highest revision it saved."""
    stream_bars: Map[ReplayReason, int] = Map()
    """Latest bar over everything, by reason."""
    key_bars: Map[str, tuple[Bar, ...]] = Map()

    def bars(self, known: Execution) -> list[Bar]:
        """Return the bars that cover this execution, oldest first.

        A bar covers what was accepted or admitted at a lower version; what a later term
        admits anew is a new execution.
        """
        keyed = self.key_bars.get(known.key, ())
        if not known.open or not (self.stream_bars or keyed):
            return []
        found = [Bar(*pair) for pair in self.stream_bars.items()]
        found.extend(keyed)
        return sorted(
            {bar for bar in found if bar.version > known.since},
            key=lambda bar: (bar.version, bar.reason),
        )


def _judge_saved(_own: object, state: Recovery, event: CheckpointSaved) -> Judgement:
    live = state.checkpoint
    if live is None or event.revision > live.revision:
        return APPLY
    same = event.revision == live.revision and event.payload == live.payload
    return DUPLICATE if same else live.version


def _save(
    own: Ownership, state: Recovery, version: int, event: CheckpointSaved
) -> Recovery:
    before, holding = state.checkpoint, own.holding
    created = before.created_at if before is not None else event.recorded_at
    incarnation = holding.incarnation if holding else None
    saved = Checkpoint(
        version=version,
        revision=event.revision,
        mode=event.mode,
        keys=event.keys,
        payload=event.payload,
        agent_id=holding.agent_id if holding else None,
        generation=event.generation,
        incarnation=incarnation,
        created_at=created,
        updated_at=event.recorded_at,
        grants=tuple(sorted(own.grants)),
    )
    return replace(state, checkpoint=saved, saved=(incarnation, event.revision))


def _judge_cleared(
    _own: object, state: Recovery, event: CheckpointCleared
) -> Judgement:
    live = state.checkpoint
    return DUPLICATE if live is None or event.revision != live.revision else APPLY


def _clear(
    _own: object, state: Recovery, _version: int, _event: CheckpointCleared
) -> Recovery:
    return replace(state, checkpoint=None)


def _bar(_own: object, state: Recovery, version: int, event: ReplayBarred) -> Recovery:
    if event.keys is None:
        bars = state.stream_bars.set(event.reason, version)
        return replace(state, stream_bars=bars)
    key_bars = state.key_bars
    for key in event.keys:
        before = key_bars.get(key, ())
        key_bars = key_bars.set(key, (*before, Bar(event.reason, version)))
    return replace(state, key_bars=key_bars)


def _carry(
    own: Ownership, state: Recovery, _version: int, event: GenerationAdvanced
) -> Recovery:
    """Hand the snapshot to the new holding of the same agent."""
    live = state.checkpoint
    if live is None or live.agent_id != event.agent_id:
        return state
    incarnation = own.holding.incarnation if own.holding else None
    carried = replace(live, generation=event.generation, incarnation=incarnation)
    return replace(state, checkpoint=carried, saved=(incarnation, live.revision))


RULES: Rules[Recovery] = {
    CheckpointSaved: Rule(_judge_saved, _save),
    CheckpointCleared: Rule(_judge_cleared, _clear),
    ReplayBarred: Rule(always, _bar),
    GenerationAdvanced: Rule(always, _carry),
}
