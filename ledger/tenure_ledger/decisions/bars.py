"""Bars: say why work must not run again, here and further down (design section 7)."""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import blocked, unfenced
from tenure_ledger.decisions.live import no_message
from tenure_ledger.decisions.upkeep import descendants
from tenure_ledger.decisions.work import At, Context, Decided, States, Work
from tenure_ledger.errors import OwnerEnded, Rejection, refuse
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef, ReplayReason

__all__ = ["BarReplay", "decide_bar"]

_WHOLE_STREAM: frozenset[ReplayReason] = frozenset(
    {"user_cancelled_whole_stream", "agent_closed"}
)
"""Bars that reach down to every descendant spawned before them."""


class BarReplay(NamedTuple):
    """Say why work must not run again; unfenced."""

    owner: OwnerRef
    reason: ReplayReason
    author: str
    keys: tuple[str, ...] | None = None


def decide_bar(
    states: States, command: BarReplay, context: Context
) -> Decided | Rejection:
    """Bar what is known so far, here and where the reason reaches further down."""
    owner = command.owner
    state = states[owner.stream]
    refusal = unfenced(state, owner) or _barrable(state, command)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    at = _bar(work, owner, command, None)
    if command.reason in _WHOLE_STREAM:
        for child in descendants(states, owner):
            if states[child.stream].ownership.status not in {"terminal", "deleted"}:
                _bar(work, child, command._replace(owner=child, keys=None), owner)
    return work.decided(At(at))


def _barrable(state: State, command: BarReplay) -> Rejection | None:
    own = state.ownership
    if own.status == "terminal" and not state.executions.open:
        return refuse(
            OwnerEnded,
            f"{command.owner} ended at version {own.ended}: nothing runs there",
            version=own.ended,
        )
    for key in command.keys or ():
        if key not in state.executions.by_key:
            return no_message(command.owner, key)
    return None


def _bar(
    work: Work, owner: OwnerRef, command: BarReplay, above: OwnerRef | None
) -> int:
    """Append the bar of one stream, unless the same bar covers all of it already.

    A stream that is quarantined or too new gets the bar alone: it is folded later.
    """
    state = work.state(owner)
    envelope = work.by(command.author, state.ownership.generation)
    barred = e.ReplayBarred(
        **envelope, reason=command.reason, keys=command.keys, above=above
    )
    if blocked(state, owner) is not None:
        return work.add(owner.stream, barred)
    covered = [
        one
        for one in state.executions.listed()
        if command.keys is None or one.key in command.keys
    ]
    at = _barred_at(state, command, covered)
    if at:
        return at
    if command.reason in CANCELLING:
        keys = {one.key for one in covered}
        for one in covered:
            if not one.started and one.absorbed_by not in keys:
                event = e.ExecutionSettled(**envelope, key=one.key, outcome="cancelled")
                work.add(owner.stream, event)
    return work.add(owner.stream, barred)


def _barred_at(state: State, command: BarReplay, covered: list[Execution]) -> int:
    """Return the version of an earlier bar that says all of this already; 0: none."""
    bars = state.recovery
    if command.keys is None:
        at = bars.stream_bars.get(command.reason, 0)
        checkpoint = bars.checkpoint
        newer = checkpoint is not None and checkpoint.version > at
        newer = newer or any(one.since > at for one in covered)
        newer = newer or state.ownership.term_version > at
        spawned = state.ownership.children.values()
        newer = newer or any(child.version > at for child in spawned)
        return 0 if newer else at
    at = 0
    for key in command.keys:
        found = [
            bar.version
            for bar in bars.key_bars.get(key, ())
            if bar.reason == command.reason
            and bar.version > state.executions.by_key[key].since
        ]
        if not found:
            return 0
        at = max(at, *found)
    return at
