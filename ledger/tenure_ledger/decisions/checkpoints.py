"""Checkpoints, the output marker and bars (design section 7)."""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.ending import CANCELLING, live_keys
from tenure_ledger.decisions.executions import admitted, start
from tenure_ledger.decisions.upkeep import descendants
from tenure_ledger.decisions.work import (
    At,
    Body,
    Context,
    Decided,
    States,
    Work,
    blocked,
    fence,
    unknown,
)
from tenure_ledger.errors import (
    AlreadyDecided,
    InvalidInput,
    NotAdmitted,
    NotFound,
    OwnerEnded,
    Rejection,
    StaleCheckpoint,
    refuse,
)
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef, ReplayReason

__all__ = [
    "BarReplay",
    "ClearCheckpoint",
    "MarkOutput",
    "SaveCheckpoint",
    "decide_bar",
    "decide_clear",
    "decide_mark",
    "decide_save",
]

_WHOLE_STREAM: frozenset[ReplayReason] = frozenset(
    {"user_cancelled_whole_stream", "agent_closed"}
)
"""Bars that reach down to every descendant spawned before them."""


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


class BarReplay(NamedTuple):
    """Say why work must not run again; unfenced."""

    owner: OwnerRef
    reason: ReplayReason
    author: str
    keys: tuple[str, ...] | None = None


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
        refusal = _unsettled(state, key)
        if refusal is not None:
            return refusal
    work = Work(states, context)
    before = state.recovery.checkpoint
    revision = _revision(state, command)
    if isinstance(revision, Rejection):
        return revision
    if before is not None and revision == before.revision:
        return work.decided(At(before.version))
    keys = command.keys
    if keys is None:
        keys = tuple(one.key for one in live_keys(state))
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


def _unsettled(state: State, key: str) -> Rejection | None:
    known = state.executions.by_key.get(key)
    if known is None or not admitted(state.ownership, known):
        return refuse(
            NotAdmitted,
            f"{key} is no execution of the live term: admit it first",
            key=key,
            generation=state.ownership.generation,
        )
    if known.settled:
        return refuse(
            AlreadyDecided,
            f"{key} was settled {known.outcome} at version {known.settled}",
            first=known.outcome,
            version=known.settled,
        )
    return None


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
    known = state.executions.by_key.get(command.message_id)
    if known is not None and admitted(state.ownership, known):
        known = state.executions.by_key.get(known.absorbed_by or known.key, known)
        if known.output:
            return work.decided(At(known.output))
    refusal = _unsettled(state, command.message_id)
    if refusal is not None or known is None:
        return refusal or refuse(NotAdmitted, "admit the message first")
    if not known.started:
        # Else the next term would take it for work that nobody began.
        start(work, owner, known)
    event = e.OutputStarted(**work.by_holder(owner), key=known.key)
    return work.decided(At(work.add(owner.stream, event)))


def decide_bar(
    states: States, command: BarReplay, context: Context
) -> Decided | Rejection:
    """Bar what is known so far, here and where the reason reaches further down."""
    owner = command.owner
    state = states[owner.stream]
    refusal = blocked(state, owner) or _barrable(state, command)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    at = _bar(work, owner, command, None)
    if command.reason in _WHOLE_STREAM:
        for child in descendants(states, owner):
            if states[child.stream].ownership.status not in {"terminal", "deleted"}:
                _bar(work, child, command._replace(owner=child, keys=None), owner)
    return work.decided(At(at))


def _barrable(state: State, command: BarReplay) -> Rejection | None:
    if not state.version:
        return unknown(command.owner)
    own = state.ownership
    if own.status == "terminal" and not state.executions.open:
        return refuse(
            OwnerEnded,
            f"{command.owner} ended at version {own.ended}: nothing runs there",
            version=own.ended,
        )
    for key in command.keys or ():
        if key not in state.executions.by_key:
            return refuse(
                NotFound,
                f"{command.owner} knows no message {key}",
                kind="execution",
                id=key,
            )
    return None


def _bar(
    work: Work, owner: OwnerRef, command: BarReplay, above: OwnerRef | None
) -> int:
    """Append the bar of one stream, unless the same bar covers all of it already.

    A stream that is quarantined or too new gets the bar alone: it is folded later.
    """
    state = work.state(owner)
    envelope = work.by(command.author, state.ownership.generation)
    barred = e.ReplayBarred(
        **envelope, reason=command.reason, keys=command.keys, above=above
    )
    if blocked(state, owner) is not None:
        return work.add(owner.stream, barred)
    covered = [
        one
        for one in state.executions.listed()
        if command.keys is None or one.key in command.keys
    ]
    at = _barred_at(state, command, covered)
    if at:
        return at
    if command.reason in CANCELLING:
        keys = {one.key for one in covered}
        for one in covered:
            if not one.started and one.absorbed_by not in keys:
                event = e.ExecutionSettled(**envelope, key=one.key, outcome="cancelled")
                work.add(owner.stream, event)
    return work.add(owner.stream, barred)


def _barred_at(state: State, command: BarReplay, covered: list[Execution]) -> int:
    """Return the version of an earlier bar that says all of this already; 0: none."""
    bars = state.recovery
    if command.keys is None:
        at = bars.stream_bars.get(command.reason, 0)
        checkpoint = bars.checkpoint
        newer = checkpoint is not None and checkpoint.version > at
        newer = newer or any(one.since > at for one in covered)
        newer = newer or state.ownership.term_version > at
        spawned = state.ownership.children.values()
        newer = newer or any(child.version > at for child in spawned)
        return 0 if newer else at
    at = 0
    for key in command.keys:
        found = [
            bar.version
            for bar in bars.key_bars.get(key, ())
            if bar.reason == command.reason
            and bar.version > state.executions.by_key[key].since
        ]
        if not found:
            return 0
        at = max(at, *found)
    return at
