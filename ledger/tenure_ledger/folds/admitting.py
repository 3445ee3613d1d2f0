"""How a message gets in: accepted, admitted to a term, and forgotten with it.

What was accepted stays until it is settled or stripped; what was only admitted ends
with its term. Source of the rules: design sections 4 to 6.
"""

from __future__ import annotations

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import (
    AuthorityRevoked,
    Event,
    ExecutionAdmitted,
    OwnerTerminated,
    RetirementCut,
    SubmissionAccepted,
)
from tenure_ledger.folds.executions import (
    HUMAN,
    AtWork,
    Execution,
    Executions,
    conflicting,
    known_as,
    live,
    sharing,
)
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    always,
)
from tenure_ledger.folds.ownership import Ownership

__all__ = ["RULES"]


def _judge_accept(
    _own: object, state: Executions, event: SubmissionAccepted
) -> Judgement:
    known = state.by_key.get(event.key)
    if known is None:
        return APPLY
    if conflicting(known.digest, event.content_digest):
        return known.known or known.stripped
    return DUPLICATE if known.accepted else APPLY


def _judge_admit(
    own: Ownership, state: Executions, event: ExecutionAdmitted
) -> Judgement:
    if not own.running:
        return own.ended
    known = state.by_key.get(event.key)
    if known is not None:
        if conflicting(known.digest, event.content_digest):
            return known.known or known.stripped
        if live(own, known) and not known.absorbed_by:
            same = known.absorbed == event.absorbed
            return DUPLICATE if same else known.admitted
    for key in (event.key, *event.absorbed):
        used = state.by_key.get(key)
        if used is not None and (used.started or not used.open):
            return used.settled or used.stripped or used.started
    return APPLY


def _accept(
    _own: object, state: Executions, version: int, event: SubmissionAccepted
) -> Executions:
    known = known_as(state, event.key)
    known = replace(
        known,
        accepted=known.accepted or version,
        since=known.since if event.key in state.open else version,
        sender=known.sender if known.sender is not None else event.sender,
        digest=known.digest if known.digest is not None else event.content_digest,
        human=known.human or event.vouched_human,
        known_at=known.known_at or event.recorded_at,
    )
    opened = state.open if event.key in state.open else _opened(state, known, version)
    return replace(state, by_key=state.by_key.set(event.key, known), open=opened)


def _opened(state: Executions, known: Execution, version: int) -> Map[str, int]:
    return state.open.set(known.key, version) if known.open else state.open


def _admit(
    own: Ownership, state: Executions, version: int, event: ExecutionAdmitted
) -> Executions:
    holding = own.holding
    by_key, opened = state.by_key, state.open
    for key in (event.key, *event.absorbed):
        known = by_key.get(key) or Execution(key)
        goes_on = key in state.open
        known = replace(
            known,
            admitted=version,
            since=max(known.since, own.term_version) if goes_on else version,
            term=own.term,
            generation=event.generation,
            incarnation=holding.incarnation if holding else None,
            absorbed_by=None if key == event.key else event.key,
            known_at=known.known_at or event.recorded_at,
            admitted_at=event.recorded_at,
        )
        if key == event.key:
            known = replace(
                known,
                origin=event.origin,
                sender=known.sender if known.sender is not None else event.sender,
                digest=known.digest
                if known.digest is not None
                else event.content_digest,
                human=known.human or event.origin in HUMAN,
                absorbed=event.absorbed,
            )
        by_key = by_key.set(key, known)
        if known.open and key not in opened:
            opened = opened.set(key, version)
    at_work = state.at_work
    if at_work.term != own.term:
        at_work = AtWork(own.term, event.key)
    return replace(state, by_key=by_key, open=opened, at_work=at_work)


def _end_term(
    _own: object, state: Executions, _version: int, _event: Event
) -> Executions:
    """Forget what was only admitted: it ends with its term, and so does what it took.

    What it had absorbed and a person sent is carried over by itself.
    """
    by_key, opened = state.by_key, state.open
    for key in state.open:
        ended = by_key[key]
        if ended.accepted:
            continue
        opened = opened.delete(key)
        for one in sharing(state, ended)[1:]:
            by_key = by_key.set(one.key, replace(one, absorbed_by=None))
    return replace(state, by_key=by_key, open=opened)


def _revoke(
    own: Ownership, state: Executions, version: int, event: AuthorityRevoked
) -> Executions:
    return _end_term(own, state, version, event) if event.ends_holding else state


RULES: Rules[Executions] = {
    SubmissionAccepted: Rule(_judge_accept, _accept),
    ExecutionAdmitted: Rule(_judge_admit, _admit),
    RetirementCut: Rule(always, _end_term),
    OwnerTerminated: Rule(always, _end_term),
    AuthorityRevoked: Rule(always, _revoke),
}
