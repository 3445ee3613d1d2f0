"""The table of design section 6 a second time, row by row, to hold `judge` against.

``member`` is the one question of the row ``successor``; the naive answers to it are the
mutants of `test_membership_mutants`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import ListFacts, RequestFacts
from tenure_ledger.folds.executions import Execution

__all__ = ["Asked", "Member", "by_the_ledger", "row"]


class Asked(NamedTuple):
    """One request as the rows see it."""

    journal: JournalSnapshot
    request: RequestFacts
    list_facts: ListFacts

    @property
    def known(self) -> Execution | None:
        """What the ledger knows of it."""
        return self.journal.executions.get(self.request.key or "")

    @property
    def first_term(self) -> bool:
        """No cut and no terminal event is on record."""
        return self.journal.ended == 0

    @property
    def after(self) -> bool:
        """Stands after the boundary, if there is one."""
        boundary = self.list_facts.boundary
        return boundary is None or self.request.place >= boundary

    @property
    def before_all_known(self) -> bool:
        """Stands before every request of the list that the ledger knows."""
        first = self.list_facts.first_known
        return first is not None and self.request.place < first


Member = Callable[[Asked], bool]
"""Says whether the request belongs to the term after the latest cut."""


def by_the_ledger(at: Asked) -> bool:
    """An admission of its key lies above the latest cut."""
    known = at.known
    return known is not None and known.admitted > at.journal.cut_version > 0


def row(at: Asked, member: Member = by_the_ledger) -> str:
    """Return the first row that holds."""
    known, request = at.known, at.request
    return next(name for name, holds in _rows(at, known, request, member) if holds)


def _rows(
    at: Asked, known: Execution | None, request: RequestFacts, member: Member
) -> list[tuple[str, object]]:
    admitted = known is not None and known.admitted > 0
    started = known is not None and known.started > 0
    settled = known is not None and known.settled > 0
    waits = known is not None and known.accepted > 0 and not (started or settled)
    live = admitted and known is not None and known.term == at.journal.live_term
    unknown, with_id = known is None, request.key is not None
    idle = not (started or settled or request.answered or request.acting)
    told = unknown and with_id and at.after and request.human
    return [
        (str(known.verdict) if known else "", known is not None and known.stripped),
        ("queued", live and idle),
        (
            "current",
            at.first_term
            and (admitted or settled or (unknown and at.before_all_known)),
        ),
        ("successor", not at.first_term and member(at)),
        ("unadmitted_human", waits or told),
        ("not_admitted", at.first_term and with_id),
        ("history", started or settled or (unknown and not at.after)),
        ("stale_admitted", admitted),
        ("stale_unadmitted", with_id),
        ("missing_physical_id", True),
    ]
