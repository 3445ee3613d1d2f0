"""Which owner an agent is bound to: the whole content of an agent's stream."""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger.events import AgentBound, AgentReleased, Event
from tenure_ledger.folds.judgement import APPLY, DUPLICATE, Judgement
from tenure_ledger.values import OwnerRef

__all__ = ["Binding"]


class Binding(NamedTuple):
    """The owner that the agent holds now, if any."""

    owner: OwnerRef | None = None
    generation: int = 0
    version: int = 0
    """Version of the event that bound or released it last."""


def judge(state: Binding, event: Event) -> Judgement:
    """Say what a binding event is to this state (module `judgement`)."""
    match event:
        case AgentBound():
            if state.owner is None:
                return APPLY
            return DUPLICATE if state.owner == event.owner else state.version
        case AgentReleased():
            if state.owner is None:
                return DUPLICATE
            return APPLY if state.owner == event.owner else state.version
        case _:
            return APPLY


def apply(state: Binding, version: int, event: Event) -> Binding:
    """Return the state after a binding event."""
    match event:
        case AgentBound():
            return Binding(event.owner, event.generation, version)
        case AgentReleased():
            return Binding(None, state.generation, version)
        case _:
            return state
