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

__all__ = ["RULES", "Interrupt", "Relay", "Rewrite"]


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


class Relay(Value, frozen=True):
    """What the gate needs besides executions and cuts."""

    rewrite: Rewrite | None = None
    interrupts: Map[str, Interrupt] = Map()
    open_interrupts: Map[str, int] = Map()


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
    return Relay(
        state.rewrite,
        state.interrupts.set(at, opened),
        state.open_interrupts.set(at, version),
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
    return Relay(
        state.rewrite,
        state.interrupts.set(at, known),
        without(state.open_interrupts, at),
    )


RULES: Rules[Relay] = {
    HistoryRewritten: Rule(_judge_rewrite, _rewritten),
    StaleRequestStripped: Rule(always, _strip),
    InterruptSettled: Rule(_judge_settled, _settle),
}
