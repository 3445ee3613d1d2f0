"""Tool calls and the approvals they wait for (design section 7).

`calls` and `approvals` are the folds.
"""

from __future__ import annotations

from datetime import datetime

from immutables import Map

from tenure_ledger.events import CallOutcome, CloseReason, Decision
from tenure_ledger.folds.judgement import Value

__all__ = ["Approval", "Call", "CallKey", "Effects"]

CallKey = tuple[str, str]
"""Message id and call id."""


class Call(Value, frozen=True):
    """One tool call. Numbers are versions in the owner's stream; 0: not."""

    key: str
    call_id: str
    tool: str
    arguments: str
    """Digest of the arguments."""
    idempotency_key: str
    intended: int
    dispatched: int = 0
    completed: int = 0
    closed: int = 0
    outcome: CallOutcome | None = None
    late: int = 0
    result: str | None = None
    """Digest of the result, of a late one too."""
    intended_at: datetime | None = None
    dispatched_at: datetime | None = None
    ended_at: datetime | None = None
    """When it was completed or closed."""

    @property
    def open(self) -> bool:
        """Say whether a result may still be recorded by the holding."""
        return not (self.completed or self.closed)


class Approval(Value, frozen=True):
    """One request for a person's decision. Numbers are versions; 0: not."""

    request_id: str
    call_id: str
    tool: str
    arguments: str
    policy_version: str
    timeout_seconds: float | None
    expires_at: datetime | None
    requested: int
    decided: int = 0
    decision: Decision | None = None
    author: str | None = None
    """Who decided."""
    consumed: int = 0
    closed: int = 0
    reason: CloseReason | None = None
    requested_at: datetime | None = None
    decided_at: datetime | None = None
    ended_at: datetime | None = None
    """When it was consumed or closed."""

    @property
    def open(self) -> bool:
        """Say whether it is neither consumed nor closed, nor denied."""
        return not (self.consumed or self.closed or self.decision == "denied")


class Effects(Value, frozen=True):
    """Every call and approval of an owner."""

    calls: Map[CallKey, Call] = Map()
    open_calls: Map[CallKey, int] = Map()
    approvals: Map[str, Approval] = Map()
    open_approvals: Map[str, int] = Map()
    by_call: Map[str, str] = Map()
    """Call id -> its latest request id."""

    def listed_calls(self) -> tuple[Call, ...]:
        """Return the open calls, oldest first."""
        order = sorted(self.open_calls.items(), key=lambda pair: pair[1])
        return tuple(self.calls[at] for at, _ in order)

    def listed_approvals(self) -> tuple[Approval, ...]:
        """Return the open requests, oldest first."""
        order = sorted(self.open_approvals.items(), key=lambda pair: pair[1])
        return tuple(self.approvals[at] for at, _ in order)
