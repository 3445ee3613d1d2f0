"""What a grant of ownership admits at once: the waiting messages, and ``first``.

Source of the rules: design section 6.
"""

from __future__ import annotations

from tenure_ledger import events as e
from tenure_ledger.decisions.admission import admit_first, why_not_anew
from tenure_ledger.decisions.work import Work
from tenure_ledger.errors import Rejection
from tenure_ledger.folds.stream import State
from tenure_ledger.values import First, OwnerRef

__all__ = ["carry_over", "check_first"]


def check_first(state: State, first: First | None) -> Rejection | None:
    """Return why a term cannot begin with this request, if so."""
    known = state.executions.by_key.get(first.message_id) if first else None
    if first is None or known is None:
        return None
    return why_not_anew(known, first.digest)


def carry_over(work: Work, owner: OwnerRef, first: First | None) -> None:
    """Admit what was accepted and not started, in stream order, then ``first``."""
    executions = work.state(owner).executions
    waiting = [one for one in executions.listed() if one.accepted and not one.started]
    waiting.sort(key=lambda one: one.accepted)
    keys = {one.key for one in waiting}
    envelope = work.by_holder(owner)
    placed = False
    for one in waiting:
        if one.absorbed_by is not None and one.absorbed_by in keys:
            continue
        absorbed = tuple(
            key
            for key in one.absorbed
            if (inner := executions.by_key[key]).absorbed_by == one.key and inner.open
        )
        origin = one.origin or ("human" if one.human else "continue_relay")
        sender, digest = one.sender, one.digest
        if first is not None and first.message_id == one.key:
            origin, placed = first.origin, True
            sender = first.sender if sender is None else sender
            digest = first.digest if digest is None else digest
        carried = e.ExecutionAdmitted(
            **envelope,
            key=one.key,
            origin=origin,
            sender=sender,
            content_digest=digest,
            absorbed=absorbed,
            carried_from=one.accepted,
        )
        work.add(owner.stream, carried)
    if first is not None and not placed:
        admit_first(work, owner, first)
