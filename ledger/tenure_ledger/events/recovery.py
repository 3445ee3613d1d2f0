"""Restart: checkpoints, markers, bars, notices, late results."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tenure_ledger.events.envelope import Digest, Event, Id, Name
from tenure_ledger.values import Evidence, OwnerRef, ReplayReason

__all__ = [
    "CheckpointCleared",
    "CheckpointMode",
    "CheckpointSaved",
    "Fact",
    "FactKind",
    "LateResult",
    "NoticeDelivered",
    "NoticeIssued",
    "OutputStarted",
    "RecoveryDecided",
    "RecoveryEvent",
    "ReplayBarred",
]

CheckpointMode = Literal[
    "tool_approval_wait", "queued_submission", "reaction_loop", "scheduled_work"
]
FactKind = Literal[
    "unfinished",
    "output_may_have_been_seen",
    "output_completed",
    "outcome_unknown",
    "failed",
    "cancelled",
]


class Fact(BaseModel, frozen=True, extra="forbid"):
    """One line under a notice: what became of one execution or call."""

    kind: FactKind
    key: Id | None = None
    call_id: Id | None = None
    tool: Id | None = None
    reasons: tuple[ReplayReason, ...] = ()
    """Those of the notice that hold for this message, and not for all it lists."""


class CheckpointSaved(Event, frozen=True):
    """The agent's one live restart snapshot; its body is under ``payload``."""

    topic: Literal["checkpoint-saved.v1"] = "checkpoint-saved.v1"
    keys: tuple[Id, ...]
    revision: Annotated[int, Field(ge=0, le=2**63 - 1)]
    mode: CheckpointMode
    payload: Digest


class CheckpointCleared(Event, frozen=True):
    """The snapshot of that revision is gone."""

    topic: Literal["checkpoint-cleared.v1"] = "checkpoint-cleared.v1"
    reason: Id
    revision: Annotated[int, Field(ge=0, le=2**63 - 1)]


class OutputStarted(Event, frozen=True):
    """The first byte for a person is about to leave; durable before it does."""

    topic: Literal["output-started.v1"] = "output-started.v1"
    key: Id


class ReplayBarred(Event, frozen=True):
    """These executions (None: all known so far) must not run again."""

    topic: Literal["replay-barred.v1"] = "replay-barred.v1"
    reason: ReplayReason
    keys: tuple[Id, ...] | None = None
    above: OwnerRef | None = None
    """The barred ancestor whose bar reaches down to this stream."""


class RecoveryDecided(Event, frozen=True):
    """What a recovery run decided about the owner."""

    topic: Literal["recovery-decided.v1"] = "recovery-decided.v1"
    disposition: Name
    assertion: Name | None = None
    reasons: tuple[Name, ...] = ()
    detail: str = ""
    """What the assertion found, in words."""
    evidence: Evidence | None = None


class NoticeIssued(Event, frozen=True):
    """The self-healing text waits for whoever takes the work over."""

    topic: Literal["notice-issued.v1"] = "notice-issued.v1"
    notice: Id
    about: OwnerRef
    about_generation: Annotated[int, Field(ge=0)]
    event_type: Name
    reasons: tuple[Name, ...] = ()
    facts: tuple[Fact, ...] = ()


class NoticeDelivered(Event, frozen=True):
    """The notice is part of every view of this request from now on."""

    topic: Literal["notice-delivered.v1"] = "notice-delivered.v1"
    notice: Id
    key: Id


class LateResult(Event, frozen=True):
    """What became known after its holding ended: a fact, not an act."""

    topic: Literal["late-result.v1"] = "late-result.v1"
    key: Id
    call_id: Id | None = None
    outcome: Id | None = None
    result: Digest | None = None


RecoveryEvent = (
    CheckpointSaved
    | CheckpointCleared
    | OutputStarted
    | ReplayBarred
    | RecoveryDecided
    | NoticeIssued
    | NoticeDelivered
    | LateResult
)
