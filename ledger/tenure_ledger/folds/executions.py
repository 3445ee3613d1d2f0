"""What became of each message: accepted, admitted, started, settled, stripped.

An absorbed key shares admission, start and settle of the execution that absorbed it, so
these facts are written to every record they concern: each record is whole by itself.
Source of the rules: design sections 4, 5 and 6.
"""

from __future__ import annotations

from datetime import datetime

from immutables import Map
from msgspec.structs import replace

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
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    Value,
    always,
    without,
)
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.values import Origin

__all__ = ["HUMAN", "RULES", "Execution", "Executions", "conflicting"]

HUMAN: frozenset[str] = frozenset({"human", "human_successor_root"})


class Execution(Value, frozen=True):
    """One message of one owner. Numbers are versions in the owner's stream; 0: not."""

    key: str
    accepted: int = 0
    since: int = 0
    """What a bar must lie above to cover it: the version at which this life of it
    began. A later term that admits it anew begins another life."""
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
    known_at: datetime | None = None
    """When the ledger first heard of it."""
    admitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    """When it was settled or stripped, whichever came first."""

    @property
    def open(self) -> bool:
        """Say whether it is neither settled nor stripped."""
        return not (self.settled or self.stripped)

    @property
    def known(self) -> int:
        """The latest admission, else the acceptance."""
        return self.admitted or self.accepted


class AtWork(Value, frozen=True):
    """The message that a term works on: started last, else the first admitted."""

    term: int = 0
    key: str | None = None
    started: bool = False


class Executions(Value, frozen=True):
    """Every execution of an owner."""

    by_key: Map[str, Execution] = Map()
    open: Map[str, int] = Map()
    """Keys that are accepted or admitted to the latest term, and open."""
    last_started: Execution | None = None
    """The execution that was started last, as it was then."""
    taken: Map[str, tuple[str, ...]] = Map()
    """Running execution -> the messages that it took in."""
    at_work: AtWork = AtWork()

    def listed(self) -> list[Execution]:
        """Return the open ones in the order in which the stream came to know them."""
        order = sorted(self.open.items(), key=lambda pair: (pair[1], pair[0]))
        return [self.by_key[key] for key, _ in order]


def _live(own: Ownership, known: Execution) -> bool:
    """Say whether it is admitted to the live term."""
    return own.running and known.admitted > 0 and known.term == own.term


def conflicting(first: str | None, second: str | None) -> bool:
    """Say whether two digests differ; one that is not given conflicts with none."""
    return first is not None and second is not None and first != second


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
        if _live(own, known) and not known.absorbed_by:
            same = known.absorbed == event.absorbed
            return DUPLICATE if same else known.admitted
    for key in (event.key, *event.absorbed):
        used = state.by_key.get(key)
        if used is not None and (used.started or not used.open):
            return used.settled or used.stripped or used.started
    return APPLY


def _judge_start(
    own: Ownership, state: Executions, event: ExecutionStarted
) -> Judgement:
    known = state.by_key.get(event.key)
    if known is not None and known.started:
        return DUPLICATE
    return _judge_progress(own, known)


def _judge_output(own: Ownership, state: Executions, event: OutputStarted) -> Judgement:
    known = state.by_key.get(event.key)
    if known is not None and known.output:
        return DUPLICATE
    return _judge_progress(own, known)


def _judge_progress(own: Ownership, known: Execution | None) -> Judgement:
    if known is None:
        return 0
    if known.settled or not _live(own, known):
        return known.settled or own.ended or known.admitted
    return APPLY


def _judge_settle(
    _own: object, state: Executions, event: ExecutionSettled
) -> Judgement:
    known = state.by_key.get(event.key)
    if known is None:
        return 0
    if not known.settled:
        return APPLY
    return DUPLICATE if known.outcome == event.outcome else known.settled


def _judge_strip(
    own: Ownership, state: Executions, event: StaleRequestStripped
) -> Judgement:
    known = state.by_key.get(event.key)
    if known is None:
        return APPLY
    if known.stripped:
        return DUPLICATE
    return known.admitted if _live(own, known) else APPLY


def _judge_late(_own: object, state: Executions, event: LateResult) -> Judgement:
    if event.call_id is not None:
        return APPLY
    known = state.by_key.get(event.key)
    if known is None:
        return 0
    return DUPLICATE if known.late else APPLY


def _known(state: Executions, key: str) -> Execution:
    return state.by_key.get(key) or Execution(key)


def _update(state: Executions, known: Execution) -> Executions:
    return replace(state, by_key=state.by_key.set(known.key, known))


def _accept(
    _own: object, state: Executions, version: int, event: SubmissionAccepted
) -> Executions:
    known = _known(state, event.key)
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


def _sharing(state: Executions, known: Execution) -> list[Execution]:
    """Return the execution and all open ones that it absorbed."""
    if not known.absorbed:
        return [known]
    shared = [state.by_key.get(key) for key in known.absorbed]
    return [
        known,
        *(one for one in shared if one and one.open and one.absorbed_by == known.key),
    ]


def _start(
    own: Ownership, state: Executions, version: int, event: ExecutionStarted
) -> Executions:
    by_key = state.by_key
    for known in _sharing(state, _known(state, event.key)):
        now = replace(
            known, started=version, started_at=event.recorded_at, into=event.into
        )
        by_key = by_key.set(known.key, now)
    taken = state.taken
    if event.into is not None:
        taken = taken.set(event.into, (*taken.get(event.into, ()), event.key))
    return replace(
        state,
        by_key=by_key,
        last_started=by_key.get(event.key),
        taken=taken,
        at_work=AtWork(own.term, event.into or event.key, started=True),
    )


def _settle(
    _own: object, state: Executions, version: int, event: ExecutionSettled
) -> Executions:
    by_key, opened = state.by_key, state.open
    for known in _sharing(state, _known(state, event.key)):
        now = replace(
            known,
            settled=version,
            outcome=event.outcome,
            ended_at=known.ended_at or event.recorded_at,
        )
        by_key = by_key.set(known.key, now)
        opened = without(opened, known.key)
    return replace(state, by_key=by_key, open=opened)


def _output(
    _own: object, state: Executions, version: int, event: OutputStarted
) -> Executions:
    return _update(state, replace(_known(state, event.key), output=version))


def _strip(
    _own: object, state: Executions, version: int, event: StaleRequestStripped
) -> Executions:
    known = _known(state, event.key)
    known = replace(
        known,
        stripped=version,
        verdict=event.verdict,
        known_at=known.known_at or event.recorded_at,
        ended_at=known.ended_at or event.recorded_at,
    )
    return replace(
        state,
        by_key=state.by_key.set(event.key, known),
        open=without(state.open, event.key),
    )


def _late(
    _own: object, state: Executions, version: int, event: LateResult
) -> Executions:
    if event.call_id is not None:
        return state
    return _update(state, replace(_known(state, event.key), late=version))


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
        for one in _sharing(state, ended)[1:]:
            by_key = by_key.set(one.key, replace(one, absorbed_by=None))
    return replace(state, by_key=by_key, open=opened)


def _revoke(
    own: Ownership, state: Executions, version: int, event: AuthorityRevoked
) -> Executions:
    return _end_term(own, state, version, event) if event.ends_holding else state


RULES: Rules[Executions] = {
    SubmissionAccepted: Rule(_judge_accept, _accept),
    ExecutionAdmitted: Rule(_judge_admit, _admit),
    ExecutionStarted: Rule(_judge_start, _start),
    OutputStarted: Rule(_judge_output, _output),
    ExecutionSettled: Rule(_judge_settle, _settle),
    StaleRequestStripped: Rule(_judge_strip, _strip),
    LateResult: Rule(_judge_late, _late),
    RetirementCut: Rule(always, _end_term),
    OwnerTerminated: Rule(always, _end_term),
    AuthorityRevoked: Rule(always, _revoke),
}
