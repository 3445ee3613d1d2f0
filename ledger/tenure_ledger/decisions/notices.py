"""When a notice is issued: one per owner, generation and event type (section 7.4)."""

from __future__ import annotations

from collections.abc import Mapping

from tenure_ledger import events as e
from tenure_ledger.decisions.ending import Ending
from tenure_ledger.decisions.work import Work
from tenure_ledger.folds.notices import LATE_RESULT
from tenure_ledger.values import OwnerRef

__all__ = ["notice_id", "tell", "tell_late"]

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
    if not ending.facts and not ending.reasons:
        return
    notice = e.NoticeIssued(
        **work.by(author, work.state(owner).ownership.generation),
        notice=notice_id(owner, ending.generation, event_type),
        about=owner,
        about_generation=ending.generation,
        event_type=event_type,
        reasons=ending.reasons,
        facts=ending.facts,
    )
    work.add(owner.stream, notice)


def tell_late(
    work: Work, owner: OwnerRef, late: e.LateResult, at: int, tool: str | None = None
) -> None:
    """Issue the notice of a late result, which is on record at version ``at``.

    One for each, by its version: a generation may leave several behind.
    """
    known = work.state(owner).executions.by_key.get(late.key)
    kind = _NO_OUTPUT.get(late.outcome or "", "output_completed")
    fact = e.Fact(kind=kind, key=late.key, call_id=late.call_id, tool=tool)
    notice = e.NoticeIssued(
        **work.by(late.author, late.generation),
        notice=f"{LATE_RESULT}@{at}:{owner.stream}",
        about=owner,
        about_generation=known.generation if known else late.generation,
        event_type=LATE_RESULT,
        facts=(fact,),
    )
    work.add(owner.stream, notice)
