"""Who holds the owner: holdings, terms, cuts, ends, parents, children and grants.

Source of the rules: design sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import (
    AuthorityGranted,
    AuthorityRevoked,
    ChildSpawned,
    ConversationDeleted,
    CutOutcome,
    GenerationAdvanced,
    OwnershipClaimed,
    OwnerTerminated,
    RetirementCut,
)
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    Value,
    always,
)
from tenure_ledger.values import Boundary, OwnerRef

__all__ = ["RULES", "Child", "Cut", "Holding", "Ownership", "Status", "Terminal"]

Status = Literal["absent", "imported", "live", "cut", "terminal", "revoked", "deleted"]
"""The rows of the table in design section 5; ``revoked`` is a used thing (a child
without agent) whose parent's holding ended."""


class Holding(Value, frozen=True):
    """An unbroken run of generations that began with one grant."""

    incarnation: str
    agent_id: str | None
    process: str | None
    author: str
    reason: str
    """``claimed``, or the reason of the grant that gave it."""
    lease_until: datetime | None
    granted: int
    """Version of the event that gave it."""


class Cut(Value, frozen=True):
    """A retirement cut: the end of one term."""

    version: int
    generation: int
    incarnation: str | None
    outcome: CutOutcome
    boundary: Boundary | None
    handover: str | None
    """Digest of the hand-over."""
    agent_id: str | None
    """The agent whose term it ended."""
    author: str
    at: datetime
    terminal_status: str | None = None
    """What ended it, where no holder did; it stands until the next term begins."""


class Terminal(Value, frozen=True):
    """The terminal event of one generation."""

    version: int
    generation: int
    event_type: str
    status: str
    incarnation: str | None
    author: str
    at: datetime


class Child(Value, frozen=True):
    """A child as its parent's stream knows it."""

    ref: OwnerRef
    version: int
    used: bool
    """A thing without agent, whose holding ends with its parent's."""
    generation: int
    """The child's, at its latest spawn."""


class Ownership(Value, frozen=True):
    """All that decides who may write."""

    status: Status = "absent"
    generation: int = 0
    active_at: datetime | None = None
    """When the latest generation began."""
    holding: Holding | None = None
    """The live holding, or the last one when ``status`` is not ``live``."""
    term: int = 0
    """Number of terms begun."""
    term_version: int = 0
    """Version of the event that began the latest term."""
    restarts: int = 0
    """How often the latest term went on in a new process after the old one was gone."""
    cuts: Map[int, Cut] = Map()
    """Every cut, by version."""
    cut: Cut | None = None
    """The latest one."""
    ends: Map[int, Terminal] = Map()
    """Every terminal event, by version."""
    terminal: Terminal | None = None
    """The one that stands."""
    parent: OwnerRef | None = None
    grants: Map[str, datetime | None] = Map()
    """What the owner was granted, and until when (None: for good)."""
    children: Map[str, Child] = Map()
    """By stream."""
    ended: int = 0
    """Version of the event that ended the latest holding without another grant."""
    ended_at: datetime | None = None
    retired: Map[str, int] = Map()
    """Incarnations that a cut ended, with the version of that cut."""

    @property
    def live(self) -> bool:
        """Say whether a holding is live."""
        return self.status == "live"

    @property
    def running(self) -> bool:
        """Say whether a term goes on: under a live holding, or an imported one."""
        return self.status in {"live", "imported"}

    @property
    def latest(self) -> int:
        """Version of what decided last about the holding."""
        return max(self.holding.granted if self.holding else 0, self.ended)

    @property
    def agent_id(self) -> str | None:
        """The agent that is bound to this owner now."""
        if self.running and self.holding is not None:
            return self.holding.agent_id
        return None

    @property
    def holder(self) -> str:
        """The author of what the live holding writes: its agent, else its granter."""
        holding = self.holding
        return "nobody" if holding is None else holding.agent_id or holding.author

    @property
    def thing(self) -> bool:
        """Say whether it is a child without agent, which its parent's agent uses."""
        holding = self.holding
        return self.parent is not None and (holding is None or not holding.agent_id)

    def granted(self, name: str, now: datetime) -> bool:
        """Say whether the owner has this grant at that time."""
        until = self.grants.get(name, now)
        return name in self.grants and (until is None or now < until)


def _judge_claim(_own: object, own: Ownership, event: OwnershipClaimed) -> Judgement:
    if own.status == "absent":
        return APPLY
    holding = own.holding
    if (
        own.generation == event.generation
        and holding is not None
        and holding.reason == "claimed"
        and holding.agent_id == event.agent_id
    ):
        return DUPLICATE
    return own.latest


def _judge_advance(
    _own: object, own: Ownership, event: GenerationAdvanced
) -> Judgement:
    holding = own.holding
    if event.generation == own.generation and holding is not None:
        reason = "lease_renewal" if event.reason == "lease_renewal" else holding.reason
        same = holding.agent_id == event.agent_id and event.reason == reason
        return DUPLICATE if same else own.latest
    if event.generation != own.generation + 1 or own.status == "deleted":
        return own.latest
    if event.reason == "lease_renewal" and not own.live:
        return own.latest
    return APPLY


def _judge_cut(_own: object, own: Ownership, event: RetirementCut) -> Judgement:
    if event.generation != own.generation:
        return own.latest
    if own.status == "cut" and own.cut is not None:
        same = own.cut.outcome == event.outcome
        return DUPLICATE if same else own.cut.version
    if own.running or event.outcome == "forced":
        return APPLY
    return own.latest


def _judge_end(_own: object, own: Ownership, event: OwnerTerminated) -> Judgement:
    first = own.terminal
    if own.status == "terminal" and first is not None:
        same = (first.event_type, first.status) == (
            event.event_type,
            event.terminal_status,
        )
        return DUPLICATE if same else first.version
    if own.running or own.status == "revoked":
        return APPLY
    return own.latest


def _judge_spawn(_own: object, own: Ownership, event: ChildSpawned) -> Judgement:
    known = own.children.get(event.child.stream)
    if known is None:
        return APPLY
    if known.generation == event.child_generation:
        return DUPLICATE if known.used == (event.agent_id is None) else known.version
    return APPLY if own.live else known.version


def _judge_revoke(_own: object, own: Ownership, event: AuthorityRevoked) -> Judgement:
    return DUPLICATE if event.ends_holding and not own.live else APPLY


def _judge_delete(
    _own: object, own: Ownership, _event: ConversationDeleted
) -> Judgement:
    return DUPLICATE if own.status == "deleted" else APPLY


def _claim(
    _own: object, own: Ownership, version: int, event: OwnershipClaimed
) -> Ownership:
    return _grant(own, version, event, "claimed")


def _advance(
    _own: object, own: Ownership, version: int, event: GenerationAdvanced
) -> Ownership:
    return _grant(own, version, event, event.reason)


def _grant(
    own: Ownership,
    version: int,
    event: OwnershipClaimed | GenerationAdvanced,
    reason: str,
) -> Ownership:
    before = own.holding
    parent = event.parent or own.parent
    grants: Map[str, datetime | None] = own.grants
    if event.parent is not None:
        grants = _new_grants(event.grants, event.grants_until)
    imported = event.generation == 0 or (event.agent_id is None and parent is None)
    if reason == "lease_renewal" and before is not None:
        holding = replace(
            before,
            lease_until=event.lease_until,
            process=event.process or before.process,
        )
        return replace(
            own,
            generation=event.generation,
            active_at=event.recorded_at,
            holding=holding,
        )
    holding = Holding(
        incarnation=event.event_id,
        agent_id=event.agent_id,
        process=event.process,
        author=event.author,
        reason=reason,
        lease_until=event.lease_until,
        granted=version,
    )
    same_agent = before is not None and before.agent_id == event.agent_id
    goes_on = own.live and same_agent and reason in {"instance_restart", "migration"}
    return replace(
        own,
        status="imported" if imported else "live",
        generation=event.generation,
        active_at=event.recorded_at,
        holding=holding,
        term=own.term if goes_on else own.term + 1,
        term_version=own.term_version if goes_on else version,
        restarts=own.restarts + (reason == "instance_restart") if goes_on else 0,
        terminal=None,
        parent=parent,
        grants=grants,
        ended=version if imported else own.ended,
        ended_at=event.recorded_at if imported else own.ended_at,
    )


def _new_grants(
    grants: tuple[str, ...], until: datetime | None
) -> Map[str, datetime | None]:
    rows: Mapping[str, datetime | None] = dict.fromkeys(grants, until)
    return Map(rows)


def _cut(_own: object, own: Ownership, version: int, event: RetirementCut) -> Ownership:
    incarnation = own.holding.incarnation if own.holding else None
    cut = Cut(
        version=version,
        generation=event.generation,
        incarnation=incarnation,
        outcome=event.outcome,
        boundary=event.boundary,
        handover=event.handover,
        agent_id=own.holding.agent_id if own.holding else None,
        author=event.author,
        at=event.recorded_at,
        terminal_status=event.terminal_status,
    )
    retired = own.retired
    if incarnation is not None:
        retired = retired.set(incarnation, version)
    return replace(
        own,
        status="cut",
        cuts=own.cuts.set(version, cut),
        cut=cut,
        ended=version,
        ended_at=cut.at,
        retired=retired,
    )


def _revoke(
    _own: object, own: Ownership, version: int, event: AuthorityRevoked
) -> Ownership:
    grants = own.grants
    for name in event.grants:
        if name in grants:
            grants = grants.delete(name)
    if event.ends_holding:
        return replace(
            own,
            status="revoked",
            ended=version,
            ended_at=event.recorded_at,
            grants=grants,
        )
    return replace(own, grants=grants)


def _end(
    _own: object, own: Ownership, version: int, event: OwnerTerminated
) -> Ownership:
    incarnation = own.holding.incarnation if own.holding else None
    end = Terminal(
        version=version,
        generation=event.generation,
        event_type=event.event_type,
        status=event.terminal_status,
        incarnation=incarnation,
        author=event.author,
        at=event.recorded_at,
    )
    ends = own.ends.set(version, end)
    return replace(
        own, status="terminal", ends=ends, terminal=end, ended=version, ended_at=end.at
    )


def _spawn(
    _own: object, own: Ownership, version: int, event: ChildSpawned
) -> Ownership:
    used = event.agent_id is None
    child = Child(event.child, version, used, event.child_generation)
    return replace(own, children=own.children.set(event.child.stream, child))


def _grant_more(
    _own: object, own: Ownership, _version: int, event: AuthorityGranted
) -> Ownership:
    grants = own.grants.update(dict.fromkeys(event.grants, event.until))
    return replace(own, grants=grants)


def _delete(
    _own: object, own: Ownership, version: int, event: ConversationDeleted
) -> Ownership:
    return replace(own, status="deleted", ended=version, ended_at=event.recorded_at)


RULES: Rules[Ownership] = {
    OwnershipClaimed: Rule(_judge_claim, _claim),
    GenerationAdvanced: Rule(_judge_advance, _advance),
    RetirementCut: Rule(_judge_cut, _cut),
    OwnerTerminated: Rule(_judge_end, _end),
    ChildSpawned: Rule(_judge_spawn, _spawn),
    AuthorityGranted: Rule(always, _grant_more),
    AuthorityRevoked: Rule(_judge_revoke, _revoke),
    ConversationDeleted: Rule(_judge_delete, _delete),
}
