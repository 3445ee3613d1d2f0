"""What a run says of an owner that it settled, and whether its next term is due."""

from __future__ import annotations

from tenure_gate.recovery.plans import plan_of
from tenure_gate.recovery.results import (
    Closed,
    Discarded,
    Failed,
    Result,
    Resumed,
    Skipped,
    SuccessionDue,
)
from tenure_ledger.folds.stream import State
from tenure_ledger.methods.recovering import Settlement
from tenure_ledger.values import OwnerRef
from tenure_projections.ledger import Ledger

__all__ = ["told_ended", "told_live"]


def told_live(
    ledger: Ledger, before: State, owner: OwnerRef, settled: Settlement
) -> list[Result | Failed]:
    """Return what became of an owner that was held, and whose holder was gone."""
    outcome, state = settled.outcome, settled.state
    if outcome.authority is not None:
        plan = plan_of(state, settled.snapshot, ledger.now())
        resumed = Resumed(
            owner,
            outcome.authority,
            plan,
            state.ownership.restarts,
            outcome.grants,
            outcome.discarded,
        )
        return [resumed]
    closed = Closed(
        owner,
        before.ownership.generation,
        outcome.assertion,
        outcome.reasons,
        outcome.detail,
        owner if outcome.told is None else outcome.told,
        outcome.discarded,
    )
    due = _due(ledger, owner, state)
    return [closed] if due is None else [closed, due]


def told_ended(
    ledger: Ledger, owner: OwnerRef, state: State, discarded: str | None, *, named: bool
) -> list[Result | Failed]:
    """Return what there is to say of an owner that nobody holds.

    ``discarded``: why a leftover was cleared. One that was ``named`` is spoken of in
    any case.
    """
    results: list[Result | Failed] = []
    if discarded is not None:
        results.append(Discarded(owner, discarded))
    due = _due(ledger, owner, state)
    if due is not None:
        results.append(due)
    elif named and not results:
        thing = state.ownership.thing
        why = "used_by_parent" if thing else "nothing_to_do"
        results.append(Skipped(owner, why, state.ownership.status))
    return results


def _due(ledger: Ledger, owner: OwnerRef, state: State) -> SuccessionDue | None:
    """Return which call begins the owner's next term, if it waits for one."""
    own, cut = state.ownership, state.ownership.cut
    listed = [one for one in state.executions.listed() if one.accepted]
    listed.sort(key=lambda one: one.accepted)
    waiting = tuple(one.key for one in listed if not one.started)
    if own.status == "cut" and cut is not None and not own.thing:
        handover = None
        if cut.handover is not None:
            handover = ledger.body(owner, cut.handover)
        return SuccessionDue(owner, "succeed", cut.outcome, handover, waiting)
    ended = own.status in {"absent", "terminal"} and waiting
    left = waiting or state.recovery.checkpoint is not None
    if ended or (own.status == "imported" and left):
        return SuccessionDue(owner, "claim", None, None, waiting)
    return None
