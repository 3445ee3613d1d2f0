"""What a recovery run did with each owner, and its report (design section 7.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeVar

from tenure_gate.recovery.steps import ResumePlan
from tenure_ledger.bodies import Json
from tenure_ledger.errors import OwnerIsLive, OwnerMoved, Refused
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "Closed",
    "Discarded",
    "Failed",
    "RecoveryReport",
    "Result",
    "Resumed",
    "Skipped",
    "SuccessionDue",
    "left_alone",
]


class Resumed(NamedTuple):
    """Go on with it, under this authority and by this plan."""

    owner: OwnerRef
    authority: Authority
    """Of a dry run: of no holding, so that nothing can be written with it."""
    plan: ResumePlan
    restarts: int
    """How often its term was resumed by now: of a crash loop it rises."""
    grants: tuple[str, ...] | None
    """What it may do now, computed afresh; None: everything."""
    discarded: str | None = None
    """Why a checkpoint was cleared before."""


class Closed(NamedTuple):
    """It does not go on; a notice tells whoever takes it over."""

    owner: OwnerRef
    generation: int
    assertion: str | None
    """The assertion that failed, if one did."""
    reasons: tuple[str, ...]
    """Why it must not run again, in the order of the nine; or ``no_checkpoint``."""
    detail: str
    """What the assertion found."""
    told: OwnerRef
    """The owner in whose stream the notice waits."""
    discarded: str | None = None


class Discarded(NamedTuple):
    """A leftover checkpoint was cleared; nothing else was in question."""

    owner: OwnerRef
    why: str


class Skipped(NamedTuple):
    """It was left alone.

    ``alive`` and ``cannot_tell``: its holder may be there, or wrote since.
    ``already_claimed``: somebody else was faster. ``too_old``: the age limit.
    ``used_by_parent``: a thing goes with its parent. ``parent_failed``: what it hangs
    on could not be settled. ``nothing_to_do``: it was named, and nobody holds it and
    nothing waits. All others are codes of `Refused`: ``quarantined``, ``too_new``,
    ``deleted`` say what it is, or one above it.
    """

    owner: OwnerRef
    why: str
    detail: str = ""


def left_alone(owner: OwnerRef, refusal: Refused) -> Skipped:
    """Return why an owner is left alone whose settling was refused."""
    why = refusal.code
    if isinstance(refusal, OwnerIsLive):
        why = "alive"
    elif isinstance(refusal, OwnerMoved):
        why = "already_claimed"
    return Skipped(owner, why, str(refusal))


class SuccessionDue(NamedTuple):
    """Nobody holds it: begin its next term with this call."""

    owner: OwnerRef
    call: Literal["claim", "succeed"]
    outcome: str | None
    """Of the cut that it waits behind: accepted, continue, forced."""
    handover: Json
    waiting: tuple[str, ...]
    """Messages that the next term is given, in order."""


class Failed(NamedTuple):
    """Something broke at this owner: nothing of it was settled, the others were."""

    owner: OwnerRef
    error: Exception


Result = Resumed | Closed | Discarded | Skipped | SuccessionDue
R = TypeVar("R")


class RecoveryReport(NamedTuple):
    """What a run did, in its order: parents before children."""

    results: tuple[Result, ...] = ()
    failed: tuple[Failed, ...] = ()
    dry_run: bool = False
    """Nothing was written: it says what would be done."""

    @property
    def resumed(self) -> tuple[Resumed, ...]:
        """What goes on."""
        return tuple(self._of(Resumed))

    @property
    def closed(self) -> tuple[Closed, ...]:
        """What does not."""
        return tuple(self._of(Closed))

    @property
    def discarded(self) -> tuple[Discarded, ...]:
        """Leftovers that were cleared."""
        return tuple(self._of(Discarded))

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left alone, and why."""
        return tuple(self._of(Skipped))

    @property
    def due(self) -> tuple[SuccessionDue, ...]:
        """What waits for its next term."""
        return tuple(self._of(SuccessionDue))

    def _of(self, kind: type[R]) -> Iterator[R]:
        return (one for one in self.results if isinstance(one, kind))
