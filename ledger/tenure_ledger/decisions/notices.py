"""When a notice is issued: one per owner, generation and event type (section 7.4)."""

from __future__ import annotations

from collections.abc import Mapping

from tenure_ledger import events as e
from tenure_ledger.decisions.ending import Ending
from tenure_ledger.decisions.lineage import known_line
from tenure_ledger.decisions.work import States, Work
from tenure_ledger.folds.notices import LATE_RESULT
from tenure_ledger.values import OwnerRef

__all__ = ["listener", "notice_id", "tell", "tell_at", "tell_late", "tell_of_things"]

REVOKED = "authority_revoked"
"""The event type of a notice about a thing whose holding ended with its parent's."""
_NO_OUTPUT: Mapping[str, e.FactKind] = {"failed": "failed", "cancelled": "cancelled"}
"""Late outcomes that are told as what they are; all others completed something."""


def notice_id(about: OwnerRef, generation: int, event_type: str) -> str:
    """Return the one id of a notice about this end of this generation."""
    return f"{event_type}:{generation}:{about.stream}"


def tell(
    work: Work, owner: OwnerRef, author: str, ending: Ending, event_type: str
) -> None:
    """Issue the notice of what an ending left behind, if it left anything.

    It waits in the owner's stream for whoever takes the work over.
    """
    if ending.facts or ending.reasons:
        tell_at(work, owner, owner, author, ending, event_type)
    tell_of_things(work, owner, author, ending)


def tell_of_things(work: Work, at: OwnerRef, author: str, ending: Ending) -> None:
    """Issue the notices of what an ending left behind at the things that were used.

    A thing reads nothing, so they wait where the ending itself is told.
    """
    for thing, left in ending.things:
        if left.facts:
            tell_at(work, at, thing, author, left, REVOKED)


def tell_at(
    work: Work,
    at: OwnerRef,
    about: OwnerRef,
    author: str,
    ending: Ending,
    event_type: str,
) -> None:
    """Issue the notice of what an ending of ``about`` left behind, to wait at ``at``.

    One for each end of a generation: the same again adds nothing.
    """
    notice = notice_id(about, ending.generation, event_type)
    state = work.state(at)
    if notice in state.notices.by_id:
        return
    issued = e.NoticeIssued(
        **work.by(author, state.ownership.generation),
        notice=notice,
        about=about,
        about_generation=ending.generation,
        event_type=event_type,
        reasons=ending.reasons,
        facts=ending.facts,
    )
    work.add(at.stream, issued)


def listener(states: States, owner: OwnerRef) -> OwnerRef:
    """Return in whose stream a notice about this owner's end waits.

    A session's next term reads its own. Of all others the nearest ancestor that is
    still open is told, else the root session (design section 7.4); one that has
    neither keeps it for whoever claims it again.
    """
    if owner.recovery_class == "session":
        return owner
    _, *above = known_line(states, owner)
    for at, state in above:
        if not (state.too_new or state.quarantine) and state.ownership.listens:
            return at
    for at, state in reversed(above):
        if at.recovery_class == "session" and state.ownership.status != "deleted":
            return at
    return owner


def tell_late(
    work: Work, owner: OwnerRef, late: e.LateResult, at: int, tool: str | None = None
) -> None:
    """Issue the notice of a late result, which is on record at version ``at``.

    One for each, by its version: a generation may leave several behind. What became
    known of an owner that ended, or of a thing, is told above it, as its end was.
    """
    to = owner
    if work.state(owner).ownership.told_above:
        to = listener(work.states, owner)
    known = work.state(owner).executions.by_key.get(late.key)
    kind = _NO_OUTPUT.get(late.outcome or "", "output_completed")
    fact = e.Fact(kind=kind, key=late.key, call_id=late.call_id, tool=tool)
    generation = late.generation
    if to != owner:
        generation = work.state(to).ownership.generation
    notice = e.NoticeIssued(
        **work.by(late.author, generation),
        notice=f"{LATE_RESULT}@{at}:{owner.stream}",
        about=owner,
        about_generation=known.generation if known else late.generation,
        event_type=LATE_RESULT,
        facts=(fact,),
    )
    work.add(to.stream, notice)
