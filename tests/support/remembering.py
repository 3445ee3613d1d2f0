"""A walk of which every moment is remembered: the rows and views right after it."""

from __future__ import annotations

from dataclasses import dataclass, field

from driving import Drive
from driving_steps import begin, steps
from driving_walk import chooser
from projected import Rows, stored_tables
from tenure import Event, OwnerRef, OwnerView
from tenure_ledger.events import BodiesErased
from worlds import World

__all__ = ["CHECKPOINTS", "Memory", "Moment", "remember"]

CHECKPOINTS = "runtime_restart_checkpoints"


@dataclass
class Moment:
    """The ledger right after a step."""

    rows: Rows
    views: dict[OwnerRef, OwnerView]


@dataclass
class Memory:
    """What there was at the end of each step, by position."""

    drive: Drive
    moments: dict[int, Moment] = field(default_factory=dict[int, Moment])

    def note(self) -> None:
        """Remember how things are now."""
        world = self.drive.world
        streams = {one.stream for one in world.ledger.events()}
        refs = [ref for one in streams if (ref := OwnerRef.of_stream(one))]
        self.moments[world.ledger.head().position] = Moment(
            stored_tables(world.store()),
            {ref: world.ledger.owner(ref) for ref in refs},
        )

    def without_erased(self, moment: Moment) -> Rows:
        """Return its rows as they are seen now: what was erased later is not there."""
        erased = {
            OwnerRef.of_stream(one.stream)
            for one in self.drive.world.ledger.events()
            if isinstance(one.event, BodiesErased)
        }
        rows: Rows = {**moment.rows, CHECKPOINTS: {}}
        for key, row in moment.rows[CHECKPOINTS].items():
            agent, mode, payload, created, updated, kind, owner, config, at = row
            if OwnerRef(str(kind), str(owner)) in erased:
                payload = config = None
            told = (agent, mode, payload, created, updated, kind, owner, config, at)
            rows[CHECKPOINTS][key] = told
        return rows

    def inside(self) -> dict[int, int]:
        """Return the positions within commands, each with the one before its command.

        Of commands alone: an import is not one.
        """
        found: dict[int, int] = {}
        for one in self.drive.world.ledger.events():
            event = one.event
            if isinstance(event, Event) and event.index + 1 < event.count:
                found[one.position] = one.position - event.index - 1
        return found


def remember(world: World, seed: int, length: int) -> Memory:
    """Take a walk in this world and remember every moment of it."""
    choose = chooser(seed)
    drive = Drive(world)
    memory = Memory(drive)
    memory.note()
    theme = (0, 0, 1, 2)[seed % 4]
    begin(drive, choose, theme)
    memory.note()
    for _ in range(length):
        choose(steps(theme))(drive, choose)
        memory.note()
    drive.finish()
    return memory
