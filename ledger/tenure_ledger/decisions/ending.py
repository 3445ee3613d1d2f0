"""What the end of a holding or a term takes with it (design section 6).

Order inside a command: settles and closings, then the cut or terminal event, then
releases. What is accepted and not started is left: the next grant carries it over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.live import live_executions, of_term
from tenure_ledger.decisions.work import Envelope, Work
from tenure_ledger.folds.effects import Call
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Boundary, OwnerRef, agent_stream

__all__ = [
    "Ending",
    "cancelled_parts",
    "clear_checkpoint",
    "close_call",
    "close_term",
    "default_boundary",
    "end_things",
    "leads",
    "release",
    "runs_in",
    "settle_each",
    "things",
]


class Ending(NamedTuple):
    """What the end of a term or of a run left behind, for the notice."""

    facts: tuple[e.Fact, ...]
    reasons: tuple[str, ...] = ()
    """Why it must not run again: reasons of `ReplayReason`, and a failed assertion."""
    generation: int = 0
    """The generation that ended."""
    things: tuple[tuple[OwnerRef, Ending], ...] = ()
    """What the holder used, and what was left behind there."""


def leads(state: State, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the executions that these keys are, or were absorbed by."""
    known = [state.executions.by_key.get(key) for key in keys]
    return tuple((one.absorbed_by or one.key) for one in known if one is not None)


def runs_in(state: State, one: Execution) -> set[str]:
    """Return the executions that this one is a part of: itself, and what took it in."""
    around: set[str] = set()
    at: Execution | None = one
    while at is not None and at.key not in around:
        around.add(at.key)
        at = state.executions.by_key.get(at.into) if at.into else None
    return around


def settle_each(
    work: Work,
    owner: OwnerRef,
    envelope: Envelope,
    outcome_of: Callable[[Execution], e.SettleOutcome | None],
) -> list[tuple[Execution, e.SettleOutcome]]:
    """Settle the executions of the live term as ``outcome_of`` says; None leaves one.

    An absorbed message shares what becomes of the one that absorbed it; but what a
    person cancelled of one that was begun and does not come to its end here is settled
    ``cancelled``. Return what else was settled, as it was before, in order.
    """
    settled: list[tuple[Execution, e.SettleOutcome]] = []
    state = work.state(owner)
    for one in live_executions(state):
        if one.absorbed_by is not None:
            continue
        outcome = outcome_of(one)
        if outcome not in {"completed", "cancelled"}:
            for part in cancelled_parts(state, one):
                over = e.ExecutionSettled(**envelope, key=part.key, outcome="cancelled")
                work.add(owner.stream, over)
        if outcome is not None:
            event = e.ExecutionSettled(**envelope, key=one.key, outcome=outcome)
            work.add(owner.stream, event)
            settled.append((one, outcome))
    return settled


def cancelled_parts(state: State, one: Execution) -> list[Execution]:
    """Return what a begun execution absorbed and a person has cancelled by itself."""
    if not one.started or not one.absorbed:
        return []
    parts = [state.executions.by_key[key] for key in one.absorbed]
    shared = [at for at in parts if at.absorbed_by == one.key and at.open]
    return [part for part in shared if _cancelled(state, part)]


def close_term(
    work: Work,
    owner: OwnerRef,
    envelope: Envelope,
    finishes: tuple[str, ...] = (),
) -> Ending:
    """Settle what was started, close calls and approvals, clear the checkpoint."""
    state = work.state(owner)
    finishes = leads(state, finishes)
    facts: list[e.Fact] = []
    ended: list[str] = []

    def outcome_of(one: Execution) -> e.SettleOutcome | None:
        if not one.started and one.key not in finishes:
            if not one.accepted:
                ended.append(one.key)
            return None
        outcome = _outcome(state, one, finishes)
        if outcome == "retired":
            ended.append(one.key)
            facts.extend(_unfinished(state, one))
        return outcome

    settle_each(work, owner, envelope, outcome_of)
    facts.extend(_close_calls(work, owner, envelope))
    _close_approvals(work, owner, envelope)
    clear_checkpoint(work, owner, envelope)
    if ended:
        barred = e.ReplayBarred(
            **envelope, reason="successor_accepted", keys=tuple(ended)
        )
        work.add(owner.stream, barred)
    return Ending(tuple(facts), generation=state.ownership.generation)


def clear_checkpoint(
    work: Work, owner: OwnerRef, envelope: Envelope, reason: str = "term_ended"
) -> None:
    """Clear the live checkpoint, if any."""
    checkpoint = work.state(owner).recovery.checkpoint
    if checkpoint is not None:
        cleared = e.CheckpointCleared(
            **envelope, reason=reason, revision=checkpoint.revision
        )
        work.add(owner.stream, cleared)


def _outcome(
    state: State, one: Execution, finishes: tuple[str, ...]
) -> e.SettleOutcome:
    if not runs_in(state, one).isdisjoint(finishes):
        return "completed"
    return "cancelled" if _cancelled(state, one) else "retired"


def _cancelled(state: State, one: Execution) -> bool:
    return any(bar.reason in CANCELLING for bar in state.recovery.bars(one))


def _unfinished(state: State, one: Execution) -> list[e.Fact]:
    """List what a person sent, still wants and nobody finished, absorbed or not."""
    shared = [state.executions.by_key[key] for key in one.absorbed]
    wanted = [each for each in (one, *shared) if each.open and each.human]
    facts = [
        e.Fact(kind="unfinished", key=each.key)
        for each in wanted
        if not _cancelled(state, each)
    ]
    if facts and one.output:
        facts.append(e.Fact(kind="output_may_have_been_seen", key=one.key))
    return facts


def _close_calls(work: Work, owner: OwnerRef, envelope: Envelope) -> list[e.Fact]:
    facts: list[e.Fact] = []
    for call in work.state(owner).effects.listed_calls():
        facts += close_call(work, owner, envelope, call)
    return facts


def close_call(
    work: Work, owner: OwnerRef, envelope: Envelope, call: Call
) -> list[e.Fact]:
    """Close a call; return the fact of one that may have run, with no late result."""
    outcome: e.CallOutcome = "outcome_unknown" if call.dispatched else "never_started"
    closed = e.ToolCallClosed(
        **envelope, key=call.key, call_id=call.call_id, outcome=outcome
    )
    work.add(owner.stream, closed)
    if not call.dispatched or call.late:
        return []
    return [
        e.Fact(
            kind="outcome_unknown", key=call.key, call_id=call.call_id, tool=call.tool
        )
    ]


def _close_approvals(work: Work, owner: OwnerRef, envelope: Envelope) -> None:
    for approval in work.state(owner).effects.listed_approvals():
        reason: e.CloseReason = "void" if approval.decided else "cut"
        closed = e.ApprovalClosed(
            **envelope, request_id=approval.request_id, reason=reason
        )
        work.add(owner.stream, closed)


def default_boundary(state: State) -> Boundary | None:
    """Return the last request of the live term that was started, if any."""
    last = state.executions.last_started
    if last is None or not of_term(state.ownership, last):
        return None
    return Boundary(last.key)


def release(
    work: Work, owner: OwnerRef, author: str, before: Ownership
) -> tuple[tuple[OwnerRef, Ending], ...]:
    """Release the agent that held the owner, and end the holdings of its things.

    Return what was left behind at each of these.
    """
    left = end_things(work, owner, author, before)
    if before.agent_id is not None:
        stream = agent_stream(before.agent_id)
        if work.states[stream].agent.owner == owner:
            envelope = work.by(author, before.generation)
            work.add(stream, e.AgentReleased(**envelope, owner=owner))
    return left


def things(own: Ownership) -> list[OwnerRef]:
    """Return the things (children without agent) that the owner's holder uses."""
    used = [child for child in own.children.values() if child.used]
    return [child.ref for child in sorted(used, key=lambda child: child.version)]


def end_things(
    work: Work, owner: OwnerRef, author: str, before: Ownership
) -> tuple[tuple[OwnerRef, Ending], ...]:
    """Revoke each live thing in its own stream, so that its version is the fence.

    One that is quarantined or too new is revoked too: its stream is folded later.
    Return what was left behind at each, all down.
    """
    left: list[tuple[OwnerRef, Ending]] = []
    for thing in things(before):
        state = work.state(thing)
        own = state.ownership
        frozen = state.too_new or state.quarantine is not None
        gone = own.parent != owner or own.agent_id is not None
        if gone or not (own.live or frozen) or own.status == "deleted":
            continue
        envelope = work.by(author, own.generation)
        if not frozen:
            left.append((thing, close_term(work, thing, envelope)))
        revoked = e.AuthorityRevoked(**envelope, ends_holding=True)
        work.add(thing.stream, revoked)
        left += end_things(work, thing, author, own)
    return tuple(left)
