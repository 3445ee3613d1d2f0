"""Reap what nobody works on any more: a lease that ran out, and a holder that is gone.

A lease that runs out does nothing by itself, and a clock kills nobody: the holder must
be gone as well. Source: design section 7, seed 000 section 8.
"""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import blocked
from tenure_ledger.decisions.recovering.closing import Closing, close_owner
from tenure_ledger.decisions.takeover import judge_evidence
from tenure_ledger.decisions.work import Context, Decided, Recovered, States, Work
from tenure_ledger.errors import InvalidInput, OwnerMoved, Rejection, refuse
from tenure_ledger.folds.ownership import REAP
from tenure_ledger.values import Evidence, OwnerRef

__all__ = ["REAPED", "Reap", "decide_reap"]

REAPED = "Reaped: its lease ran out and its process was gone."


class Reap(NamedTuple):
    """Close an owner at exactly the version at which it was seen; unfenced."""

    owner: OwnerRef
    author: str
    evidence: Evidence


def decide_reap(states: States, command: Reap, context: Context) -> Decided | Rejection:
    """Close the owner, unless anything at all was written since it was looked at."""
    owner, evidence = command.owner, command.evidence
    state = states[owner.stream]
    own = state.ownership
    refusal = blocked(state, owner)
    if refusal is None and (not own.live or state.version != evidence.version):
        refusal = refuse(
            OwnerMoved,
            f"{owner} is {own.status} at version {state.version}, and you looked at "
            f"version {evidence.version}: leave it to the next time",
            version=state.version,
            generation=own.generation,
        )
    if refusal is None:
        refusal = judge_evidence(state, owner, evidence)
    until = own.holding.lease_until if own.holding else None
    if refusal is None and (until is None or context.now < until):
        refusal = refuse(
            InvalidInput,
            f"{owner} has no lease that ran out: recover it after a restart",
            lease_until=until,
        )
    if refusal is not None:
        return refusal
    work = Work(states, context)
    envelope = work.by(command.author, own.generation)
    work.add(owner.stream, e.ReplayBarred(**envelope, reason=REAP))
    decided = e.RecoveryDecided(
        **envelope, disposition="reaped", reasons=(REAP,), evidence=evidence
    )
    work.add(owner.stream, decided)
    told = close_owner(
        work, owner, command.author, Closing(REAP, REAPED, (REAP,), REAP)
    )
    version = work.state(owner).version
    return work.decided(Recovered("closed", version, reasons=(REAP,), told=told))
