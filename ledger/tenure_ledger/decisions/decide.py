"""Find the decision of a command, and the streams that it reads.

``reach`` says which streams must be loaded before ``decide`` is called: what a command
reads beyond its own stream, it also appends to or is decided on in the same transaction
(design section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tenure_ledger.decisions import (
    admission,
    approvals,
    bars,
    calls,
    checkpoints,
    children,
    executions,
    gating,
    late,
    ownership,
    relay,
    restored,
    takeover,
    upkeep,
)
from tenure_ledger.decisions.lineage import line
from tenure_ledger.decisions.recovering import command as recovering
from tenure_ledger.decisions.recovering import reaping, settling
from tenure_ledger.decisions.work import Command, Context, Decided, States
from tenure_ledger.errors import Rejection
from tenure_ledger.values import RESTORED, OwnerRef, agent_stream

__all__ = ["DECISIONS", "decide", "reach"]

DECISIONS: Mapping[type, Callable[[States, Any, Context], Decided | Rejection]] = {
    ownership.Claim: ownership.decide_claim,
    ownership.Succeed: ownership.decide_succeed,
    takeover.TakeOver: takeover.decide_take_over,
    ownership.Advance: ownership.decide_advance,
    children.Spawn: children.decide_spawn,
    children.GrantMore: children.decide_grant,
    children.Revoke: children.decide_revoke,
    admission.Accept: admission.decide_accept,
    admission.Admit: admission.decide_admit,
    executions.Start: executions.decide_start,
    executions.Settle: executions.decide_settle,
    relay.Retire: relay.decide_retire,
    relay.Terminate: relay.decide_terminate,
    relay.RewriteHistory: relay.decide_rewrite,
    relay.SettleInterrupt: relay.decide_settle_interrupt,
    checkpoints.SaveCheckpoint: checkpoints.decide_save,
    checkpoints.ClearCheckpoint: checkpoints.decide_clear,
    checkpoints.MarkOutput: checkpoints.decide_mark,
    bars.BarReplay: bars.decide_bar,
    approvals.RequestApproval: approvals.decide_request,
    approvals.DecideApproval: approvals.decide_approval,
    approvals.CloseApproval: approvals.decide_close,
    calls.IntendToolCall: calls.decide_intend,
    calls.BeginToolCall: calls.decide_begin,
    calls.CompleteToolCall: calls.decide_complete,
    late.LateFact: late.decide_late,
    gating.StripRequests: gating.decide_strip,
    gating.DeliverNotices: gating.decide_deliver,
    gating.GiveVerdicts: gating.decide_verdicts,
    upkeep.DeleteConversation: upkeep.decide_delete,
    upkeep.ResolveQuarantine: upkeep.decide_resolve,
    restored.RaiseFloor: restored.decide_raise_floor,
    recovering.SettleRecovery: settling.decide_recovery,
    reaping.Reap: reaping.decide_reap,
}

_ENDING = (
    ownership.Claim,
    takeover.TakeOver,
    ownership.Advance,
    relay.Retire,
    relay.Terminate,
    recovering.SettleRecovery,
    reaping.Reap,
)
"""Commands that may end a holding: its agent and its things are in reach."""

_ALONE = frozenset(
    {
        admission.Accept,
        admission.Admit,
        executions.Start,
        executions.Settle,
        checkpoints.SaveCheckpoint,
        calls.IntendToolCall,
        calls.BeginToolCall,
        calls.CompleteToolCall,
    }
)
"""The frequent commands: they read their own stream alone, so nobody need look."""


_LATE = (late.LateFact, executions.Settle, calls.CompleteToolCall)
"""Commands that may tell what became known late."""


def decide(states: States, command: Command, context: Context) -> Decided | Rejection:
    """Return the events of the command on these states, or why it is refused."""
    return DECISIONS[type(command)](states, command, context)


def reach(states: States, command: Command) -> set[str]:
    """Return the streams that the command reads and ``states`` does not hold yet.

    Call it again with what it asked for until it returns nothing.
    """
    wanted = {command.owner.stream}
    if _told_above(states, command):
        wanted |= _above(states, command.owner)
    if type(command) in _ALONE:
        return wanted.difference(states)
    wanted |= _granted(command)
    match command:
        case children.Spawn() | children.GrantMore() | children.Revoke():
            wanted.add(command.child.stream)
            wanted |= _above(states, command.owner)
            wanted |= _held(states, command.child.stream)
        case takeover.TakeOver():
            state = states.get(command.owner.stream)
            if state is not None and state.ownership.parent is not None:
                wanted.add(state.ownership.parent.stream)
        case recovering.SettleRecovery() | reaping.Reap():
            wanted |= _above(states, command.owner)
        case upkeep.DeleteConversation() | bars.BarReplay():
            wanted |= _family(states, command.owner.stream)
        case upkeep.ResolveQuarantine():
            wanted |= _disputed(states, command.owner.stream)
        case _:
            pass
    if isinstance(command, _ENDING):
        wanted |= _held(states, command.owner.stream)
    return wanted - states.keys()


def _granted(command: Command) -> set[str]:
    """Return what a grant reads: the floor of all generations, the agent it names."""
    match command:
        case (
            ownership.Claim()
            | ownership.Succeed()
            | takeover.TakeOver()
            | ownership.Advance()
            | children.Spawn()
        ):
            agent = command.agent_id
            named = set[str]() if agent is None else {agent_stream(agent)}
            return {RESTORED.stream} | named
        case recovering.SettleRecovery():
            return {RESTORED.stream}
        case _:
            return set()


def _disputed(states: States, stream: str) -> set[str]:
    """Return the agents that a quarantined owner may turn out to be held by, or not."""
    state = states.get(stream)
    disputed = set[str]() if state is None else upkeep.disputed_agents(state)
    return {agent_stream(agent) for agent in disputed}


def _told_above(states: States, command: Command) -> bool:
    """Say whether what is late is told above."""
    state = states.get(command.owner.stream)
    if state is None or not isinstance(command, _LATE):
        return False
    return state.ownership.told_above


def _above(states: States, owner: OwnerRef) -> set[str]:
    """Return the owner, its parent and so on, as far as they are known."""
    return {at.stream for at, _ in line(owner, lambda at: states.get(at.stream))}


def _held(states: States, stream: str) -> set[str]:
    """Return the agent bound to the owner and the things its holder uses, all down."""
    return _below(states, stream, only_used=True)


def _family(states: States, stream: str) -> set[str]:
    """Return all descendants and the agents that they and the owner are bound to."""
    return _below(states, stream, only_used=False)


def _below(states: States, stream: str, *, only_used: bool) -> set[str]:
    """Walk down; a stored history may name an owner as its own descendant."""
    found: set[str] = set()
    waiting = [stream]
    while waiting:
        at = waiting.pop()
        if at in found:
            continue
        found.add(at)
        state = states.get(at)
        if state is None:
            continue
        own = state.ownership
        if own.agent_id is not None:
            found.add(agent_stream(own.agent_id))
        waiting.extend(
            child.ref.stream
            for child in own.children.values()
            if child.used or not only_used
        )
    return found
