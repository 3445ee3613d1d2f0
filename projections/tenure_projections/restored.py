"""Make a restored backup the ledger: no generation that it lost is given out again.

The floor of all generations is raised first (design section 10, I2). Then each holding
of the backup ends, since its successor may have been in what was lost: by an instance
restart, so that `recover` decides what becomes of its work. Killed in between, it is
run again. Where the store can tell a copy, others write to it only after the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tenure_ledger.codec import decode
from tenure_ledger.decisions.restored import RaiseFloor
from tenure_ledger.decisions.takeover import TakeOver
from tenure_ledger.errors import InvalidInput, OwnerIsLive, OwnerMoved, Refused
from tenure_ledger.events import Event
from tenure_ledger.shell import Shell
from tenure_ledger.values import RESTORED, Evidence, OwnerRef

__all__ = ["Restored", "restore"]

_DETAIL = "held in a backup that was restored: what came after it is lost"


class Restored(NamedTuple):
    """What was done to make a restored backup the ledger."""

    floor: int
    """No generation up to this one is given out from now on."""
    restarted: tuple[OwnerRef, ...]
    """Owners whose holding of the backup ended: `recover` decides about their work."""
    left: tuple[tuple[OwnerRef, Refused], ...]
    """Owners on which nothing can be decided (quarantined, too new), and why."""


def restore(
    shell: Shell,
    held: Callable[[int], list[OwnerRef]],
    command: RaiseFloor,
    command_id: str | None,
) -> Restored:
    """Raise the floor, then restart the owners that are held at or below it.

    ``held`` lists them. It is asked until all were looked at: somebody who should not
    be running may have written meanwhile.
    """
    if command.above is None:
        _check_clock(shell)
    restarted: list[OwnerRef] = []
    left: list[tuple[OwnerRef, Refused]] = []
    with shell.store.restoring():
        shell.run(command, command_id)
        floor = shell.state(RESTORED.stream).ownership.generation
        seen: set[OwnerRef] = set()
        while owners := [one for one in held(floor) if one not in seen]:
            seen.update(owners)
            for owner in owners:
                try:
                    if _restart(shell, owner, command.author, floor):
                        restarted.append(owner)
                except Refused as refusal:
                    left.append((owner, refusal))
    return Restored(floor, tuple(restarted), tuple(left))


def _check_clock(shell: Shell) -> None:
    """Raise `InvalidInput` where the clock is behind what is on record."""
    store, now = shell.store, shell.now()
    for row in store.events(store.head_position() - 1):
        event = decode(row).event
        if isinstance(event, Event) and event.recorded_at > now:
            msg = (
                f"the clock says {now}, and the newest event is of "
                f"{event.recorded_at}: set it right, or name a floor above all "
                "generations that were given out"
            )
            raise InvalidInput(msg)


def _restart(shell: Shell, owner: OwnerRef, author: str, floor: int) -> bool:
    """End the holding of the backup; say whether there was one."""
    while True:
        state = shell.state(owner.stream)
        own = state.ownership
        if own.status != "live" or own.generation > floor or own.holding is None:
            return False
        evidence = Evidence(
            "cannot_tell", own.holding.incarnation, state.version, _DETAIL
        )
        command = TakeOver(
            owner,
            own.agent_id,
            author,
            evidence,
            override=True,
            # Whoever goes on is reaped like its predecessor.
            lease_seconds=own.lease_seconds,
        )
        try:
            shell.run(command, None)
        except (OwnerIsLive, OwnerMoved):
            # Somebody who may not be there wrote meanwhile: look again.
            continue
        return True
