"""Close what a restart must not bring back: the owner, or a session's term.

Where seed 000 section 5.1 closes by owner and clears by agent, unconditionally, all of
it is one transaction here, decided on what is on record (design section 7.3).
"""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.ending import (
    Ending,
    clear_checkpoint,
    close_term,
    leads,
    release,
    runs_in,
    settle_each,
)
from tenure_ledger.decisions.restart import (
    covering,
    facts_of,
    sharing,
    under_reasons,
)
from tenure_ledger.decisions.work import Envelope, Work
from tenure_ledger.folds.effects import CallKey
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.values import OwnerRef, ReplayReason

__all__ = ["Closing", "close_owner"]


class Closing(NamedTuple):
    """How and why an owner is closed."""

    event_type: str
    status: str
    reasons: tuple[str, ...]
    """For the notice."""
    cleared: str
    """Why its checkpoint is cleared."""
    kept: frozenset[CallKey] = frozenset()
    """Calls whose outputs the checkpoint held: complete, whatever is on record."""
    standing: frozenset[ReplayReason] = frozenset()
    """Reasons that are not on record, against what the checkpoint names."""


def close_owner(work: Work, owner: OwnerRef, author: str, why: Closing) -> OwnerRef:
    """Settle, clear, end and release; return in whose stream the notice waits.

    A session is not ended, its term is: the next one reads the notice.
    """
    own = work.state(owner).ownership
    envelope = work.by(author, own.generation)
    facts, covers = _settle_started(work, owner, envelope, why.standing)
    clear_checkpoint(work, owner, envelope, why.cleared)
    ending = close_term(work, owner, envelope)
    if owner.recovery_class == "session" and not own.thing:
        cut = e.RetirementCut(**envelope, outcome="forced", terminal_status=why.status)
        work.add(owner.stream, cut)
    else:
        ended = e.OwnerTerminated(
            **envelope, event_type=why.event_type, terminal_status=why.status
        )
        work.add(owner.stream, ended)
    things = release(work, owner, author, own)
    told = notices.listener(work.states, owner)
    facts = [_kept(fact, why.kept) for fact in (*facts, *ending.facts)]
    told_of = under_reasons(facts, why.reasons, covers)
    left = Ending(told_of, why.reasons, own.generation, things)
    notices.tell_at(work, told, owner, author, left, why.event_type)
    notices.tell_of_things(work, told, author, left)
    return told


def _kept(fact: e.Fact, kept: frozenset[CallKey]) -> e.Fact:
    if fact.kind == "outcome_unknown" and (fact.key, fact.call_id) in kept:
        return fact.model_copy(update={"kind": "output_completed"})
    return fact


def _settle_started(
    work: Work, owner: OwnerRef, envelope: Envelope, standing: frozenset[ReplayReason]
) -> tuple[list[e.Fact], dict[str, set[ReplayReason]]]:
    """Settle all that was started; return the facts of what nobody cancelled.

    And by message the reasons that hold for it.
    """
    state = work.state(owner)
    checkpoint = state.recovery.checkpoint
    named = leads(state, checkpoint.keys) if checkpoint else ()
    facts: list[e.Fact] = []
    covers: dict[str, set[ReplayReason]] = {}

    def outcome_of(one: Execution) -> e.SettleOutcome | None:
        if not one.started:
            return None
        cancelled = covering(state, one) & CANCELLING
        return "cancelled" if cancelled else "closed_in_recovery"

    for one, _ in settle_each(work, owner, envelope, outcome_of):
        facts.extend(facts_of(state, one, "unfinished"))
        named_here = not named or not runs_in(state, one).isdisjoint(named)
        for each in sharing(state, one):
            covers[each.key] = covering(state, each)
            if named_here:
                covers[each.key] |= standing
    return facts, covers
