"""Approvals and tool calls."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from tenure_ledger.events.envelope import Digest, Event, Id

__all__ = [
    "ApprovalClosed",
    "ApprovalConsumed",
    "ApprovalDecided",
    "ApprovalRequested",
    "CallOutcome",
    "CloseReason",
    "Decision",
    "EffectEvent",
    "ToolCallClosed",
    "ToolCallCompleted",
    "ToolCallDispatched",
    "ToolCallIntended",
]

Decision = Literal["approved", "denied"]
CloseReason = Literal["expired", "cut", "void"]
CallOutcome = Literal["outcome_unknown", "never_started"]


class ApprovalRequested(Event, frozen=True):
    """A call waits for a person."""

    topic: Literal["approval-requested.v1"] = "approval-requested.v1"
    request_id: Id
    call_id: Id
    tool: Id
    arguments_digest: Digest
    policy_version: Id
    timeout_seconds: float | None = None
    expires_at: datetime | None = None


class ApprovalDecided(Event, frozen=True):
    """The first decision, which is final."""

    topic: Literal["approval-decided.v1"] = "approval-decided.v1"
    request_id: Id
    decision: Decision


class ApprovalConsumed(Event, frozen=True):
    """The one call that the approval was for has been dispatched."""

    topic: Literal["approval-consumed.v1"] = "approval-consumed.v1"
    request_id: Id
    key: Id
    call_id: Id


class ApprovalClosed(Event, frozen=True):
    """Nobody will decide or use it any more."""

    topic: Literal["approval-closed.v1"] = "approval-closed.v1"
    request_id: Id
    reason: CloseReason


class ToolCallIntended(Event, frozen=True):
    """The model asked for a call; its arguments are the body ``arguments``."""

    topic: Literal["tool-call-intended.v1"] = "tool-call-intended.v1"
    key: Id
    call_id: Id
    tool: Id
    arguments: Digest
    idempotency_key: Id


class ToolCallDispatched(Event, frozen=True):
    """The call may be running from here on."""

    topic: Literal["tool-call-dispatched.v1"] = "tool-call-dispatched.v1"
    key: Id
    call_id: Id


class ToolCallCompleted(Event, frozen=True):
    """The call's result, under ``result``."""

    topic: Literal["tool-call-completed.v1"] = "tool-call-completed.v1"
    key: Id
    call_id: Id
    result: Digest


class ToolCallClosed(Event, frozen=True):
    """The call has no result and none is waited for."""

    topic: Literal["tool-call-closed.v1"] = "tool-call-closed.v1"
    key: Id
    call_id: Id
    outcome: CallOutcome


EffectEvent = (
    ApprovalRequested
    | ApprovalDecided
    | ApprovalConsumed
    | ApprovalClosed
    | ToolCallIntended
    | ToolCallDispatched
    | ToolCallCompleted
    | ToolCallClosed
)
