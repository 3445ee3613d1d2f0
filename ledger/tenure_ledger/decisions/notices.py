"""When a notice is issued: one per owner, generation and event type (section 7.4)."""

from __future__ import annotations

from tenure_ledger import events as e
from tenure_ledger.decisions.work import Envelope, Work
from tenure_ledger.values import OwnerRef, ReplayReason

__all__ = ["issue", "notice_id"]


def notice_id(about: OwnerRef, generation: int, event_type: str) -> str:
    """Return the one id of a notice about this end of this generation."""
    return f"{event_type}:{generation}:{about.stream}"


def issue(
    work: Work,
    into: OwnerRef,
    envelope: Envelope,
    *,
    about: OwnerRef,
    generation: int,
    event_type: str,
    reasons: tuple[ReplayReason, ...] = (),
    facts: tuple[e.Fact, ...] = (),
) -> None:
    """Append the notice to the stream of whoever takes the work over."""
    notice = e.NoticeIssued(
        **envelope,
        notice=notice_id(about, generation, event_type),
        about=about,
        about_generation=generation,
        event_type=event_type,
        reasons=reasons,
        facts=facts,
    )
    work.add(into.stream, notice)
