"""Every event that the ledger keeps: one frozen model each, one discriminated union.

An event is a **header**: envelope, ids, keys, versions, digests; all that decides. What
a person may have written lies in the table ``payloads`` under the digest that the
header names. Stored topics are the literals below, never module paths. A field's
default belongs to the version of its topic and never changes, since defaults are not
stored. To change an event, give the new shape the next topic and an upcaster
(`tenure_ledger.codec`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from tenure_ledger.values import (
    Boundary,
    Evidence,
    Origin,
    OwnerRef,
    ReplayReason,
)

UNSEALED = datetime(1, 1, 1, tzinfo=UTC)
"""``recorded_at`` of an event that no shell has sealed yet."""

Id = Annotated[str, Field(min_length=1, max_length=1600)]
"""An id that was checked at the edge; the bound holds for composed ids too."""
Name = Annotated[str, Field(min_length=1, max_length=64)]
Digest = Annotated[str, Field(min_length=1, max_length=256)]
Version = Annotated[int, Field(ge=0)]
"""A version in a stream: from 1; 0 names nothing on record."""

AdvanceReason = Literal[
    "takeover",
    "migration",
    "lease_renewal",
    "instance_restart",
    "succession",
    "reclaim",
    "adopted",
]
CutOutcome = Literal["accepted", "continue", "forced"]
SettleOutcome = Literal[
    "completed",
    "failed",
    "cancelled",
    "retired",
    "stripped",
    "closed_in_recovery",
    "outcome_unknown",
]
StripVerdict = Literal["stale_admitted", "stale_unadmitted"]
CheckpointMode = Literal[
    "tool_approval_wait", "queued_submission", "reaction_loop", "scheduled_work"
]
Decision = Literal["approved", "denied"]
CloseReason = Literal["expired", "cut", "void"]
CallOutcome = Literal["outcome_unknown", "never_started"]
FactKind = Literal[
    "unfinished",
    "output_may_have_been_seen",
    "output_completed",
    "outcome_unknown",
]


class Event(BaseModel, frozen=True, extra="forbid"):
    """The envelope that every event carries (design section 4).

    A decision fills ``author``, ``generation``, ``fenced``; the shell seals the rest.
    """

    topic: str
    """The stored name, a literal with its version."""
    event_id: str = ""
    """UUID4; of a grant it is the ``incarnation`` of the holding it gives."""
    command_id: str = ""
    index: Annotated[int, Field(ge=0)] = 0
    """Place of this event within its command."""
    count: Annotated[int, Field(ge=1)] = 1
    """Number of events of the command, over all its streams."""
    author: Id
    generation: Annotated[int, Field(ge=0, le=2**63 - 1)]
    """The live generation it was accepted under; of an unfenced one the generation it
    is about."""
    fenced: bool = False
    """Written by the live holding: that is proof of life."""
    recorded_at: datetime = UNSEALED
    """UTC, from the ledger's clock. Never decides order."""
    schema_version: int = 1
    previous_hash: str = ""
    """Hex hash of the event before it in the stream."""
    ignorable: bool = False
    """A version that does not know this event may pass over it."""


class Fact(BaseModel, frozen=True, extra="forbid"):
    """One line under a notice: what became of one execution or call."""

    kind: FactKind
    key: Id | None = None
    call_id: Id | None = None
    tool: Id | None = None


# --- ownership


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


# --- relay


class RetirementCut(Event, frozen=True):
    """The term ends here. ``handover`` is the digest of the body with the hand-over."""

    topic: Literal["retirement-cut.v1"] = "retirement-cut.v1"
    outcome: CutOutcome
    boundary: Boundary | None = None
    handover: Digest | None = None


class SubmissionAccepted(Event, frozen=True):
    """The ledger has taken a message in. It lets nothing pass.

    ``key`` is the physical user message id; with the stream's owner it is the
    `ChatExecutionKey`. So it is in every event below.
    """

    topic: Literal["submission-accepted.v1"] = "submission-accepted.v1"
    key: Id
    sender: Id | None = None
    content_digest: Digest | None = None
    vouched_human: bool = False


class ExecutionAdmitted(Event, frozen=True):
    """The message is an execution of the live term, with all that it absorbed."""

    topic: Literal["execution-admitted.v1"] = "execution-admitted.v1"
    key: Id
    origin: Origin
    sender: Id | None = None
    content_digest: Digest | None = None
    absorbed: tuple[Id, ...] = ()
    carried_from: Version | None = None
    """Version of the acceptance that a cut carried over."""


class ExecutionStarted(Event, frozen=True):
    """Work began; ``into`` names the running execution that took the message in."""

    topic: Literal["execution-started.v1"] = "execution-started.v1"
    key: Id
    into: Id | None = None


class ExecutionSettled(Event, frozen=True):
    """The first outcome of an execution, which is final."""

    topic: Literal["execution-settled.v1"] = "execution-settled.v1"
    key: Id
    outcome: SettleOutcome


class StaleRequestStripped(Event, frozen=True):
    """The gate kept a leftover out, for ever. Its id is the interrupt's id."""

    topic: Literal["stale-request-stripped.v1"] = "stale-request-stripped.v1"
    key: Id
    verdict: StripVerdict
    cut: Version
    interrupt_id: Id


class InterruptSettled(Event, frozen=True):
    """The one final answer to the clean-up of a stripped request."""

    topic: Literal["interrupt-settled.v1"] = "interrupt-settled.v1"
    interrupt_id: Id
    outcome: Id


class HistoryRewritten(Event, frozen=True):
    """The host compacted its history: views start at the floor from now on."""

    topic: Literal["history-rewritten.v1"] = "history-rewritten.v1"
    history_rewrite_generation: Annotated[int, Field(ge=0, le=2**63 - 1)]
    prompt_floor: Id | None = None
    checkpoint_seq: Id | None = None
    state: Digest | None = None


# --- recovery


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


# --- approvals and effects


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


# --- upkeep


class QuarantineResolved(Event, frozen=True):
    """Of two contradicting events, ``keep`` stands and ``drop`` does not."""

    topic: Literal["quarantine-resolved.v1"] = "quarantine-resolved.v1"
    keep: Version
    drop: Version


class BodiesErased(Event, frozen=True):
    """The bodies of this stream are gone; chain and decisions stand."""

    topic: Literal["bodies-erased.v1"] = "bodies-erased.v1"
    reason: Id


class VerdictGiven(Event, frozen=True):
    """A gate's verdict, kept only where the host asked for it."""

    topic: Literal["verdict-given.v1"] = "verdict-given.v1"
    key: Id
    verdict: Name
    cut: Version


EventUnion = Annotated[
    OwnershipClaimed
    | GenerationAdvanced
    | ChildSpawned
    | AuthorityGranted
    | AuthorityRevoked
    | OwnerTerminated
    | ConversationDeleted
    | AgentBound
    | AgentReleased
    | RetirementCut
    | SubmissionAccepted
    | ExecutionAdmitted
    | ExecutionStarted
    | ExecutionSettled
    | StaleRequestStripped
    | InterruptSettled
    | HistoryRewritten
    | CheckpointSaved
    | CheckpointCleared
    | OutputStarted
    | ReplayBarred
    | RecoveryDecided
    | NoticeIssued
    | NoticeDelivered
    | LateResult
    | ApprovalRequested
    | ApprovalDecided
    | ApprovalConsumed
    | ApprovalClosed
    | ToolCallIntended
    | ToolCallDispatched
    | ToolCallCompleted
    | ToolCallClosed
    | QuarantineResolved
    | BodiesErased
    | VerdictGiven,
    Field(discriminator="topic"),
]
"""Every event, told apart by its topic."""


class Unknown(NamedTuple):
    """A stored event of a newer version: shown, never folded."""

    topic: str
    ignorable: bool
    header: Mapping[str, Any] = MappingProxyType({})
    """The stored JSON, as it is."""


class Recorded(NamedTuple):
    """One event where it is stored."""

    position: int
    stream: str
    version: int
    hash: bytes
    event: Event | Unknown
