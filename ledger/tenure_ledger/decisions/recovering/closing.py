"""Close what a restart must not bring back: the owner, or a session's term.

Where seed 000 section 5.1 closes by owner and clears by agent, unconditionally, all of
it is one transaction here, decided on what is on record (design section 7.3).
"""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.ending import Ending, close_term, release
from tenure_ledger.decisions.live import live_executions
from tenure_ledger.decisions.restart import covering
from tenure_ledger.decisions.work import Envelope, Work
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef

__all__ = ["Closing", "close_owner", "drop_checkpoint", "facts_of"]


class Closing(NamedTuple):
    """How and why an owner is closed."""

    event_type: str
    status: str
    reasons: tuple[str, ...]
    """For the notice."""
    cleared: str
    """Why its checkpoint is cleared."""
    kept: frozenset[str] = frozenset()
    """Calls whose outputs the checkpoint held: complete, whatever is on record."""


def close_owner(work: Work, owner: OwnerRef, author: str, why: Closing) -> OwnerRef:
    """Settle, clear, end and release; return in whose stream the notice waits.

    A session is not ended, its term is: the next one reads the notice.
    """
    own = work.state(owner).ownership
    envelope = work.by(author, own.generation)
    facts = _settle_started(work, owner, envelope)
    drop_checkpoint(work, owner, envelope, why.cleared)
    ending = close_term(work, owner, envelope)
    if owner.recovery_class == "session" and not own.thing:
        cut = e.RetirementCut(**envelope, outcome="forced", terminal_status=why.status)
        work.add(owner.stream, cut)
    else:
        ended = e.OwnerTerminated(
            **envelope, event_type=why.event_type, terminal_status=why.status
        )
        work.add(owner.stream, ended)
    release(work, owner, author, own)
    told = notices.listener(work.states, owner)
    facts = [_kept(fact, why.kept) for fact in (*facts, *ending.facts)]
    left = Ending(tuple(facts), why.reasons, own.generation)
    notices.tell_at(work, told, owner, author, left, why.event_type)
    return told


def _kept(fact: e.Fact, kept: frozenset[str]) -> e.Fact:
    if fact.kind == "outcome_unknown" and fact.call_id in kept:
        return fact.model_copy(update={"kind": "output_completed"})
    return fact


def drop_checkpoint(
    work: Work, owner: OwnerRef, envelope: Envelope, reason: str
) -> None:
    """Clear the live checkpoint, if any."""
    checkpoint = work.state(owner).recovery.checkpoint
    if checkpoint is not None:
        cleared = e.CheckpointCleared(
            **envelope, reason=reason, revision=checkpoint.revision
        )
        work.add(owner.stream, cleared)


def _settle_started(work: Work, owner: OwnerRef, envelope: Envelope) -> list[e.Fact]:
    """Settle all that was started; return the facts of what nobody cancelled."""
    state = work.state(owner)
    facts: list[e.Fact] = []
    for one in live_executions(state):
        if not one.started or one.absorbed_by is not None:
            continue
        cancelled = covering(state, one) & CANCELLING
        outcome: e.SettleOutcome = "cancelled" if cancelled else "closed_in_recovery"
        work.add(
            owner.stream, e.ExecutionSettled(**envelope, key=one.key, outcome=outcome)
        )
        if not cancelled:
            facts.extend(facts_of(state, one, "unfinished"))
    return facts


def facts_of(state: State, one: Execution, kind: e.FactKind) -> list[e.Fact]:
    """Return what is known of an execution that broke off, absorbed ones with it."""
    shared = [state.executions.by_key.get(key) for key in one.absorbed]
    keys = [one.key, *(each.key for each in shared if each and each.open)]
    facts = [e.Fact(kind=kind, key=key) for key in keys]
    if one.output:
        facts.append(e.Fact(kind="output_may_have_been_seen", key=one.key))
    facts.extend(
        e.Fact(
            kind="output_completed", key=call.key, call_id=call.call_id, tool=call.tool
        )
        for call in state.effects.calls.values()
        if call.completed and call.key in keys
    )
    facts.sort(key=lambda fact: fact.call_id or "")
    return facts
