"""Start and settle: how work on an execution begins and ends (design section 6)."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import fence
from tenure_ledger.decisions.late import late_outcome
from tenure_ledger.decisions.live import (
    admitted,
    live_execution,
    open_execution,
    refuse_settled,
)
from tenure_ledger.decisions.work import At, Context, Decided, States, Work, made
from tenure_ledger.errors import InvalidInput, NotAdmitted, Rejection, refuse
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "HostOutcome",
    "Settle",
    "Start",
    "decide_settle",
    "decide_start",
    "start",
]

HostOutcome = Literal["completed", "failed", "cancelled"]
"""How a holder may settle; the other outcomes are the ledger's own words."""


class Start(NamedTuple):
    """Say that work on the message begins."""

    authority: Authority
    message_id: str
    into: str | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner whose holding starts."""
        return self.authority.owner


class Settle(NamedTuple):
    """Say how the execution ended."""

    authority: Authority
    message_id: str
    outcome: HostOutcome

    @property
    def owner(self) -> OwnerRef:
        """The owner whose holding settles."""
        return self.authority.owner


def decide_start(
    states: States, command: Start, context: Context
) -> Decided | Rejection:
    """Record that work on an admitted message begins."""
    state = states[command.owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    known = open_execution(state, command.message_id)
    if isinstance(known, Rejection):
        return known
    work = Work(states, context)
    if known.started:
        return work.decided(At(known.started))
    if command.into is not None:
        refusal = _running(state, command)
        if refusal is not None:
            return refusal
    into = command.into
    if into is not None:
        into = state.executions.by_key[into].absorbed_by or into
    return work.decided(At(start(work, command.owner, known, into)))


def start(
    work: Work, owner: OwnerRef, known: Execution, into: str | None = None
) -> int:
    """Append the start of the execution that this message is, or is part of."""
    key = known.absorbed_by or known.key
    started = made(e.ExecutionStarted, work.by_holder(owner), key=key, into=into)
    return work.add(owner.stream, started)


def _running(state: State, command: Start) -> Rejection | None:
    into = state.executions.by_key.get(command.into or "")
    if command.into == command.message_id:
        return refuse(InvalidInput, "a message cannot be started into itself")
    if into is None or not admitted(state.ownership, into) or not into.started:
        return refuse(
            NotAdmitted,
            f"{command.into} is not running in the live term: start it first",
            key=command.into,
        )
    return refuse_settled(into) if into.settled else None


def decide_settle(
    states: States, command: Settle, context: Context
) -> Decided | Rejection:
    """Record the first outcome, for what was absorbed or taken in as well."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    work = Work(states, context)
    if refusal is not None:
        before = state.executions.by_key.get(command.message_id)
        return late_outcome(work, command.authority, refusal, before, command.outcome)
    known = live_execution(state, command.message_id)
    if isinstance(known, Rejection):
        return known
    if known.settled:
        same = known.outcome == command.outcome
        return work.decided(At(known.settled)) if same else refuse_settled(known)
    key = known.absorbed_by or known.key
    at = work.state(owner).version + 1
    for one in (key, *_taken_in(state, key)):
        settled = made(
            e.ExecutionSettled, work.by_holder(owner), key=one, outcome=command.outcome
        )
        work.add(owner.stream, settled)
    return work.decided(At(at))


def _taken_in(state: State, key: str) -> list[str]:
    """Return the open messages that were started into it, or into one of these."""
    found: list[str] = []
    inside = [key]
    for at in inside:
        for one in state.executions.taken.get(at, ()):
            known = state.executions.by_key[one]
            if one not in inside and known.open and known.absorbed_by is None:
                found.append(one)
                inside.append(one)
    return found
