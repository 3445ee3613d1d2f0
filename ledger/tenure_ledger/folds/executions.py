"""What became of each message: accepted, admitted, started, settled, stripped.

An absorbed key shares admission, start and settle of the execution that absorbed it, so
these facts are written to every record they concern: each record is whole by itself.
Source of the rules: design sections 4, 5 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

from immutables import Map

from tenure_ledger.events import (
    AuthorityRevoked,
    Event,
    ExecutionAdmitted,
    ExecutionSettled,
    ExecutionStarted,
    LateResult,
    OutputStarted,
    OwnerTerminated,
    RetirementCut,
    SettleOutcome,
    StaleRequestStripped,
    StripVerdict,
    SubmissionAccepted,
)
from tenure_ledger.folds.judgement import APPLY, DUPLICATE, Judgement, without
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.values import Origin

__all__ = ["Execution", "Executions"]

HUMAN: frozenset[str] = frozenset({"human", "human_successor_root"})


class Execution(NamedTuple):
    """One message of one owner. Numbers are versions in the owner's stream; 0: not."""

    key: str
    accepted: int = 0
    admitted: int = 0
    """The latest admission."""
    term: int = 0
    """The term of the latest admission (`Ownership.term`)."""
    generation: int = 0
    incarnation: str | None = None
    """The holding of the latest admission."""
    started: int = 0
    output: int = 0
    """The marker that output for a person is starting."""
    settled: int = 0
    outcome: SettleOutcome | None = None
    stripped: int = 0
    verdict: StripVerdict | None = None
    late: int = 0
    origin: Origin | None = None
    sender: str | None = None
    digest: str | None = None
    human: bool = False
    """A person sent it: vouched for, or of a human origin."""
    absorbed: tuple[str, ...] = ()
    absorbed_by: str | None = None
    into: str | None = None
    """The running execution that took it in."""

    @property
    def open(self) -> bool:
        """Say whether it is neither settled nor stripped."""
        return not (self.settled or self.stripped)

    @property
    def known(self) -> int:
        """The version that bars compare: the latest admission, else the acceptance."""
        return self.admitted or self.accepted


class Executions(NamedTuple):
    """Every execution of an owner."""

    by_key: Map[str, Execution] = Map()
    open: Map[str, int] = Map()
    """Keys that are accepted or admitted to the latest term, and open."""
    last_started: Execution | None = None
    """The execution that was started last, as it was then."""

    def listed(self) -> list[Execution]:
        """Return the open ones in the order in which the stream came to know them."""
        order = sorted(self.open.items(), key=lambda pair: (pair[1], pair[0]))
        return [self.by_key[key] for key, _ in order]


def judge(own: Ownership, state: Executions, event: Event) -> Judgement:
    """Say what an execution event is to this state (module `judgement`)."""
    match event:
        case SubmissionAccepted():
            return _judge_accept(state.by_key.get(event.key), event)
        case ExecutionAdmitted():
            return _judge_admit(own, state, event)
        case ExecutionStarted() | OutputStarted() | ExecutionSettled():
            return _judge_progress(own, state.by_key.get(event.key), event)
        case StaleRequestStripped():
            known = state.by_key.get(event.key)
            if known is None:
                return APPLY
            if known.stripped:
                return DUPLICATE
            return known.admitted if _live(own, known) else APPLY
        case LateResult(call_id=None):
            known = state.by_key.get(event.key)
            if known is None:
                return 0
            return DUPLICATE if known.late else APPLY
        case _:
            return APPLY


def _live(own: Ownership, known: Execution) -> bool:
    """Say whether it is admitted to the live term."""
    running = own.status in {"live", "imported"}
    return running and known.admitted > 0 and known.term == own.term


def _conflicting(first: str | None, second: str | None) -> bool:
    """Say whether two digests differ; one that is not given conflicts with none."""
    return first is not None and second is not None and first != second


def _judge_accept(known: Execution | None, event: SubmissionAccepted) -> Judgement:
    if known is None:
        return APPLY
    if _conflicting(known.digest, event.content_digest):
        return known.known or known.stripped
    return DUPLICATE if known.accepted else APPLY


def _judge_admit(
    own: Ownership, state: Executions, event: ExecutionAdmitted
) -> Judgement:
    if own.status not in {"live", "imported"}:
        return own.ended
    known = state.by_key.get(event.key)
    if known is not None:
        if _conflicting(known.digest, event.content_digest):
            return known.known or known.stripped
        if _live(own, known) and not known.absorbed_by:
            same = known.absorbed == event.absorbed
            return DUPLICATE if same else known.admitted
    for key in (event.key, *event.absorbed):
        used = state.by_key.get(key)
        if used is not None and (used.started or not used.open):
            return used.settled or used.stripped or used.started
    return APPLY


def _judge_progress(
    own: Ownership,
    known: Execution | None,
    event: ExecutionStarted | OutputStarted | ExecutionSettled,
) -> Judgement:
    if known is None:
        return 0
    if isinstance(event, ExecutionSettled):
        if not known.settled:
            return APPLY
        return DUPLICATE if known.outcome == event.outcome else known.settled
    if isinstance(event, ExecutionStarted) and known.started:
        return DUPLICATE
    if isinstance(event, OutputStarted) and known.output:
        return DUPLICATE
    if known.settled or not _live(own, known):
        return known.settled or own.ended or known.admitted
    return APPLY


def apply(own: Ownership, state: Executions, version: int, event: Event) -> Executions:
    """Return the state after an execution event, or after the end of a term."""
    match event:
        case SubmissionAccepted():
            return _accept(state, version, event)
        case ExecutionAdmitted():
            return _admit(own, state, version, event)
        case ExecutionStarted():
            return _start(state, version, event)
        case ExecutionSettled():
            return _settle(state, version, event)
        case OutputStarted():
            known = _known(state, event.key)
            return _update(state, known._replace(output=version))
        case StaleRequestStripped():
            known = _known(state, event.key)
            known = known._replace(stripped=version, verdict=event.verdict)
            return _update(state, known)._replace(open=without(state.open, event.key))
        case LateResult(call_id=None):
            return _update(state, _known(state, event.key)._replace(late=version))
        case (
            RetirementCut() | OwnerTerminated() | AuthorityRevoked(ends_holding=True)
        ):
            return _end_term(state)
        case _:
            return state


def _known(state: Executions, key: str) -> Execution:
    return state.by_key.get(key) or Execution(key)


def _update(state: Executions, known: Execution) -> Executions:
    return state._replace(by_key=state.by_key.set(known.key, known))


def _accept(state: Executions, version: int, event: SubmissionAccepted) -> Executions:
    known = _known(state, event.key)
    known = known._replace(
        accepted=known.accepted or version,
        sender=known.sender if known.sender is not None else event.sender,
        digest=known.digest if known.digest is not None else event.content_digest,
        human=known.human or event.vouched_human,
    )
    opened = state.open if event.key in state.open else _opened(state, known, version)
    return Executions(state.by_key.set(event.key, known), opened, state.last_started)


def _opened(state: Executions, known: Execution, version: int) -> Map[str, int]:
    return state.open.set(known.key, version) if known.open else state.open


def _admit(
    own: Ownership, state: Executions, version: int, event: ExecutionAdmitted
) -> Executions:
    holding = own.holding
    by_key, opened = state.by_key, state.open
    for key in (event.key, *event.absorbed):
        known = by_key.get(key) or Execution(key)
        known = known._replace(
            admitted=version,
            term=own.term,
            generation=event.generation,
            incarnation=holding.incarnation if holding else None,
            absorbed_by=None if key == event.key else event.key,
        )
        if key == event.key:
            known = known._replace(
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
    return Executions(by_key, opened, state.last_started)


def _sharing(state: Executions, known: Execution) -> list[Execution]:
    """Return the execution and all open ones that it absorbed."""
    shared = [state.by_key.get(key) for key in known.absorbed]
    return [
        known,
        *(one for one in shared if one and one.open and one.absorbed_by == known.key),
    ]


def _start(state: Executions, version: int, event: ExecutionStarted) -> Executions:
    by_key = state.by_key
    for known in _sharing(state, _known(state, event.key)):
        now = known._replace(started=version, into=event.into)
        by_key = by_key.set(known.key, now)
    return Executions(by_key, state.open, by_key.get(event.key))


def _settle(state: Executions, version: int, event: ExecutionSettled) -> Executions:
    by_key, opened = state.by_key, state.open
    for known in _sharing(state, _known(state, event.key)):
        now = known._replace(settled=version, outcome=event.outcome)
        by_key = by_key.set(known.key, now)
        opened = without(opened, known.key)
    return Executions(by_key, opened, state.last_started)


def _end_term(state: Executions) -> Executions:
    """Forget what was only admitted: it ends with its term, and so does what it took.

    What it had absorbed and a person sent is carried over by itself.
    """
    by_key, opened = state.by_key, state.open
    for key in state.open:
        ended = by_key[key]
        if ended.accepted:
            continue
        opened = opened.delete(key)
        for one in _sharing(state, ended)[1:]:
            by_key = by_key.set(one.key, one._replace(absorbed_by=None))
    return Executions(by_key, opened, state.last_started)
