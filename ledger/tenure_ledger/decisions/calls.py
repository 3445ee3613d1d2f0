"""Tool calls: intended, dispatched once, completed, or unknown (design section 7)."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.approved import usable
from tenure_ledger.decisions.executions import start
from tenure_ledger.decisions.fence import fence
from tenure_ledger.decisions.late import add_late, late_call, no_call
from tenure_ledger.decisions.live import open_execution
from tenure_ledger.decisions.work import (
    At,
    Body,
    Called,
    Context,
    Decided,
    States,
    Work,
)
from tenure_ledger.errors import (
    AlreadyDecided,
    KeyReused,
    NotAdmitted,
    Rejection,
    refuse,
)
from tenure_ledger.folds.effects import Call
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "BeginToolCall",
    "CompleteToolCall",
    "IntendToolCall",
    "decide_begin",
    "decide_complete",
    "decide_intend",
    "idempotency_key",
]


class IntendToolCall(NamedTuple):
    """Record that the model asked for a call that waits for approval."""

    authority: Authority
    message_id: str
    call_id: str
    tool: str
    arguments: Body

    @property
    def owner(self) -> OwnerRef:
        """The owner whose execution calls."""
        return self.authority.owner


class BeginToolCall(NamedTuple):
    """Ask whether to run the call: intent, approval use and dispatch in one step."""

    authority: Authority
    message_id: str
    call_id: str
    tool: str
    arguments: Body
    approval: str | None = None
    policy_version: str | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner whose execution calls."""
        return self.authority.owner


class CompleteToolCall(NamedTuple):
    """Record the result of a call that was dispatched."""

    authority: Authority
    message_id: str
    call_id: str
    result: Body

    @property
    def owner(self) -> OwnerRef:
        """The owner whose execution called."""
        return self.authority.owner


def idempotency_key(owner: OwnerRef, message_id: str, call_id: str) -> str:
    """Return the key to hand to the tool: the same for the same call, for ever."""
    text = f"{owner.stream}\0{message_id}\0{call_id}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _known(
    state: State, command: IntendToolCall | BeginToolCall
) -> Call | Rejection | None:
    known = state.effects.calls.get((command.message_id, command.call_id))
    if known is None:
        return None
    if (known.tool, known.arguments) != (command.tool, command.arguments.digest):
        return refuse(
            KeyReused,
            f"call {command.call_id} is on record at version {known.intended} with "
            "another tool or other arguments: give this one a new id",
            version=known.intended,
        )
    return known


def _callable(state: State, message_id: str) -> Rejection | None:
    """Return why this execution may not call tools, if so."""
    known = open_execution(state, message_id)
    if isinstance(known, Rejection):
        return known
    for key in (message_id, known.absorbed_by):
        one = state.executions.by_key.get(key) if key else None
        bars = state.recovery.bars(one) if one else []
        if bars:
            return refuse(
                NotAdmitted,
                f"{key} is barred by {bars[0].reason} at version {bars[0].version}: "
                "do not call",
                key=key,
                reason=bars[0].reason,
                version=bars[0].version,
            )
    return None


def decide_intend(
    states: States, command: IntendToolCall, context: Context
) -> Decided | Rejection:
    """Record the intent alone; asked again, it is the call as it stands."""
    state = states[command.owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    known = _known(state, command)
    if isinstance(known, Rejection):
        return known
    work = Work(states, context)
    if known is None:
        refusal = _callable(state, command.message_id)
        if refusal is not None:
            return refusal
        _intend(work, command)
    return work.decided(Called(command.message_id, command.call_id))


def _intend(work: Work, command: IntendToolCall | BeginToolCall) -> None:
    owner = command.owner
    event = e.ToolCallIntended(
        **work.by_holder(owner),
        key=command.message_id,
        call_id=command.call_id,
        tool=command.tool,
        arguments=command.arguments.digest,
        idempotency_key=idempotency_key(owner, command.message_id, command.call_id),
    )
    work.add(owner.stream, event, command.arguments)


def decide_begin(
    states: States, command: BeginToolCall, context: Context
) -> Decided | Rejection:
    """Say "run it" once; afterwards the result, or that nobody knows."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    known = _known(state, command)
    if isinstance(known, Rejection):
        return known
    work = Work(states, context)
    if known is not None and (known.dispatched or known.completed or known.late):
        return work.decided(Called(command.message_id, command.call_id))
    refusal = _callable(state, command.message_id) or usable(
        state,
        command.call_id,
        command.tool,
        command.arguments.digest,
        command.approval,
        command.policy_version,
    )
    if refusal is None and known is not None and known.closed:
        refusal = refuse(
            NotAdmitted,
            f"call {known.call_id} was closed as never started at version "
            f"{known.closed}: make the call again under a new id",
            version=known.closed,
        )
    if refusal is not None:
        return refusal
    message = state.executions.by_key[command.message_id]
    lead = state.executions.by_key.get(message.absorbed_by or message.key, message)
    if not lead.started:
        # Else a restart would take it for work that nobody began.
        start(work, owner, lead)
    if known is None:
        _intend(work, command)
    envelope = work.by_holder(owner)
    if command.approval is not None:
        consumed = e.ApprovalConsumed(
            **envelope,
            request_id=command.approval,
            key=command.message_id,
            call_id=command.call_id,
        )
        work.add(owner.stream, consumed)
    dispatched = e.ToolCallDispatched(
        **envelope, key=command.message_id, call_id=command.call_id
    )
    work.add(owner.stream, dispatched)
    return work.decided(Called(command.message_id, command.call_id, fresh=True))


def decide_complete(
    states: States, command: CompleteToolCall, context: Context
) -> Decided | Rejection:
    """Store the result of a dispatched call; late ones as a fact, not an act."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    known = state.effects.calls.get((command.message_id, command.call_id))
    work = Work(states, context)
    if refusal is not None:
        return late_call(work, command.authority, refusal, known, command.result)
    if known is None:
        return no_call(owner, command.call_id)
    if known.completed or known.late:
        if known.result == command.result.digest:
            return work.decided(At(known.completed or known.late))
        return refuse(
            AlreadyDecided,
            f"the result of call {known.call_id} is on record at version "
            f"{known.completed or known.late}, and it is another one: that stands",
            first=known.result,
            version=known.completed or known.late,
        )
    if known.closed:
        at = add_late(work, owner, known, state.ownership.holder, command.result)
        return work.decided(At(at))
    if not known.dispatched:
        return refuse(
            NotAdmitted,
            f"call {known.call_id} was never dispatched: begin_tool_call first",
            version=known.intended,
        )
    event = e.ToolCallCompleted(
        **work.by_holder(owner),
        key=known.key,
        call_id=known.call_id,
        result=command.result.digest,
    )
    return work.decided(At(work.add(owner.stream, event, command.result)))
