"""Rewritten histories and the interrupts of stripped requests (design section 6)."""

from __future__ import annotations

from datetime import datetime

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import (
    HistoryRewritten,
    InterruptSettled,
    StaleRequestStripped,
    StripVerdict,
    VerdictGiven,
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

__all__ = ["RULES", "Given", "Interrupt", "Relay", "Rewrite"]


class Rewrite(Value, frozen=True):
    """The latest rewrite of the host's history."""

    version: int
    generation: int
    prompt_floor: str | None
    checkpoint_seq: str | None
    state: str | None


class Interrupt(Value, frozen=True):
    """The clean-up of one stripped request."""

    interrupt_id: str
    key: str
    verdict: StripVerdict
    cut: int
    """Version of the cut that the request came after."""
    author: str
    opened: int
    opened_at: datetime
    settled: int = 0
    settled_at: datetime | None = None
    outcome: str | None = None


class Given(Value, frozen=True):
    """The verdict that a gate put on record last for one request."""

    version: int
    verdict: str
    cut: int


class Relay(Value, frozen=True):
    """What the gate needs besides executions and cuts."""

    rewrite: Rewrite | None = None
    interrupts: Map[str, Interrupt] = Map()
    open_interrupts: Map[str, int] = Map()
    given: Map[str, Given] = Map()
    """By message id; only where the host asked for it."""


def _judge_rewrite(_own: object, state: Relay, event: HistoryRewritten) -> Judgement:
    before = state.rewrite
    if before is None or event.history_rewrite_generation > before.generation:
        return APPLY
    same = _rewrite(before.version, event) == before
    return DUPLICATE if same else before.version


def _rewrite(version: int, event: HistoryRewritten) -> Rewrite:
    return Rewrite(
        version,
        event.history_rewrite_generation,
        event.prompt_floor,
        event.checkpoint_seq,
        event.state,
    )


def _rewritten(
    _own: object, state: Relay, version: int, event: HistoryRewritten
) -> Relay:
    return replace(state, rewrite=_rewrite(version, event))


def _strip(
    _own: object, state: Relay, version: int, event: StaleRequestStripped
) -> Relay:
    at = event.interrupt_id
    opened = Interrupt(
        at,
        event.key,
        event.verdict,
        event.cut,
        event.author,
        version,
        event.recorded_at,
    )
    return replace(
        state,
        interrupts=state.interrupts.set(at, opened),
        open_interrupts=state.open_interrupts.set(at, version),
    )


def _judge_settled(_own: object, state: Relay, event: InterruptSettled) -> Judgement:
    known = state.interrupts.get(event.interrupt_id)
    if known is None:
        return 0
    if not known.settled:
        return APPLY
    return DUPLICATE if known.outcome == event.outcome else known.settled


def _settle(_own: object, state: Relay, version: int, event: InterruptSettled) -> Relay:
    at = event.interrupt_id
    known = state.interrupts.get(at)
    if known is None:
        return state
    known = replace(
        known,
        settled=version,
        outcome=event.outcome,
        settled_at=event.recorded_at,
    )
    return replace(
        state,
        interrupts=state.interrupts.set(at, known),
        open_interrupts=without(state.open_interrupts, at),
    )


def _judge_given(_own: object, state: Relay, event: VerdictGiven) -> Judgement:
    known = state.given.get(event.key)
    same = known is not None and (known.verdict, known.cut) == (
        event.verdict,
        event.cut,
    )
    return DUPLICATE if same else APPLY


def _give(_own: object, state: Relay, version: int, event: VerdictGiven) -> Relay:
    given = Given(version, event.verdict, event.cut)
    return replace(state, given=state.given.set(event.key, given))


RULES: Rules[Relay] = {
    HistoryRewritten: Rule(_judge_rewrite, _rewritten),
    StaleRequestStripped: Rule(always, _strip),
    InterruptSettled: Rule(_judge_settled, _settle),
    VerdictGiven: Rule(_judge_given, _give),
}
