"""What is left of a wait for a person, after a restart.

A stored wait is counted on from when it was saved, so a crash loop never makes it
longer. Source: design section 7.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tenure_ledger.folds.effects import Approval
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import RestartPayload, RuntimeRestartToolApprovalWait

__all__ = ["Wait", "seconds_left", "undecided", "wait_of"]


class Wait(NamedTuple):
    """A wait as it was saved."""

    seconds: float
    """What was left of it then."""
    saved_at: datetime


def wait_of(checkpoint: Checkpoint, payload: RestartPayload | None) -> Wait | None:
    """Return the wait in a checkpoint; None: it is of none, or of one without end."""
    if not isinstance(payload, RuntimeRestartToolApprovalWait):
        return None
    left = payload.timeout_remaining_ms
    return None if left is None else Wait(left / 1000, checkpoint.updated_at)


def undecided(state: State) -> list[Approval]:
    """Return the open requests that nobody decided, in order."""
    return [one for one in state.effects.listed_approvals() if not one.decided]


def seconds_left(
    asked: Approval, wait: Wait | None, now: datetime, *, alone: bool
) -> float | None:
    """Return what is left until a request expires; None: it never does, 0: now.

    A stored wait is of the request that has no time of its own, or is ``alone``. A
    clock that went back gives nothing more.
    """
    left: list[float] = []
    if asked.expires_at is not None:
        left.append((asked.expires_at - now).total_seconds())
        if asked.timeout_seconds is not None:
            left.append(asked.timeout_seconds)
    if wait is not None and (asked.expires_at is None or alone):
        gone = (now - wait.saved_at).total_seconds()
        left.append(wait.seconds - max(0.0, gone))
    return max(0.0, min(left)) if left else None
