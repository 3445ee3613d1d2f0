"""Moves one read model forward: each batch, its rows and its position, at once.

The saved position is read inside the unit that moves it. So two processes that follow
under one name handle each event once, whatever each of them has read before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic
from typing import Any, NamedTuple

from tenure_ledger.errors import Corrupt, NotFound, SchemaMissing
from tenure_ledger.rows import (
    Column,
    EventRow,
    RowChange,
    Snapshot,
    Store,
    Unit,
)
from tenure_projections.followers.batch import (
    Batch,
    Command,
    commands,
    first_events,
    handle,
)
from tenure_projections.followers.model import ReadModel, check_model
from tenure_projections.followers.rows import WorkingRows
from tenure_projections.followers.shape import Shape, shape_of
from tenure_projections.followers.source import Source
from tenure_projections.followers.tracking import FOLLOWERS, PARKED, Parked, Tracking
from tenure_projections.followers.turns import Attempt, Moved, Turns, add

__all__ = ["Work"]


class _Begun(NamedTuple):
    """A unit, and what is on record in it."""

    unit: Unit
    position: int
    parked: dict[str, Parked]


class Work:
    """What there is to do for one read model in one store."""

    def __init__(
        self,
        store: Store,
        model: ReadModel,
        events_max: int,
        seconds_max: float,
        deadline_seconds: float,
    ) -> None:
        self.name, self._tables = check_model(model)
        self._shapes = {table.name: Shape(table) for table in self._tables}
        self._specs = [table.spec for table in self._tables]
        self._handle = model.handle
        self._store = store
        self._events_max = events_max
        self._seconds_max = seconds_max
        self._deadline_seconds = deadline_seconds
        self._tracking = Tracking.of(self.name, self._tables)
        self._turns = Turns(self.name)
        self._defined = False
        self._on_record = False
        """Whether it was on record when somebody looked last."""
        self._reached = 0
        """A position up to which the ledger is known to reach."""

    def saved(self) -> int:
        """Return the saved position.

        Raises `InvalidInput` for another's tables, `Corrupt` for a position that the
        ledger does not reach: what comes below it would never be handled.
        """
        self._define()
        with self._store.snapshot() as snapshot:
            position = self._look(snapshot)
            if position > self._reached:
                self._reached = snapshot.position
        if position > self._reached:
            raise self._tracking.beyond(position, self._reached)
        return position

    def _look(self, snapshot: Snapshot) -> int:
        rows = list(snapshot.rows(FOLLOWERS.name))
        position = self._tracking.position(rows)
        self._on_record = any(row[0] == self.name for row in rows)
        return position

    def rows(
        self, table: str, values: Mapping[str, Column]
    ) -> Iterator[dict[str, Any]]:
        """Yield a table's rows as they are now."""
        shape = shape_of(self._shapes, table)
        return self._rows(shape, shape.values(values))

    def _rows(
        self, shape: Shape, where: Mapping[str, Column]
    ) -> Iterator[dict[str, Any]]:
        self._define()
        with self._store.snapshot() as snapshot:
            for row in snapshot.rows(shape.name, where):
                yield dict(zip(shape.names, row, strict=True))

    def parked(self) -> dict[str, Parked]:
        """Return what is parked, by stream."""
        self._define()
        with self._store.snapshot() as snapshot:
            rows = snapshot.rows(PARKED.name, {"follower": self.name})
            return self._tracking.parked(rows)

    def forward(
        self, source: Source, go_on: Callable[[], bool], deadline_seconds: float
    ) -> int:
        """Handle one batch; return how many events the position moved past."""

        def attempt(seconds: float, bad: dict[int, str] | None) -> int:
            saved = self.saved()
            batch = source.take(saved, self._events_max)
            if not batch and not self._turns.doubtful:
                return 0
            with self._store.write(seconds) as unit:
                begun = self._begin(unit)
                if begun.position != saved:
                    raise Moved
                done, changes = self._apply(begun, batch, begun.parked, bad, go_on)
                changes += [self._tracking.park(one) for one in done.parked.values()]
                at = max(done.position, saved)
                self._turns.commit(unit, [*changes, self._tracking.save(at)], bad)
            source.passed(at)
            self._reached = max(self._reached, at)
            return done.passed

        try:
            return self._turns.settle(attempt, deadline_seconds)
        except (SchemaMissing, Corrupt):
            if not self._is_lost():
                raise
        return self._turns.settle(attempt, deadline_seconds)

    def retry(self, stream: str, deadline_seconds: float) -> int:
        """Handle what waits of a stream; return how many events were handled."""
        parked = self.parked().get(stream)
        if parked is None:
            msg = f"{self.name} has not parked {stream!r:.999}: see parked()"
            raise NotFound(msg, kind="parked stream", id=stream)
        rows = list(self._store.tail(stream, parked.version))
        handled = 0
        going: Parked | None = parked
        while going is not None:
            done, going = self._turns.settle(self._again(rows, going), deadline_seconds)
            handled += done
        return handled

    def reset(self, deadline_seconds: float) -> None:
        """Delete the model's rows and what is parked, and save the position 0."""
        self._define()

        def attempt(seconds: float, _bad: dict[int, str] | None) -> None:
            with self._store.write(seconds) as unit:
                self._empty(self._begin(unit), frozenset())

        self._turns.settle(attempt, deadline_seconds)

    def _empty(self, begun: _Begun, lost: frozenset[str]) -> None:
        """Delete all rows and commit; tables that are ``lost`` have none."""
        changes = [
            RowChange(shape.name, shape.key_of(row), None)
            for shape in self._shapes.values()
            if shape.name not in lost
            for row in begun.unit.rows(shape.name, {})
        ]
        changes += map(self._tracking.release, begun.parked)
        self._turns.commit(begun.unit, [*changes, self._tracking.save(0)], {})

    def _again(
        self, rows: list[EventRow], parked: Parked
    ) -> Attempt[tuple[int, Parked | None]]:
        """Return one attempt at what waits of a parked stream.

        It returns how many events were handled, and from where to go on.
        """

        def attempt(
            seconds: float, bad: dict[int, str] | None
        ) -> tuple[int, Parked | None]:
            with self._store.write(seconds) as unit:
                begun = self._begin(unit)
                if begun.parked.get(parked.stream) != parked:
                    return 0, None  # another retries it
                # What has come to wait meanwhile is as far as the position.
                rows.extend(unit.tail(parked.stream, rows[-1].version + 1))
                waiting = [
                    row
                    for row in rows
                    if parked.position <= row.position <= begun.position
                ]
                batch = first_events(commands(waiting), self._events_max)
                done, changes = self._apply(begun, batch, (), bad, lambda: True)
                rest = [row for row in waiting if row.position > done.position]
                failed = done.parked.get(parked.stream)
                going = _under_way(rest[0]) if rest and not failed else None
                left = failed or going
                if left:
                    changes.append(self._tracking.park(left))
                else:
                    changes.append(self._tracking.release(parked.stream))
                save = self._tracking.save(begun.position)
                self._turns.commit(unit, [*changes, save], bad)
            return done.handled, going

        return attempt

    def _define(self) -> None:
        """Make the tables. One that is gone comes back empty: then begin again.

        The position goes back before the table is made, in one step that no other who
        follows under this name is in the middle of. So it may end anywhere: whoever
        gets here next finds the table gone, or what has no row to be missed.
        """
        if self._defined:
            return
        seconds = self._deadline_seconds
        self._store.define((FOLLOWERS, PARKED), seconds)
        lost = self._store.lacking(self._specs)
        if lost:
            with self._store.snapshot() as snapshot:
                self._look(snapshot)
        if lost and self._on_record:
            there = [spec for spec in self._specs if spec.name not in lost]
            self._store.define(there, seconds)
            self._turns.settle(self._begin_again, seconds)
        self._store.define(self._specs, seconds)
        self._defined = True

    def _begin_again(self, seconds: float, _bad: dict[int, str] | None) -> None:
        with self._store.write(seconds) as unit:
            begun = self._begin(unit)
            # Asked only now: another may have been here, and have gone on.
            lost = self._store.lacking(self._specs)
            if lost:
                self._empty(begun, lost)

    def _is_lost(self) -> bool:
        """Return whether a table was dropped; then it is made again at the next use."""
        if self._defined and self._store.lacking(self._specs):
            self._defined = False
            return True
        return False

    def _begin(self, unit: Unit) -> _Begun:
        # Who is on record already waits only for others of the same name.
        known = self._on_record
        records = unit.rows(FOLLOWERS.name, {"name": self.name} if known else {})
        if known and not records:
            self._on_record = False
            raise Moved
        position = self._tracking.position(records)
        rows = unit.rows(PARKED.name, {"follower": self.name})
        return _Begun(unit, position, self._tracking.parked(rows))

    def _apply(
        self,
        begun: _Begun,
        batch: Iterable[Command],
        parked: Iterable[str],
        bad: dict[int, str] | None,
        go_on: Callable[[], bool],
    ) -> tuple[Batch, list[RowChange]]:
        """Hand the batch to the model; return what came of it, and its row changes."""
        rows = WorkingRows(self._shapes, begun.unit.rows)
        until = monotonic() + self._seconds_max

        def after_each(position: int) -> None:
            if bad is not None:
                add(begun.unit, rows.changes(), position)

        done = handle(
            self._handle,
            batch,
            rows,
            frozenset(parked),
            bad or {},
            after_each,
            # Asked first, since it may say that nothing of this must stay.
            lambda: go_on() and monotonic() < until,
        )
        return done, list(rows.changes())


def _under_way(row: EventRow) -> Parked:
    return Parked(row.stream, row.position, row.version, "its retry is under way")
