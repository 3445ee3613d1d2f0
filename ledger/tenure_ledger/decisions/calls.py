"""Tool calls: intended, dispatched once, completed, or unknown (design section 7)."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.approvals import usable
from tenure_ledger.decisions.executions import admitted
from tenure_ledger.decisions.work import (
    At,
    Body,
    Called,
    Context,
    Decided,
    States,
    Work,
    blocked,
    fence,
    unknown,
)
from tenure_ledger.errors import (
    AlreadyDecided,
    FencedOut,
    InvalidInput,
    KeyReused,
    NotAdmitted,
    NotFound,
    OwnerEnded,
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
    "LateFact",
    "decide_begin",
    "decide_complete",
    "decide_intend",
    "decide_late",
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


class LateFact(NamedTuple):
    """Record what became of a call or an execution whose holding ended; unfenced."""

    owner: OwnerRef
    author: str
    message_id: str
    call_id: str | None
    result: Body


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
    known = state.executions.by_key.get(message_id)
    if known is None or not admitted(state.ownership, known):
        return refuse(
            NotAdmitted,
            f"{message_id} is no execution of the live term: admit it first",
            key=message_id,
            generation=state.ownership.generation,
        )
    if known.settled:
        return refuse(
            AlreadyDecided,
            f"{message_id} was settled {known.outcome} at version {known.settled}: "
            "it calls no more",
            first=known.outcome,
            version=known.settled,
        )
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
    if refusal is not None:
        author = command.authority.agent_id or owner.owner_id
        work = Work(states, context)
        return _late_call(work, owner, refusal, known, (author, command.result))
    if known is None:
        return _no_call(owner, command.call_id)
    work = Work(states, context)
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
        at = _append_late(
            work, owner, known, (work.by_holder(owner)["author"], command.result)
        )
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


def _no_call(owner: OwnerRef, call_id: str) -> Rejection:
    return refuse(
        NotFound,
        f"{owner} has no call {call_id}: begin it first",
        kind="call",
        id=call_id,
    )


def _append_late(
    work: Work, owner: OwnerRef, known: Call, told: tuple[str, Body]
) -> int:
    author, result = told
    generation = work.state(owner).ownership.generation
    event = e.LateResult(
        **work.by(author, generation),
        key=known.key,
        call_id=known.call_id,
        result=result.digest,
    )
    return work.add(owner.stream, event, result)


def _late_call(
    work: Work,
    owner: OwnerRef,
    refusal: Rejection,
    known: Call | None,
    told: tuple[str, Body],
) -> Decided | Rejection:
    ended = issubclass(refusal.kind, (FencedOut, OwnerEnded))
    if known is None or not ended or known.completed:
        return refusal
    at = known.late or _append_late(work, owner, known, told)
    refusal = refusal._replace(evidence={**refusal.evidence, "late": at})
    return work.decided(At(at), refusal=refusal) if work.drafts else refusal


def decide_late(
    states: States, command: LateFact, context: Context
) -> Decided | Rejection:
    """Store a late result of what no live holding can report any more, once."""
    owner = command.owner
    state = states[owner.stream]
    refusal = blocked(state, owner)
    if refusal is not None:
        return refusal
    if not state.version:
        return unknown(owner)
    work = Work(states, context)
    if command.call_id is not None:
        return _late_fact_of_call(work, state, command, command.call_id)
    return _late_fact_of_message(work, state, command)


def _late_fact_of_call(
    work: Work, state: State, command: LateFact, call_id: str
) -> Decided | Rejection:
    call = state.effects.calls.get((command.message_id, call_id))
    if call is None:
        return _no_call(command.owner, call_id)
    if call.late:
        return work.decided(At(call.late))
    if call.open or call.completed:
        return _not_late(call.completed, f"call {call.call_id}")
    told = (command.author, command.result)
    return work.decided(At(_append_late(work, command.owner, call, told)))


def _late_fact_of_message(
    work: Work, state: State, command: LateFact
) -> Decided | Rejection:
    owner = command.owner
    known = state.executions.by_key.get(command.message_id)
    if known is None:
        return refuse(
            NotFound,
            f"{owner} knows no message {command.message_id}",
            kind="execution",
            id=command.message_id,
        )
    if known.late:
        return work.decided(At(known.late))
    if known.outcome in {"completed", "failed"}:
        return _not_late(known.settled, known.key)
    if not known.admitted:
        return refuse(
            NotAdmitted,
            f"{known.key} was never an execution, so it has no result",
            key=known.key,
        )
    if admitted(state.ownership, known) and known.open:
        return _not_late(0, known.key)
    event = e.LateResult(
        **work.by(command.author, known.generation),
        key=known.key,
        result=command.result.digest,
    )
    return work.decided(At(work.add(owner.stream, event, command.result)))


def _not_late(completed: int, what: str) -> Rejection:
    if completed:
        return refuse(
            AlreadyDecided,
            f"{what} was completed at version {completed}: that stands",
            first="completed",
            version=completed,
        )
    return refuse(
        InvalidInput, f"{what} is of the live holding: complete it with its authority"
    )
