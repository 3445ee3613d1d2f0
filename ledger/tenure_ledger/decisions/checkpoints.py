"""Checkpoints and the output marker (design section 7)."""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.executions import start
from tenure_ledger.decisions.fence import fence
from tenure_ledger.decisions.live import (
    live_execution,
    live_executions,
    open_execution,
    refuse_settled,
)
from tenure_ledger.decisions.work import At, Body, Context, Decided, States, Work
from tenure_ledger.errors import InvalidInput, Rejection, StaleCheckpoint, refuse
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "ClearCheckpoint",
    "MarkOutput",
    "SaveCheckpoint",
    "decide_clear",
    "decide_mark",
    "decide_save",
]


class SaveCheckpoint(NamedTuple):
    """Replace the agent's one live restart snapshot."""

    authority: Authority
    mode: e.CheckpointMode
    payload: Body
    keys: tuple[str, ...] | None = None
    revision: int | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner whose work it would resume."""
        return self.authority.owner


class ClearCheckpoint(NamedTuple):
    """Drop the live snapshot: there is nothing to resume."""

    authority: Authority
    reason: str = "done"
    revision: int | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner whose snapshot it is."""
        return self.authority.owner


class MarkOutput(NamedTuple):
    """Say that output for a person is about to start."""

    authority: Authority
    message_id: str

    @property
    def owner(self) -> OwnerRef:
        """The owner whose execution speaks."""
        return self.authority.owner


def decide_save(
    states: States, command: SaveCheckpoint, context: Context
) -> Decided | Rejection:
    """Store the snapshot, unless a newer one is stored."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    if state.ownership.agent_id is None:
        return refuse(
            InvalidInput,
            f"{owner} has no agent, so it has no checkpoint: save its parent's",
        )
    for key in command.keys or ():
        known = open_execution(state, key)
        if isinstance(known, Rejection):
            return known
    work = Work(states, context)
    before = state.recovery.checkpoint
    revision = _revision(state, command)
    if isinstance(revision, Rejection):
        return revision
    if before is not None and revision == before.revision:
        return work.decided(At(before.version))
    keys = command.keys
    if keys is None:
        keys = tuple(one.key for one in live_executions(state))
    event = e.CheckpointSaved(
        **work.by_holder(owner),
        keys=keys,
        revision=revision,
        mode=command.mode,
        payload=command.payload.digest,
    )
    return work.decided(At(work.add(owner.stream, event, command.payload)))


def _revision(state: State, command: SaveCheckpoint) -> int | Rejection:
    """Return the revision to store; that of the live one when it is the same again."""
    before = state.recovery.checkpoint
    holding = state.ownership.holding
    incarnation, saved = state.recovery.saved
    highest = saved if holding and incarnation == holding.incarnation else -1
    if before is not None:
        highest = max(highest, before.revision)
    revision = highest + 1 if command.revision is None else command.revision
    if revision >= 2**63:
        return refuse(
            InvalidInput, f"revision {highest} is the highest there is for this holding"
        )
    if revision > highest:
        return revision
    if before is not None and _same(before, command, revision):
        return revision
    return refuse(
        StaleCheckpoint,
        f"revision {highest} is stored and {revision} is not newer: drop it",
        revision=highest,
        version=before.version if before else 0,
    )


def _same(before: Checkpoint, command: SaveCheckpoint, revision: int) -> bool:
    keys = command.keys is None or command.keys == before.keys
    return (
        keys
        and revision == before.revision
        and command.payload.digest == before.payload
        and command.mode == before.mode
    )


def decide_clear(
    states: States, command: ClearCheckpoint, context: Context
) -> Decided | Rejection:
    """Drop the live snapshot; none costs no event, a newer one than named stays."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    before = state.recovery.checkpoint
    if before is None:
        return work.decided(At(state.version))
    if command.revision is not None and command.revision != before.revision:
        return refuse(
            StaleCheckpoint,
            f"revision {before.revision} is stored, not {command.revision}: it stays",
            revision=before.revision,
            version=before.version,
        )
    event = e.CheckpointCleared(
        **work.by_holder(owner), reason=command.reason, revision=before.revision
    )
    return work.decided(At(work.add(owner.stream, event)))


def decide_mark(
    states: States, command: MarkOutput, context: Context
) -> Decided | Rejection:
    """Make the marker durable, before the first byte leaves."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    known = live_execution(state, command.message_id)
    if isinstance(known, Rejection):
        return known
    lead = state.executions.by_key.get(known.absorbed_by or known.key, known)
    if lead.output:
        return work.decided(At(lead.output))
    if known.settled:
        return refuse_settled(known)
    if not lead.started:
        # Else the next term would take it for work that nobody began.
        start(work, owner, lead)
    event = e.OutputStarted(**work.by_holder(owner), key=lead.key)
    return work.decided(At(work.add(owner.stream, event)))
