"""After a backup was restored: raise the floor of all generations.

What the backup lost may have given generations out, to agents and tools that still know
them. So every later grant, of whatever owner, is above a floor (design section 10, I2).
The floor is the generation of an owner that the ledger keeps for itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import stopped
from tenure_ledger.decisions.work import At, Context, Decided, Envelope, States, Work
from tenure_ledger.errors import InvalidInput, Rejection, refuse
from tenure_ledger.values import RESTORED, OwnerRef

__all__ = ["RaiseFloor", "decide_raise_floor"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RaiseFloor(NamedTuple):
    """Give no generation up to the floor any more."""

    author: str
    above: int | None = None
    """The floor; None: the time in microseconds. No owner takes a generation in each
    of them, so that it is above all that was given, after earlier restores too."""

    @property
    def owner(self) -> OwnerRef:
        """The ledger's own record."""
        return RESTORED


def decide_raise_floor(
    states: States, command: RaiseFloor, context: Context
) -> Decided | Rejection:
    """Record the restore; a floor that is not above the one before it is refused."""
    state = states[RESTORED.stream]
    refusal = stopped(state, RESTORED)
    if refusal is not None:
        return refusal
    own = state.ownership
    floor = command.above
    if floor is None:
        floor = (context.now - _EPOCH) // timedelta(microseconds=1)
    if floor <= own.generation:
        return refuse(
            InvalidInput,
            f"{floor} is not above {own.generation}, the floor that an earlier restore "
            "set: set the clock right, or name a floor above all that was given out",
            floor=own.generation,
        )
    work = Work(states, context)
    envelope = work.by(command.author, floor)
    granted: Envelope = {**envelope, "event_id": context.new_id, "floor": floor - 1}
    given: e.OwnershipClaimed | e.GenerationAdvanced
    if own.status == "absent":
        given = e.OwnershipClaimed(**granted)
    else:
        given = e.GenerationAdvanced(**granted, reason="reclaim")
    work.add(RESTORED.stream, given)
    ended = e.OwnerTerminated(
        **envelope,
        event_type="restored_backup",
        terminal_status=f"A backup was restored: every later generation is above "
        f"{floor}.",
    )
    return work.decided(At(work.add(RESTORED.stream, ended)))
