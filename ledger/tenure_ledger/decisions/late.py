"""Late results: what became known after its holding ended, a fact and not an act.

Each is told once, by a notice, to whoever has the owner now or next; of a thing, and of
an owner that ended, above it. Nothing is kept about the live holding's own work.
Source of the rules: design section 6.
"""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import unfenced
from tenure_ledger.decisions.live import admitted, no_message
from tenure_ledger.decisions.notices import tell_late
from tenure_ledger.decisions.work import At, Body, Context, Decided, States, Work
from tenure_ledger.errors import (
    AlreadyDecided,
    FencedOut,
    InvalidInput,
    NotAdmitted,
    NotFound,
    OwnerEnded,
    Rejection,
    refuse,
)
from tenure_ledger.folds.effects import Call
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "LateFact",
    "add_late",
    "decide_late",
    "late_call",
    "late_outcome",
    "no_call",
]


class LateFact(NamedTuple):
    """Record what became of a call or an execution whose holding ended; unfenced."""

    owner: OwnerRef
    author: str
    message_id: str
    call_id: str | None
    result: Body


def decide_late(
    states: States, command: LateFact, context: Context
) -> Decided | Rejection:
    """Store a late result of what no live holding can report any more, once."""
    owner = command.owner
    state = states[owner.stream]
    refusal = unfenced(state, owner)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    if command.call_id is not None:
        return _of_call(work, state, command, command.call_id)
    return _of_message(work, state, command)


def _of_call(
    work: Work, state: State, command: LateFact, call_id: str
) -> Decided | Rejection:
    call = state.effects.calls.get((command.message_id, call_id))
    if call is None:
        return no_call(command.owner, call_id)
    if call.late:
        return work.decided(At(call.late))
    if call.open or call.completed:
        return _not_late(call.completed, f"call {call.call_id}")
    at = add_late(work, command.owner, call, command.author, command.result)
    return work.decided(At(at))


def _of_message(work: Work, state: State, command: LateFact) -> Decided | Rejection:
    owner = command.owner
    known = state.executions.by_key.get(command.message_id)
    if known is None:
        return no_message(owner, command.message_id)
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
    at = work.add(owner.stream, event, command.result)
    tell_late(work, owner, event, at)
    return work.decided(At(at))


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


def no_call(owner: OwnerRef, call_id: str) -> Rejection:
    """Refuse because the owner has no such call."""
    return refuse(
        NotFound,
        f"{owner} has no call {call_id}: begin it first",
        kind="call",
        id=call_id,
    )


def add_late(
    work: Work, owner: OwnerRef, known: Call, author: str, result: Body
) -> int:
    """Append the result of a call that nobody waited for any more, and tell it."""
    generation = work.state(owner).ownership.generation
    event = e.LateResult(
        **work.by(author, generation),
        key=known.key,
        call_id=known.call_id,
        result=result.digest,
    )
    at = work.add(owner.stream, event, result)
    tell_late(work, owner, event, at, known.tool)
    return at


def late_call(
    work: Work,
    authority: Authority,
    refusal: Rejection,
    known: Call | None,
    result: Body,
) -> Decided | Rejection:
    """Store the result that an ended holding tells, then refuse it all the same.

    The first one stands.
    """
    if known is None or not _ended(refusal) or known.completed:
        return refusal
    owner = authority.owner
    if not known.late and _of_live_holding(work.state(owner).ownership, known):
        return refusal
    author = authority.agent_id or owner.owner_id
    at = known.late or add_late(work, owner, known, author, result)
    return _kept(work, refusal, at)


def _of_live_holding(own: Ownership, known: Call) -> bool:
    """Say whether the live holding dispatched the call, or may do it yet.

    Whoever held before knows nothing of it: what it says would be taken for the result
    of a call that ran once, or never.
    """
    holding = own.holding
    if not (own.live and known.open) or holding is None:
        return False
    return not 0 < known.dispatched < holding.granted


def late_outcome(
    work: Work,
    authority: Authority,
    refusal: Rejection,
    known: Execution | None,
    outcome: str,
) -> Decided | Rejection:
    """Store the outcome that an ended holding tells, then refuse it all the same.

    The first one stands.
    """
    if known is None or not _ended(refusal) or not known.admitted:
        return refusal
    if known.outcome in {"completed", "failed"}:
        return refusal
    owner = authority.owner
    own = work.state(owner).ownership
    if not known.late and _at_work_since(own, known, authority):
        return refusal
    at = known.late
    if not at:
        author = authority.agent_id or owner.owner_id
        event = e.LateResult(
            **work.by(author, known.generation), key=known.key, outcome=outcome
        )
        at = work.add(owner.stream, event)
        tell_late(work, owner, event, at)
    return _kept(work, refusal, at)


def _at_work_since(own: Ownership, known: Execution, authority: Authority) -> bool:
    """Say whether the message was carried over, or begun, after this holding ended.

    It is the work of who holds the owner now. A restart goes on with what it finds.
    """
    holding = own.holding
    if not admitted(own, known) or holding is None:
        return False
    carried = known.incarnation != authority.incarnation
    carried = carried and authority.generation < known.generation
    return carried or known.started > holding.granted


def _ended(refusal: Rejection) -> bool:
    """Say whether it was refused because the holding ended, and for nothing else."""
    return issubclass(refusal.kind, (FencedOut, OwnerEnded))


def _kept(work: Work, refusal: Rejection, at: int) -> Decided | Rejection:
    """Refuse with the version of the late result, which may be an earlier one."""
    refusal = refusal._replace(evidence={**refusal.evidence, "late": at})
    return work.decided(At(at), refusal=refusal) if work.drafts else refusal
