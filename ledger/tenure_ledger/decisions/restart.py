"""What a restart of the same agent settles: markers, bars and the checkpoint.

The part of design sections 7.2 and 7.3 that `take_over` by an owner's own present
agent shares with the recovery run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import get_args

from tenure_ledger import events as e
from tenure_ledger.decisions.ending import (
    Ending,
    cancelled_parts,
    clear_checkpoint,
    close_call,
    leads,
    runs_in,
    settle_each,
)
from tenure_ledger.decisions.live import acting_at, live_executions
from tenure_ledger.decisions.work import Envelope, Work
from tenure_ledger.folds.effects import Approval, CallKey
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef, ReplayReason

__all__ = [
    "covering",
    "drop_settled",
    "facts_of",
    "forbidden",
    "ordered",
    "settle_restart",
    "sharing",
    "under_reasons",
]

_REPORT_ORDER: tuple[ReplayReason, ...] = get_args(ReplayReason)


def ordered(reasons: set[ReplayReason]) -> tuple[ReplayReason, ...]:
    """Return the reasons in the order in which they are reported."""
    return tuple(reason for reason in _REPORT_ORDER if reason in reasons)


def covering(state: State, one: Execution) -> set[ReplayReason]:
    """Return every marker and bar that covers this execution."""
    if not one.open:
        return set()
    lead = state.executions.by_key.get(one.absorbed_by or one.key, one)
    bars = [*state.recovery.bars(one), *state.recovery.bars(lead)]
    reasons: set[ReplayReason] = {bar.reason for bar in bars}
    if lead.output:
        reasons.add("visible_output_started")
    return reasons


def forbidden(state: State) -> set[ReplayReason]:
    """Return why the live checkpoint must not be resumed; empty: it may.

    A checkpoint without keys stands for its owner: every bar without keys, and every
    marker or bar that names something not settled, since its agent was bound.
    """
    checkpoint = state.recovery.checkpoint
    if checkpoint is None:
        return set()
    executions = state.executions
    if checkpoint.keys:
        named = [executions.by_key.get(at) for at in checkpoint.keys]
        reasons = [covering(state, one) for one in named if one is not None]
        return {reason for some in reasons for reason in some}
    since = state.ownership.term_version
    found: set[ReplayReason] = {
        at for at, bar in state.recovery.stream_bars.items() if bar > since
    }
    for one in executions.listed():
        if one.output > since:
            found.add("visible_output_started")
        bars = state.recovery.key_bars.get(one.key, ())
        found |= {bar.reason for bar in bars if bar.version > since}
    return found


def drop_settled(work: Work, owner: OwnerRef, author: str) -> bool:
    """Clear a checkpoint all of whose work is settled; return whether there was one.

    It would resume nothing, and what goes on is judged as without it.
    """
    state = work.state(owner)
    checkpoint = state.recovery.checkpoint
    if checkpoint is None or not checkpoint.keys:
        return False
    by_key = state.executions.by_key
    known = [by_key[key] for key in checkpoint.keys if key in by_key]
    if len(known) < len(checkpoint.keys) or any(one.open for one in known):
        return False
    envelope = work.by(author, state.ownership.generation)
    clear_checkpoint(work, owner, envelope, "settled")
    return True


def settle_restart(
    work: Work, owner: OwnerRef, author: str, kept: frozenset[CallKey] | None = None
) -> Ending:
    """Settle what the ended run may not go on with; return what the notice lists.

    With ``kept`` the calls of what goes on are closed too, if they may have run: all
    but these, whose results are known though they are not on record. None: an agent
    that comes back by itself asks its tools, and finds them among the open calls.
    """
    state = work.state(owner)
    envelope = work.by(author, state.ownership.generation)
    against = forbidden(state)
    reasons = set(against)
    facts: list[e.Fact] = []
    covers: dict[str, set[ReplayReason]] = {}

    def outcome_of(one: Execution) -> e.SettleOutcome | None:
        covered = covering(state, one)
        return _outcome(state, one, covered, resumable=not against)

    for one, outcome in settle_each(work, owner, envelope, outcome_of):
        covers |= {at.key: covering(state, at) for at in sharing(state, one)}
        if outcome != "cancelled":
            reasons |= covering(state, one)
        unknown = outcome == "outcome_unknown"
        facts += facts_of(state, one, "outcome_unknown" if unknown else "unfinished")
    facts += _cancelled_meanwhile(state, set(covers))
    facts += _close_effects(work, owner, envelope, kept)
    if against:
        clear_checkpoint(work, owner, envelope, ordered(against)[0])
    told = ordered(reasons)
    generation = state.ownership.generation
    return Ending(under_reasons(facts, told, covers), told, generation)


def _cancelled_meanwhile(state: State, over: set[str]) -> list[e.Fact]:
    """Tell what goes on, being not ``over``, which of its parts does not."""
    return [
        _cancelled(part.key, ordered(reasons), reasons)
        for one in live_executions(state)
        if one.absorbed_by is None and one.key not in over
        for part in cancelled_parts(state, one)
        if (reasons := covering(state, part) & CANCELLING)
    ]


def _outcome(
    state: State, one: Execution, covered: set[ReplayReason], *, resumable: bool
) -> e.SettleOutcome | None:
    if not one.started:
        return None
    if covered & CANCELLING:
        return "cancelled"
    if covered:
        return "closed_in_recovery"
    checkpoint = state.recovery.checkpoint
    if checkpoint is None or not checkpoint.keys:
        return None
    if not runs_in(state, one).isdisjoint(leads(state, checkpoint.keys)):
        return None if resumable else "closed_in_recovery"
    return "outcome_unknown" if resumable else None


def sharing(state: State, one: Execution) -> list[Execution]:
    """Return the execution and the open messages that it absorbed."""
    shared = [state.executions.by_key.get(key) for key in one.absorbed]
    return [one, *(each for each in shared if each and each.open)]


def facts_of(state: State, one: Execution, kind: e.FactKind) -> list[e.Fact]:
    """Return what is known of an execution that broke off, absorbed ones with it.

    Nothing of what a person cancelled: nobody wants it finished.
    """
    wanted = [
        each.key
        for each in sharing(state, one)
        if not covering(state, each) & CANCELLING
    ]
    facts = [e.Fact(kind=kind, key=key) for key in wanted]
    if one.output and one.key in wanted:
        facts.append(e.Fact(kind="output_may_have_been_seen", key=one.key))
    facts.extend(
        e.Fact(
            kind="output_completed", key=call.key, call_id=call.call_id, tool=call.tool
        )
        for call in state.effects.calls.values()
        if call.completed and call.key in wanted
    )
    facts.sort(key=lambda fact: fact.call_id or "")
    return facts


def under_reasons(
    facts: Sequence[e.Fact],
    reasons: Sequence[str],
    covers: Mapping[str, set[ReplayReason]],
) -> tuple[e.Fact, ...]:
    """Say of the messages which reason holds for them, where it is not all of them.

    Else what a person cancelled would stand over what is still wanted. ``covers`` has
    the reasons of each message that was settled; one that failed an assertion holds for
    everything.
    """
    partly: list[ReplayReason] = [
        reason
        for reason in _REPORT_ORDER
        if reason in reasons
        and any(reason not in covers.get(fact.key or "", ()) for fact in facts)
    ]
    told = {fact.key for fact in facts if fact.call_id is None}
    lines: list[e.Fact] = []
    for key, covered in covers.items():
        if key not in told and covered.intersection(partly, CANCELLING):
            lines.append(_cancelled(key, partly, covered))
    rest = CANCELLING.difference(*covers.values())
    if rest.intersection(partly):
        lines.append(_cancelled(None, partly, rest))
    for fact in facts:
        holds = [r for r in partly if r in covers.get(fact.key or "", ())]
        plain = fact.kind in {"unfinished", "outcome_unknown"} and not fact.call_id
        lines.append(fact.model_copy(update={"reasons": (*holds,)}) if plain else fact)
    return tuple(lines)


def _cancelled(
    key: str | None,
    reasons: Sequence[ReplayReason],
    holding: AbstractSet[ReplayReason],
) -> e.Fact:
    holds: tuple[ReplayReason, ...] = tuple(r for r in reasons if r in holding)
    return e.Fact(kind="cancelled", key=key, reasons=holds)


def _close_effects(
    work: Work, owner: OwnerRef, envelope: Envelope, kept: frozenset[CallKey] | None
) -> list[e.Fact]:
    """Close the calls and approvals of what is settled: nobody will make or use them.

    Return the facts of the calls that may have run.
    """
    state = work.state(owner)
    by_key = state.executions.by_key
    facts: list[e.Fact] = []
    for call in state.effects.listed_calls():
        known = by_key.get(call.key)
        over = known is None or not known.open
        over = over or (kept is not None and call.dispatched > 0)
        if over and (call.key, call.call_id) not in (kept or ()):
            facts += close_call(work, owner, envelope, call)
    for approval in state.effects.listed_approvals():
        asking = _asking(state, approval)
        if asking and not any(by_key[key].open for key in asking if key in by_key):
            reason: e.CloseReason = "void" if approval.decided else "cut"
            closed = e.ApprovalClosed(
                **envelope, request_id=approval.request_id, reason=reason
            )
            work.add(owner.stream, closed)
    return facts


def _asking(state: State, approval: Approval) -> list[str]:
    """Return the messages that may have asked: those of its call, else who worked."""
    about = (approval.call_id, approval.tool, approval.arguments)
    found = [
        call.key
        for call in state.effects.calls.values()
        if (call.call_id, call.tool, call.arguments) == about
    ]
    if found:
        return found
    at = acting_at(state, approval.requested)
    return [] if at is None else [at.key]
