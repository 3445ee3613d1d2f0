"""Which owners a recovery run settles, and how old what they left is (section 7)."""

from __future__ import annotations

from datetime import datetime

from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef

__all__ = ["is_candidate", "seen_last"]


def is_candidate(state: State, above: State | None, *, named: bool) -> bool:
    """Say whether a live owner has something that a restart must settle.

    ``above`` is the state of what it hangs on: a child of what came to an end is
    settled, idle or not.
    """
    if named or state.recovery.checkpoint is not None or state.executions.open:
        return True
    if above is not None and not above.ownership.open:
        return True
    owner = OwnerRef.of_stream(state.stream)
    session = owner is not None and owner.recovery_class == "session"
    return session and bool(state.notices.pending)


def seen_last(state: State) -> datetime | None:
    """Return when the owner was last heard of: its grant, its messages, its holder."""
    moments = [state.ownership.active_at, state.active_at]
    for one in state.executions.listed():
        moments += [one.known_at, one.admitted_at, one.started_at]
    return max((at for at in moments if at is not None), default=None)
