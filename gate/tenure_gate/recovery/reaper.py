"""Reap what nobody works on any more, as often as the host likes (section 7)."""

from __future__ import annotations

from tenure_gate.recovery.environment import RecoveryEnvironment, environment_of
from tenure_gate.recovery.results import (
    Closed,
    Failed,
    RecoveryReport,
    Result,
    Skipped,
    left_alone,
)
from tenure_ledger.decisions.fence import blocked
from tenure_ledger.errors import Refused
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Evidence, OwnerRef, check_id, kind_of
from tenure_projections.ledger import Ledger

__all__ = ["reap"]


def reap(
    ledger: Ledger,
    environment: RecoveryEnvironment | None = None,
    author: str = "reaper",
) -> RecoveryReport:
    """Close each owner whose lease ran out and whose holder is gone; report the rest.

    Of a session the term is closed. An owner without a lease is never reaped, and a
    lease that ran out does nothing by itself: a clock that jumps closes nobody whose
    process is there. Nothing is closed that was written to since it was looked at.
    """
    if not isinstance(ledger, Ledger):
        msg = f"reap takes what open_ledger returned, not {kind_of(ledger)}"
        raise TypeError(msg)
    environment = environment_of(environment)
    check_id("author", author)
    results: list[Result] = []
    failed: list[Failed] = []
    for owner in _open_owners(ledger):
        try:
            found = _reap(ledger, environment, author, owner)
        except Exception as error:  # noqa: BLE001  the others are reaped
            failed.append(Failed(owner, error))
        else:
            results.extend([] if found is None else [found])
    return RecoveryReport(tuple(results), tuple(failed))


def _open_owners(ledger: Ledger) -> list[OwnerRef]:
    """Return all at once: what is written from here on holds up no snapshot."""
    return [
        OwnerRef(str(row["recovery_class"]), str(row["owner_id"]))
        for row in ledger.rows("recovery_owners")
        if row["terminal_at"] is None
    ]


def _reap(
    ledger: Ledger, environment: RecoveryEnvironment, author: str, owner: OwnerRef
) -> Result | None:
    state = ledger.fresh_state(owner)
    holding = state.ownership.holding
    if holding is None or not _overdue(ledger, owner, state):
        return None
    answer = environment.holder_of(owner, holding.process)
    detail = f"its process: {holding.process}"
    if answer != "gone":
        return Skipped(owner, answer, detail)
    evidence = Evidence("gone", holding.incarnation, state.version, detail)
    try:
        outcome = ledger.reap_owner(owner, evidence, author)
    except Refused as error:
        return left_alone(owner, error)
    return Closed(
        owner,
        state.ownership.generation,
        None,
        outcome.reasons,
        "",
        owner if outcome.told is None else outcome.told,
    )


def _overdue(ledger: Ledger, owner: OwnerRef, state: State) -> bool:
    own = state.ownership
    until = own.holding.lease_until if own.holding else None
    if not own.live or until is None or blocked(state, owner) is not None:
        return False
    return ledger.now() >= until
