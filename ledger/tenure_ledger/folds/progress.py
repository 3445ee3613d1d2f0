"""What an execution comes to: started, output begun, settled, stripped, late.

Source of the rules: design sections 4 to 6.
"""

from __future__ import annotations

from msgspec.structs import replace

from tenure_ledger.events import (
    ExecutionSettled,
    ExecutionStarted,
    LateResult,
    OutputStarted,
    StaleRequestStripped,
)
from tenure_ledger.folds.executions import (
    AtWork,
    Execution,
    Executions,
    known_as,
    live,
    sharing,
    updated,
)
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    without,
)
from tenure_ledger.folds.ownership import Ownership

__all__ = ["RULES"]


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
    if known.settled or not live(own, known):
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
    return known.admitted if live(own, known) else APPLY


def _judge_late(_own: object, state: Executions, event: LateResult) -> Judgement:
    if event.call_id is not None:
        return APPLY
    known = state.by_key.get(event.key)
    if known is None:
        return 0
    return DUPLICATE if known.late else APPLY


def _start(
    own: Ownership, state: Executions, version: int, event: ExecutionStarted
) -> Executions:
    by_key = state.by_key
    for known in sharing(state, known_as(state, event.key)):
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
    for known in sharing(state, known_as(state, event.key)):
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
    return updated(state, replace(known_as(state, event.key), output=version))


def _strip(
    _own: object, state: Executions, version: int, event: StaleRequestStripped
) -> Executions:
    known = known_as(state, event.key)
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
    return updated(state, replace(known_as(state, event.key), late=version))


RULES: Rules[Executions] = {
    ExecutionStarted: Rule(_judge_start, _start),
    OutputStarted: Rule(_judge_output, _output),
    ExecutionSettled: Rule(_judge_settle, _settle),
    StaleRequestStripped: Rule(_judge_strip, _strip),
    LateResult: Rule(_judge_late, _late),
}
