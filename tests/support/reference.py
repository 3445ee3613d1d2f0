"""A tiny reference for the ledger: who may do what, in plain dicts.

Written from the design alone (sections 2, 3, 5 and 6); it shares no rule with the
source. A question is answered by a `Plan`: the refusals of which any one is right
(none: the ledger must say yes), and what changes when it said yes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from tenure import Authority, Evidence, OwnerRef

__all__ = [
    "Call",
    "Checkpoint",
    "Holder",
    "Message",
    "Owner",
    "Plan",
    "Reference",
    "Request",
    "codes",
    "no",
    "run",
]

Status = Literal["absent", "imported", "live", "cut", "terminal", "revoked", "deleted"]


def _nothing(_outcome: object) -> None:
    """Change nothing."""


class Plan(NamedTuple):
    """What must come of a call."""

    refused: frozenset[str] = frozenset()
    """Codes of which the refusal must have one; empty: it must be accepted."""
    then: Callable[[object], None] = _nothing
    """Run with the outcome of an accepted call."""
    writes: bool | None = True
    """It appends something; a refusal appends only a late result. None: either."""
    same: int = 0
    """The version that an earlier call had, which this one must have too; 0: open."""


def codes(*found: str | None) -> frozenset[str]:
    """Return the codes that are there."""
    return frozenset(code for code in found if code)


def run(change: Callable[[], object]) -> Callable[[object], None]:
    """Return the change as what follows from any outcome."""

    def then(_outcome: object) -> None:
        change()

    return then


def no(*found: str) -> Plan:
    """Return the plan of a refusal that appends nothing."""
    return Plan(frozenset(found), writes=False)


@dataclass
class Message:
    """What became of one message."""

    key: str
    accepted: int = 0
    """Its place among the accepted ones; 0: not accepted."""
    human: bool = False
    digest: str | None = None
    term: int = 0
    """The latest term that it was admitted to; 0: none."""
    lead: str | None = None
    """The message that absorbed it."""
    absorbed: tuple[str, ...] = ()
    started: int = 0
    into: str | None = None
    output: bool = False
    outcome: str | None = None
    settled: int = 0
    stripped: bool = False
    late: bool = False
    generation: int = 0
    """The generation of its latest admission."""
    holding: str | None = None
    """The holding of its latest admission."""
    by: str | None = None
    """The holding that started it."""
    bars: set[str] = field(default_factory=set[str])
    """Reasons that cover it, barred in this term."""
    old_bars: set[str] = field(default_factory=set[str])
    """Reasons that were barred before this term, until it is admitted anew."""
    named: set[str] = field(default_factory=set[str])
    """Reasons of the bars that named it in this term."""

    @property
    def covered(self) -> set[str]:
        """Return the reasons of the bars that cover it."""
        return self.bars | self.old_bars

    @property
    def open(self) -> bool:
        """Neither settled nor stripped."""
        return self.outcome is None and not self.stripped


@dataclass
class Call:
    """One tool call."""

    tool: str
    arguments: object
    dispatched: bool = False
    by: str | None = None
    """The holding that dispatched it."""
    done: bool = False
    result: object = None
    closed: str | None = None
    late: bool = False


@dataclass
class Request:
    """One request for approval."""

    call_id: str
    tool: str
    arguments: object
    policy: str
    expires: datetime | None
    term: int = 0
    """The term that asked."""
    working: str | None = None
    """The execution that was started last, and not settled, when it was asked."""
    decision: str | None = None
    consumed: bool = False
    closed: str | None = None


@dataclass
class Checkpoint:
    """The one live restart snapshot."""

    revision: int
    payload: object
    keys: tuple[str, ...]


@dataclass
class Owner:
    """One owner."""

    ref: OwnerRef
    status: Status = "absent"
    generation: int = 0
    incarnation: str | None = None
    agent: str | None = None
    proof: int = 0
    """Version of the holder's last sign of life."""
    term: int = 0
    cut: set[str] = field(default_factory=set[str])
    """The holdings that a cut ended."""
    terminal: tuple[str, str] | None = None
    parent: OwnerRef | None = None
    children: dict[OwnerRef, bool] = field(default_factory=dict[OwnerRef, bool])
    """Each child, and whether it is a used thing."""
    grants: dict[str, datetime | None] = field(
        default_factory=dict[str, "datetime | None"]
    )
    messages: dict[str, Message] = field(default_factory=dict[str, Message])
    taken_in: int = 0
    checkpoint: Checkpoint | None = None
    revision: int = -1
    """The highest revision that this holding saved."""
    stream_bars: set[str] = field(default_factory=set[str])
    """Reasons of the bars of this term that named nothing."""
    rewrite: tuple[object, ...] | None = None
    calls: dict[tuple[str, str], Call] = field(
        default_factory=dict[tuple[str, str], Call]
    )
    requests: dict[str, Request] = field(default_factory=dict[str, Request])
    interrupts: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    version: int = 0
    """Version of the last event in its stream; 0: nothing is on record."""

    @property
    def written(self) -> bool:
        """Say whether anything is on record."""
        return self.version > 0

    @property
    def session(self) -> bool:
        """Say whether messages may wait for its first claim."""
        return self.ref.recovery_class == "session"

    def running(self, key: str | None) -> bool:
        """Say whether the message is an execution of the live term."""
        known = self.messages.get(key or "")
        if known is None or known.stripped or not known.term:
            return False
        return self.status == "live" and known.term == self.term

    def listed(self, known: Message) -> bool:
        """Say whether it waits or runs; else accepting or admitting it begins anew."""
        return known.open and (known.accepted > 0 or self.running(known.key))

    def waiting(self) -> list[Message]:
        """Return what was accepted and neither started nor settled, in order."""
        found = [m for m in self.messages.values() if m.accepted and m.open]
        return sorted((m for m in found if not m.started), key=lambda m: m.accepted)

    def lead(self, key: str) -> Message:
        """Return the execution that the message is, or is part of."""
        known = self.messages[key]
        return self.messages[known.lead] if known.lead else known

    def group(self, lead: Message) -> list[Message]:
        """Return the execution and all open messages that it absorbed."""
        inner = [self.messages[key] for key in lead.absorbed]
        return [lead, *(m for m in inner if m.lead == lead.key and m.open)]


class Holder(NamedTuple):
    """Whom a grant makes the holder."""

    agent: str | None
    first: tuple[str, str, str | None] | None = None
    """Message id, origin and digest of the first request."""


class Reference:
    """Every owner, the clock of this step, and what the last end left unfinished."""

    def __init__(self, now: datetime) -> None:
        self.owners: dict[OwnerRef, Owner] = {}
        self.now = now
        self.unfinished: set[str] = set()
        """What the end of a term must list in its notice."""

    def at(self, ref: OwnerRef) -> Owner:
        """Return the owner, absent at first."""
        return self.owners.setdefault(ref, Owner(ref))

    def bound_elsewhere(self, agent: str | None, ref: OwnerRef) -> str | None:
        """Say that the agent holds another owner (I6), as a code."""
        held = (o for o in self.owners.values() if o.status == "live" and o.ref != ref)
        taken = agent is not None and any(o.agent == agent for o in held)
        return "agent_is_bound" if taken else None

    def fence(self, authority: Authority) -> str | None:
        """Return the code of the refusal of a fenced write; None: it may."""
        own = self.at(authority.owner)
        match own.status:
            case "deleted":
                return "deleted"
            case "absent":
                return "unknown_owner"
            case "terminal" | "imported":
                return "owner_ended"
            case "cut":
                return "term_retired"
            case _:
                pass
        same = authority.incarnation == own.incarnation
        if own.status == "live" and same and authority.generation <= own.generation:
            return None
        return "term_retired" if authority.incarnation in own.cut else "fenced_out"

    def evidence(
        self, own: Owner, evidence: Evidence | None, *, override: bool
    ) -> str | None:
        """Return the code by which the evidence does not end the holding (rule 5)."""
        if evidence is None:
            return "owner_is_live"
        if evidence.incarnation != own.incarnation:
            return "owner_moved"
        if evidence.version > own.version:
            return "invalid_input"
        doubtful = evidence.kind != "gone" and not override
        return "owner_is_live" if doubtful or own.proof > evidence.version else None
