"""Rewritten histories and the interrupts of stripped requests (design section 6)."""

from __future__ import annotations

from typing import NamedTuple

from immutables import Map

from tenure_ledger.events import (
    Event,
    HistoryRewritten,
    InterruptSettled,
    StaleRequestStripped,
)
from tenure_ledger.folds.judgement import APPLY, DUPLICATE, Judgement, without

__all__ = ["Interrupt", "Relay", "Rewrite"]


class Rewrite(NamedTuple):
    """The latest rewrite of the host's history."""

    version: int
    generation: int
    prompt_floor: str | None
    checkpoint_seq: str | None
    state: str | None


class Interrupt(NamedTuple):
    """The clean-up of one stripped request."""

    interrupt_id: str
    key: str
    opened: int
    settled: int = 0
    outcome: str | None = None


class Relay(NamedTuple):
    """What the gate needs besides executions and cuts."""

    rewrite: Rewrite | None = None
    interrupts: Map[str, Interrupt] = Map()
    open_interrupts: Map[str, int] = Map()


def judge(state: Relay, event: Event) -> Judgement:
    """Say what a relay event is to this state (module `judgement`)."""
    match event:
        case HistoryRewritten() if state.rewrite is not None:
            before = state.rewrite
            if event.history_rewrite_generation > before.generation:
                return APPLY
            return DUPLICATE if _same(before, event) else before.version
        case InterruptSettled():
            known = state.interrupts.get(event.interrupt_id)
            if known is None:
                return 0
            if not known.settled:
                return APPLY
            return DUPLICATE if known.outcome == event.outcome else known.settled
        case _:
            return APPLY


def _same(before: Rewrite, event: HistoryRewritten) -> bool:
    return before[1:] == (
        event.history_rewrite_generation,
        event.prompt_floor,
        event.checkpoint_seq,
        event.state,
    )


def apply(state: Relay, version: int, event: Event) -> Relay:
    """Return the state after a relay event."""
    match event:
        case HistoryRewritten():
            rewrite = Rewrite(
                version,
                event.history_rewrite_generation,
                event.prompt_floor,
                event.checkpoint_seq,
                event.state,
            )
            return state._replace(rewrite=rewrite)
        case StaleRequestStripped():
            opened = Interrupt(event.interrupt_id, event.key, version)
            return state._replace(
                interrupts=state.interrupts.set(event.interrupt_id, opened),
                open_interrupts=state.open_interrupts.set(event.interrupt_id, version),
            )
        case InterruptSettled():
            known = state.interrupts.get(event.interrupt_id)
            if known is None:
                return state
            known = known._replace(settled=version, outcome=event.outcome)
            return state._replace(
                interrupts=state.interrupts.set(event.interrupt_id, known),
                open_interrupts=without(state.open_interrupts, event.interrupt_id),
            )
        case _:
            return state
