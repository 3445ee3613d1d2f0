"""Who holds an owner: grants, spawns, ends, and the agents' streams."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from tenure_ledger.events.envelope import Event, Id, Name
from tenure_ledger.values import Evidence, OwnerRef

__all__ = [
    "AdvanceReason",
    "AgentBound",
    "AgentReleased",
    "AuthorityGranted",
    "AuthorityRevoked",
    "ChildSpawned",
    "ConversationDeleted",
    "GenerationAdvanced",
    "OwnerTerminated",
    "OwnershipClaimed",
    "OwnershipEvent",
]

AdvanceReason = Literal[
    "takeover",
    "migration",
    "lease_renewal",
    "instance_restart",
    "succession",
    "reclaim",
    "adopted",
]


Floor = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Not 0: what a restored backup lost may have given out generations up to this one, so
the grant's own is the next above it."""


class OwnershipClaimed(Event, frozen=True):
    """Generation 1: the first grant of an owner (or an imported beginning)."""

    topic: Literal["ownership-claimed.v1"] = "ownership-claimed.v1"
    agent_id: Id | None = None
    process: Id | None = None
    lease_until: datetime | None = None
    parent: OwnerRef | None = None
    """The owner whose holder spawned this one."""
    grants: tuple[Id, ...] = ()
    grants_until: datetime | None = None
    floor: Floor = 0


class GenerationAdvanced(Event, frozen=True):
    """The owner's generation rises by one; ``reason`` says why."""

    topic: Literal["generation-advanced.v1"] = "generation-advanced.v1"
    reason: AdvanceReason
    agent_id: Id | None = None
    process: Id | None = None
    lease_until: datetime | None = None
    previous_agent_id: Id | None = None
    evidence: Evidence | None = None
    override: bool = False
    parent: OwnerRef | None = None
    """The spawning owner, when a spawn gave this grant."""
    grants: tuple[Id, ...] = ()
    grants_until: datetime | None = None
    floor: Floor = 0


class ChildSpawned(Event, frozen=True):
    """The parent's side of a spawn."""

    topic: Literal["child-spawned.v1"] = "child-spawned.v1"
    child: OwnerRef
    agent_id: Id | None = None
    child_generation: Annotated[int, Field(ge=1)]


class AuthorityGranted(Event, frozen=True):
    """The parent's holder grants its child more, until a time or for good."""

    topic: Literal["authority-granted.v1"] = "authority-granted.v1"
    grants: tuple[Id, ...]
    until: datetime | None = None


class AuthorityRevoked(Event, frozen=True):
    """Grants are taken back; with ``ends_holding`` a used thing loses its holder."""

    topic: Literal["authority-revoked.v1"] = "authority-revoked.v1"
    grants: tuple[Id, ...] = ()
    ends_holding: bool = False


class OwnerTerminated(Event, frozen=True):
    """The owner came to its end; only a claim starts it again."""

    topic: Literal["owner-terminated.v1"] = "owner-terminated.v1"
    event_type: Name
    terminal_status: str


class ConversationDeleted(Event, frozen=True):
    """The owner is gone for good, and so is what hangs on it."""

    topic: Literal["conversation-deleted.v1"] = "conversation-deleted.v1"


class AgentBound(Event, frozen=True):
    """In the agent's stream: it holds this owner."""

    topic: Literal["agent-bound.v1"] = "agent-bound.v1"
    owner: OwnerRef


class AgentReleased(Event, frozen=True):
    """In the agent's stream: it does not hold this owner any more."""

    topic: Literal["agent-released.v1"] = "agent-released.v1"
    owner: OwnerRef


OwnershipEvent = (
    OwnershipClaimed
    | GenerationAdvanced
    | ChildSpawned
    | AuthorityGranted
    | AuthorityRevoked
    | OwnerTerminated
    | ConversationDeleted
    | AgentBound
    | AgentReleased
)
