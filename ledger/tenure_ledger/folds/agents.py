"""Which owner an agent is bound to: the whole content of an agent's stream."""

from __future__ import annotations

from tenure_ledger.events import AgentBound, AgentReleased
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    Value,
)
from tenure_ledger.values import OwnerRef

__all__ = ["RULES", "Binding"]


class Binding(Value, frozen=True):
    """The owner that the agent holds now, if any."""

    owner: OwnerRef | None = None
    generation: int = 0
    version: int = 0
    """Version of the event that bound or released it last."""


def _judge_bound(_own: object, state: Binding, event: AgentBound) -> Judgement:
    if state.owner is None:
        return APPLY
    return DUPLICATE if state.owner == event.owner else state.version


def _bind(_own: object, _state: Binding, version: int, event: AgentBound) -> Binding:
    return Binding(event.owner, event.generation, version)


def _judge_released(_own: object, state: Binding, event: AgentReleased) -> Judgement:
    if state.owner is None:
        return DUPLICATE
    return APPLY if state.owner == event.owner else state.version


def _release(
    _own: object, state: Binding, version: int, _event: AgentReleased
) -> Binding:
    return Binding(None, state.generation, version)


RULES: Rules[Binding] = {
    AgentBound: Rule(_judge_bound, _bind),
    AgentReleased: Rule(_judge_released, _release),
}
