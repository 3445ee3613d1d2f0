"""Retire, terminate, rewrite the history, give an interrupt up.

Source of the rules: design section 6.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.ending import (
    close_term,
    default_boundary,
    release,
)
from tenure_ledger.decisions.fence import blocked, fence, unfenced
from tenure_ledger.decisions.live import live_execution, refuse_settled
from tenure_ledger.decisions.work import At, Body, Context, Decided, States, Work
from tenure_ledger.errors import (
    AlreadyDecided,
    InvalidInput,
    NotFound,
    Rejection,
    StaleCheckpoint,
    refuse,
)
from tenure_ledger.folds.relay import Rewrite
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, Boundary, OwnerRef

__all__ = [
    "Retire",
    "RewriteHistory",
    "SettleInterrupt",
    "Terminate",
    "decide_retire",
    "decide_rewrite",
    "decide_settle_interrupt",
    "decide_terminate",
]


class Retire(NamedTuple):
    """End the live term by a cut; the session goes on with the next one."""

    authority: Authority
    outcome: Literal["accepted", "continue"]
    handover: Body | None = None
    boundary: Boundary | None = None
    finishes: tuple[str, ...] = ()

    @property
    def owner(self) -> OwnerRef:
        """The owner whose term ends."""
        return self.authority.owner


class Terminate(NamedTuple):
    """End the owner itself."""

    authority: Authority
    event_type: str
    status: str

    @property
    def owner(self) -> OwnerRef:
        """The owner that ends."""
        return self.authority.owner


class RewriteHistory(NamedTuple):
    """Say that the host compacted its history."""

    authority: Authority
    history_rewrite_generation: int
    prompt_floor: str | None = None
    checkpoint_seq: str | None = None
    state: Body | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner whose history it is."""
        return self.authority.owner


class SettleInterrupt(NamedTuple):
    """Give an open interrupt up, as a person, on record."""

    owner: OwnerRef
    interrupt_id: str
    outcome: str
    author: str


def decide_retire(
    states: States, command: Retire, context: Context
) -> Decided | Rejection:
    """Cut the term: settle, close, cut, release; what waits is left for the next."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority) or _finishable(state, command.finishes)
    own = state.ownership
    if refusal is None and own.thing:
        refusal = refuse(
            InvalidInput,
            f"{owner} is used by {own.parent}, whose terms are its own: terminate it, "
            "or leave it to the parent's next holder",
        )
    if refusal is not None:
        return refusal
    work = Work(states, context)
    boundary = command.boundary or default_boundary(state)
    ending = close_term(work, owner, work.by_holder(owner), command.finishes)
    handover = command.handover
    cut = e.RetirementCut(
        **work.by_holder(owner),
        outcome=command.outcome,
        boundary=boundary,
        handover=handover.digest if handover else None,
    )
    at = work.add(owner.stream, cut, handover)
    author = own.holder
    ending = ending._replace(things=release(work, owner, author, own))
    notices.tell(work, owner, author, ending, "retirement_cut")
    return work.decided(At(at))


def _finishable(state: State, finishes: tuple[str, ...]) -> Rejection | None:
    for key in finishes:
        known = live_execution(state, key)
        if isinstance(known, Rejection):
            refusal = known
        elif known.settled and known.outcome != "completed":
            refusal = refuse_settled(known)
        else:
            continue
        return refusal._replace(text=f"finishes: {refusal.text}")
    return None


def decide_terminate(
    states: States, command: Terminate, context: Context
) -> Decided | Rejection:
    """End the owner; the same end again, by the same holding, is the first outcome."""
    owner = command.owner
    state = states[owner.stream]
    own = state.ownership
    work = Work(states, context)
    first = own.terminal
    readable = blocked(state, owner) is None
    if own.status == "terminal" and first is not None and readable:
        same = (first.event_type, first.status) == (command.event_type, command.status)
        if first.incarnation == command.authority.incarnation:
            if same:
                return work.decided(At(first.version))
            return refuse(
                AlreadyDecided,
                f"{owner} ended as {first.event_type} at version {first.version}",
                first=first.event_type,
                version=first.version,
            )
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    ending = close_term(work, owner, work.by_holder(owner))
    ended = e.OwnerTerminated(
        **work.by_holder(owner),
        event_type=command.event_type,
        terminal_status=command.status,
    )
    at = work.add(owner.stream, ended)
    author = own.holder
    ending = ending._replace(things=release(work, owner, author, own))
    notices.tell(work, owner, author, ending, command.event_type)
    return work.decided(At(at))


def decide_rewrite(
    states: States, command: RewriteHistory, context: Context
) -> Decided | Rejection:
    """Record a rewrite; only a higher rewrite generation replaces the one on record."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    before = state.relay.rewrite
    digest = command.state.digest if command.state else None
    if before is not None and command.history_rewrite_generation <= before.generation:
        again = Rewrite(
            before.version,
            command.history_rewrite_generation,
            command.prompt_floor,
            command.checkpoint_seq,
            digest,
        )
        if again == before:
            return work.decided(At(before.version))
        return refuse(
            StaleCheckpoint,
            f"rewrite generation {before.generation} of {owner} is on record at "
            f"version {before.version}: discard the older rewrite",
            generation=before.generation,
            version=before.version,
        )
    event = e.HistoryRewritten(
        **work.by_holder(owner),
        history_rewrite_generation=command.history_rewrite_generation,
        prompt_floor=command.prompt_floor,
        checkpoint_seq=command.checkpoint_seq,
        state=digest,
    )
    return work.decided(At(work.add(owner.stream, event, command.state)))


def decide_settle_interrupt(
    states: States, command: SettleInterrupt, context: Context
) -> Decided | Rejection:
    """Settle an interrupt once; the first outcome stands."""
    owner = command.owner
    state = states[owner.stream]
    refusal = unfenced(state, owner)
    if refusal is not None:
        return refusal
    known = state.relay.interrupts.get(command.interrupt_id)
    if known is None:
        return refuse(
            NotFound,
            f"{owner} has no interrupt {command.interrupt_id}",
            kind="interrupt",
            id=command.interrupt_id,
        )
    work = Work(states, context)
    if known.settled:
        if known.outcome == command.outcome:
            return work.decided(At(known.settled))
        return refuse(
            AlreadyDecided,
            f"interrupt {known.interrupt_id} was settled {known.outcome} at version "
            f"{known.settled}",
            first=known.outcome,
            version=known.settled,
        )
    envelope = work.by(command.author, state.ownership.generation)
    event = e.InterruptSettled(
        **envelope, interrupt_id=command.interrupt_id, outcome=command.outcome
    )
    return work.decided(At(work.add(owner.stream, event)))
