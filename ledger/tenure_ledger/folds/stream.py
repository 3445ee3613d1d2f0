"""The state of one stream, and its fold: total over every stored history.

A duplicate changes nothing. A contradiction stops the fold of that one stream before
it: the stream is quarantined, both positions are kept, and what follows is held until
`QuarantineResolved` says which of the two stands (design section 5, rule 4). An unknown
event that is not ignorable makes the stream too new for this version (section 4).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from immutables import Map

from tenure_ledger import events as e
from tenure_ledger.folds import (
    agents,
    effects,
    executions,
    notices,
    ownership,
    recovery,
    relay,
)
from tenure_ledger.folds.judgement import APPLY, DUPLICATE, Judgement
from tenure_ledger.rows import GENESIS

__all__ = ["Quarantine", "State", "evolve", "fold"]

_OWNERSHIP = frozenset(
    {
        e.OwnershipClaimed,
        e.GenerationAdvanced,
        e.ChildSpawned,
        e.AuthorityGranted,
        e.AuthorityRevoked,
        e.OwnerTerminated,
        e.ConversationDeleted,
        e.RetirementCut,
    }
)
_EXECUTIONS = frozenset(
    {
        e.SubmissionAccepted,
        e.ExecutionAdmitted,
        e.ExecutionStarted,
        e.ExecutionSettled,
        e.OutputStarted,
        e.StaleRequestStripped,
        e.LateResult,
        e.RetirementCut,
        e.OwnerTerminated,
    }
)
_RECOVERY = frozenset(
    {
        e.CheckpointSaved,
        e.CheckpointCleared,
        e.ReplayBarred,
        e.GenerationAdvanced,
    }
)
_EFFECTS = frozenset(
    {
        e.ToolCallIntended,
        e.ToolCallDispatched,
        e.ToolCallCompleted,
        e.ToolCallClosed,
        e.ApprovalRequested,
        e.ApprovalDecided,
        e.ApprovalConsumed,
        e.ApprovalClosed,
        e.LateResult,
    }
)
_NOTICES = frozenset({e.NoticeIssued, e.NoticeDelivered, e.ExecutionSettled})
_RELAY = frozenset({e.HistoryRewritten, e.StaleRequestStripped, e.InterruptSettled})
_AGENTS = frozenset({e.AgentBound, e.AgentReleased})


class Quarantine(NamedTuple):
    """Two stored events that contradict each other."""

    version: int
    """Version of the later one, before which the fold stopped."""
    against: int
    """Version of the earlier one; 0: nothing on record allows the later one."""
    event: e.Event
    held: Map[int, e.Event] = Map()
    """What was stored after it, by version."""


class State(NamedTuple):
    """All that decisions read of one stream."""

    stream: str
    version: int = 0
    hash: bytes = GENESIS
    active: int = 0
    """Version of the latest event that the live holding wrote: proof of life."""
    too_new: int = 0
    """Version of the first event that this version does not know; 0: none."""
    quarantine: Quarantine | None = None
    ownership: ownership.Ownership = ownership.Ownership()
    executions: executions.Executions = executions.Executions()
    recovery: recovery.Recovery = recovery.Recovery()
    effects: effects.Effects = effects.Effects()
    notices: notices.Notices = notices.Notices()
    relay: relay.Relay = relay.Relay()
    agent: agents.Binding = agents.Binding()


def fold(stream: str, history: Iterable[e.Recorded]) -> State:
    """Return the state after the stream's whole history."""
    state = State(stream)
    for recorded in history:
        state = evolve(state, recorded)
    return state


def evolve(state: State, recorded: e.Recorded) -> State:
    """Return the state after the next stored event; never raises."""
    event = recorded.event
    state = state._replace(version=recorded.version, hash=recorded.hash)
    if state.too_new:
        return state
    if isinstance(event, e.Unknown):
        if event.ignorable:
            return state
        return state._replace(too_new=recorded.version)
    if state.quarantine is not None:
        return _quarantined(state, state.quarantine, recorded.version, event)
    return _step(state, recorded.version, event)


def _step(state: State, version: int, event: e.Event) -> State:
    verdict = judge(state, event)
    if verdict == APPLY:
        return apply(state, version, event)
    if verdict == DUPLICATE:
        return state
    return state._replace(quarantine=Quarantine(version, verdict, event))


def _quarantined(
    state: State, stopped: Quarantine, version: int, event: e.Event
) -> State:
    match event:
        case e.QuarantineResolved():
            return _resolve(state, stopped, keep=event.keep)
        case e.ConversationDeleted():
            return apply(state._replace(quarantine=None), version, event)
        case e.SubmissionAccepted() if judge(state, event) == APPLY:
            return apply(state, version, event)
        case _:
            held = stopped.held.set(version, event)
            return state._replace(quarantine=stopped._replace(held=held))


def _resolve(state: State, stopped: Quarantine, *, keep: int) -> State:
    """Go on with the earlier event standing, or with the later one taken as true."""
    state = state._replace(quarantine=None)
    if keep == stopped.version:
        state = apply(state, stopped.version, stopped.event)
    for version, event in sorted(stopped.held.items()):
        if state.quarantine is None:
            state = _step(state, version, event)
        else:
            state = _quarantined(state, state.quarantine, version, event)
    return state


def judge(state: State, event: e.Event) -> Judgement:
    """Say what the event is to this state (module `judgement`)."""
    kind = type(event)
    own = state.ownership
    if event.fenced and kind is not e.GenerationAdvanced:
        running = own.status in {"live", "imported"}
        if not running or event.generation != own.generation:
            return max(own.ended, own.holding.granted if own.holding else 0)
    verdicts: list[Judgement] = []
    if kind in _OWNERSHIP:
        verdicts.append(ownership.judge(own, event))
    if kind in _EXECUTIONS:
        verdicts.append(executions.judge(own, state.executions, event))
    if kind in _RECOVERY:
        verdicts.append(recovery.judge(state.recovery, event))
    if kind in _EFFECTS:
        verdicts.append(effects.judge(state.effects, event))
    if kind in _NOTICES:
        verdicts.append(notices.judge(state.notices, event))
    if kind in _RELAY:
        verdicts.append(relay.judge(state.relay, event))
    if kind in _AGENTS:
        verdicts.append(agents.judge(state.agent, event))
    return max(verdicts, default=APPLY)


def apply(state: State, version: int, event: e.Event) -> State:
    """Return the state with the event taken as true."""
    kind = type(event)
    own = state.ownership
    if kind in _OWNERSHIP:
        own = ownership.apply(own, version, event)
    return State(
        stream=state.stream,
        version=state.version,
        hash=state.hash,
        active=version if event.fenced else state.active,
        too_new=state.too_new,
        quarantine=state.quarantine,
        ownership=own,
        executions=executions.apply(own, state.executions, version, event)
        if kind in _EXECUTIONS
        else state.executions,
        recovery=recovery.apply(own, state.recovery, version, event)
        if kind in _RECOVERY
        else state.recovery,
        effects=effects.apply(state.effects, version, event)
        if kind in _EFFECTS
        else state.effects,
        notices=notices.apply(state.notices, version, event)
        if kind in _NOTICES
        else state.notices,
        relay=relay.apply(state.relay, version, event)
        if kind in _RELAY
        else state.relay,
        agent=agents.apply(state.agent, version, event)
        if kind in _AGENTS
        else state.agent,
    )
