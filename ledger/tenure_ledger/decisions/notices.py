"""When a notice is issued: one per owner, generation and event type (section 7.4)."""

from __future__ import annotations

from tenure_ledger import events as e
from tenure_ledger.decisions.ending import Ending
from tenure_ledger.decisions.work import Work
from tenure_ledger.values import OwnerRef

__all__ = ["notice_id", "tell"]


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
