"""What a restart of the same agent settles: markers, bars and the checkpoint.

The part of design sections 7.2 and 7.3 that `take_over` by an owner's own present
agent shares with the recovery run.
"""

from __future__ import annotations

from typing import get_args

from tenure_ledger import events as e
from tenure_ledger.decisions.ending import Ending, leads
from tenure_ledger.decisions.live import live_executions
from tenure_ledger.decisions.work import Work
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef, ReplayReason

__all__ = ["covering", "forbidden", "ordered", "settle_restart"]

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


def settle_restart(work: Work, owner: OwnerRef, author: str) -> Ending:
    """Settle what the ended run may not go on with; return what the notice lists."""
    state = work.state(owner)
    envelope = work.by(author, state.ownership.generation)
    checkpoint = state.recovery.checkpoint
    against = forbidden(state)
    reasons = set(against)
    facts: list[e.Fact] = []
    for one in live_executions(state):
        if not one.started or one.absorbed_by is not None:
            continue
        covered = covering(state, one)
        outcome = _outcome(state, one, covered, resumable=not against)
        if outcome is None:
            continue
        settled = e.ExecutionSettled(**envelope, key=one.key, outcome=outcome)
        work.add(owner.stream, settled)
        if outcome != "cancelled":
            reasons |= covered
            facts.extend(_facts(one, outcome))
    if checkpoint is not None and against:
        cleared = e.CheckpointCleared(
            **envelope, reason=ordered(against)[0], revision=checkpoint.revision
        )
        work.add(owner.stream, cleared)
    return Ending(tuple(facts), ordered(reasons), state.ownership.generation)


def _outcome(
    state: State, one: Execution, covered: set[ReplayReason], *, resumable: bool
) -> e.SettleOutcome | None:
    if covered & CANCELLING:
        return "cancelled"
    if covered:
        return "closed_in_recovery"
    checkpoint = state.recovery.checkpoint
    if checkpoint is None or not checkpoint.keys:
        return None
    if one.key in leads(state, checkpoint.keys):
        return None if resumable else "closed_in_recovery"
    return "outcome_unknown" if resumable else None


def _facts(one: Execution, outcome: e.SettleOutcome) -> list[e.Fact]:
    kind: e.FactKind = (
        "outcome_unknown" if outcome == "outcome_unknown" else "unfinished"
    )
    facts = [e.Fact(kind=kind, key=one.key)]
    if one.output:
        facts.append(e.Fact(kind="output_may_have_been_seen", key=one.key))
    return facts
