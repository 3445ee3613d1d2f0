"""The ledger with its tables: read now, in the past, and proved by a rebuild."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tenure_ledger import ledger
from tenure_ledger.decisions.restored import RaiseFloor
from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import Column
from tenure_ledger.values import (
    OwnerRef,
    check_flag,
    check_id,
    check_integer,
    check_owner,
    check_seconds,
    kind_of,
)
from tenure_projections.differences import Difference
from tenure_projections.followers import Follower, ReadModel
from tenure_projections.past import Past, differing, past
from tenure_projections.rebuild import Rebuilt, rebuild
from tenure_projections.restored import Restored, restore
from tenure_projections.shadow import Progress
from tenure_projections.tables import TABLES, table_named
from tenure_projections.unfinished import unfinished

__all__ = ["Ledger"]

_FLOOR_MAX = 2**53
"""What every reader of JSON can take."""


class Ledger(ledger.Ledger):
    """One durable, append-only record of who owns what, and what was decided.

    Made by `open_ledger`; safe to share between threads. Methods raise a kind of
    `Refused` when a rule says no (nothing was written, but for a late result) and a
    kind of `Fault` when something broke.
    """

    def rows(
        self, table: str, owner: OwnerRef | None = None
    ) -> Iterator[dict[str, Column]]:
        """Yield a table's rows as they are now, by key: one owner's, or all.

        All come from one moment, whatever is written meanwhile. Raises `InvalidInput`
        for a table that is none.
        """
        found = table_named(table)
        where = {} if owner is None else found.of_owner(check_owner(owner))
        return self._rows(found.spec.name, where)

    def unfinished(self) -> list[OwnerRef]:
        """Return every owner that a restart may have to look at, by class and id.

        Those with a checkpoint, an open message or a notice that waits, those that such
        a notice is about, those that nobody holds and that have not ended, and all that
        are held and are no sessions: what they hang on may have ended. What is to be
        done with one of them is decided on its own events, by `recover`.
        """
        columns = {table.spec.name: table.spec.columns for table in TABLES}
        with self._shell.store.snapshot() as snapshot:
            return unfinished(snapshot, columns)

    def follower(
        self, model: ReadModel, *, events_max: int = 500, seconds_max: float = 0.05
    ) -> Follower:
        """Return what keeps a read model of yours, exactly once (`ReadModel`).

        A batch, one transaction, is at most ``events_max`` events, and takes no further
        command after ``seconds_max``: about so long other writers wait for it. Raises
        `InvalidInput`; nothing is read or written yet.
        """
        shell = self._shell
        return Follower(
            shell.store,
            model,
            events_max=check_integer("events_max", events_max, 1),
            seconds_max=check_seconds("seconds_max", seconds_max) or 0.0,
            deadline_seconds=shell.deadline_seconds,
            closed=lambda: shell.closed,
        )

    def restored(
        self, author: str, *, above: int | None = None, command_id: str | None = None
    ) -> Restored:
        """Make a restored backup the ledger; `tenure restored` does it from a shell.

        No generation up to the floor is given out from now on, and what was held in the
        backup ends by an instance restart, held by this ledger's process until
        `recover` decides. The floor is the time in microseconds, above what anybody can
        have been given, or ``above``. Raises `InvalidInput` where that is not above an
        earlier floor, or the clock behind what is on record.
        """
        check_id("author", author)
        if command_id is not None:
            check_id("command_id", command_id)
        if above is not None and check_integer("above", above, 1) > _FLOOR_MAX:
            msg = f"above is at most {_FLOOR_MAX}: there must be room for what comes"
            raise InvalidInput(msg)
        return restore(
            self._shell, self._held_upto, RaiseFloor(author, above), command_id
        )

    def _held_upto(self, floor: int) -> list[OwnerRef]:
        """Return the owners that an agent holds at no higher a generation."""
        held = {
            OwnerRef(str(row["recovery_class"]), str(row["owner_id"]))
            for row in self.rows("recovery_owners")
            if row["agent_id"] is not None and int(row["generation"] or 0) <= floor
        }
        return sorted(held, key=lambda one: one.stream)

    def _rows(
        self, table: str, where: dict[str, Column]
    ) -> Iterator[dict[str, Column]]:
        columns = table_named(table).spec.columns
        with self._shell.store.snapshot() as snapshot:
            for row in snapshot.rows(table, where):
                yield dict(zip(columns, row, strict=True))

    def as_of(self, at: int | datetime) -> Past:
        """Return the ledger as it was at a position, or at a time with a zone.

        A position in the midst of a command means the one before it. A time means the
        highest position at and below which nothing was recorded later, so that a clock
        that jumped back changes nothing; to find it every event up to there is read. A
        time to come means now. Raises `InvalidInput` for a position that is negative or
        behind the end, and for a time without a zone.
        """
        return past(self._shell.store, at)

    def diff(
        self,
        a: int | datetime,
        b: int | datetime,
        table: str | None = None,
        owner: OwnerRef | None = None,
    ) -> Iterator[Difference]:
        """Yield the rows that differ between two moments, table by table, by key.

        Only streams that changed in between are read. Raises `InvalidInput` as `as_of`
        does, and for a table that is none.
        """
        moments = (self.as_of(a), self.as_of(b))
        return differing(self._shell.store, moments, table, owner)

    def rebuild(
        self,
        table: str | None = None,
        *,
        check: bool = False,
        progress: Progress | None = None,
    ) -> list[Rebuilt]:
        """Make a table (None: every table) anew from the events, and put it right.

        Writers go on meanwhile. ``check`` compares only, and writes nothing.
        ``progress`` is called with how many events are folded and how many there are.
        No event is written. Raises `InvalidInput` for a table that is none.
        """
        tables = TABLES if table is None else (table_named(table),)
        if progress is not None and not callable(progress):
            msg = f"progress must be callable, not {kind_of(progress)}"
            raise InvalidInput(msg)
        shell = self._shell
        if not check_flag("check", check):
            # A table that somebody dropped or altered is made anew.
            shell.store.setup(shell.deadline_seconds)
        return rebuild(
            shell.store,
            tables,
            shell.deadline_seconds,
            check=check,
            progress=progress,
        )
