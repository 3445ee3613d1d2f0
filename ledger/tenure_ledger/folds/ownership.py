"""Who holds the owner: holdings, terms, cuts, ends, parents, children and grants.

Source of the rules: design sections 2, 3 and 5.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from immutables import Map

from tenure_ledger.events import CutOutcome
from tenure_ledger.folds.judgement import Value
from tenure_ledger.values import Boundary, OwnerRef, ReplayReason

__all__ = [
    "CLOSED",
    "CLOSINGS",
    "REAP",
    "Child",
    "Cut",
    "Holding",
    "Ownership",
    "Status",
    "Terminal",
]

CLOSED = "closed_in_recovery"
REAP: ReplayReason = "runtime_work_reap"
CLOSINGS = frozenset({CLOSED, REAP})
"""How an owner ends that a recovery or a reaper closed."""

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
    def open(self) -> bool:
        """Say whether it can still take in what a child reports.

        A term goes on, or a cut waits for a successor; a term that a recovery closed is
        no parent to resume under, though its session goes on.
        """
        return self.running or (self.status == "cut" and not self.closed_by_recovery)

    @property
    def closed_by_recovery(self) -> bool:
        """Say whether a recovery or a reaper closed it, and nobody has begun anew."""
        if self.status == "cut":
            return self.cut is not None and self.cut.terminal_status is not None
        ended = self.terminal if self.status == "terminal" else None
        return ended is not None and ended.event_type in CLOSINGS

    @property
    def listens(self) -> bool:
        """Say whether somebody has it, or will: a thing is only used."""
        return not self.thing and (self.running or self.status == "cut")

    @property
    def told_above(self) -> bool:
        """Say whether what becomes known of it is told above: nobody reads it here."""
        return self.parent is not None and (self.thing or self.status == "terminal")

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

    @property
    def lease_seconds(self) -> float | None:
        """How long the lease was that the holding was given; None: it has none."""
        until = self.holding.lease_until if self.holding else None
        if until is None or self.active_at is None:
            return None
        return max(0.0, (until - self.active_at).total_seconds())

    def granted(self, name: str, now: datetime) -> bool:
        """Say whether the owner has this grant at that time."""
        until = self.grants.get(name, now)
        return name in self.grants and (until is None or now < until)
