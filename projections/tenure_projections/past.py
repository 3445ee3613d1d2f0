"""The ledger as it was at one moment, read through the folds and tables of now.

A moment is a position at which every command is there whole or not at all. Bodies are
the exception: what was erased since then is not there, in the past either.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from operator import itemgetter

from tenure_ledger.errors import InvalidInput
from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load
from tenure_ledger.rows import Column, Row, Store
from tenure_ledger.values import (
    OwnerRef,
    check_integer,
    check_moment,
    check_owner,
    kind_of,
)
from tenure_ledger.views import OwnerView, owner_view
from tenure_projections.differences import Difference, difference, unlike
from tenure_projections.live import rows_of
from tenure_projections.moments import latest_until, whole
from tenure_projections.shadow import Shadow, fill, upto
from tenure_projections.tables import TABLES, table_named
from tenure_projections.tables.shape import Table

__all__ = ["Past", "differing", "past"]


class Past:
    """The ledger at one position; made by `Ledger.as_of`.

    It keeps no rows: each read folds what it needs.
    """

    def __init__(self, store: Store, position: int) -> None:
        self._store = store
        self._position = position

    def __repr__(self) -> str:
        return f"Past(position={self._position})"

    @property
    def position(self) -> int:
        """The position: no command is half below it and half above."""
        return self._position

    def owner(self, ref: OwnerRef) -> OwnerView:
        """Return who held the owner; status ``absent`` if nothing was on record."""
        return owner_view(ref, self._state(check_owner(ref).stream))

    def rows(
        self, table: str, owner: OwnerRef | None = None
    ) -> Iterator[dict[str, Column]]:
        """Yield a table's rows as they were, by key: one owner's, or all.

        One owner's rows cost what its own stream is long; all rows cost what the ledger
        is long. Raises `InvalidInput` for a table that is none.
        """
        found = table_named(table)
        if owner is not None:
            check_owner(owner)
        return (
            dict(zip(found.spec.columns, row, strict=True))
            for row in self._rows(found, owner)
        )

    def _rows(self, table: Table, owner: OwnerRef | None) -> Iterator[Row]:
        if owner is not None:
            rows = rows_of(table, self._state(owner.stream), self._store.body)
            yield from (row for _, row in sorted(rows, key=itemgetter(0)))
            return
        with Shadow([table]) as shadow:
            fill(shadow, self._store, self._position)
            yield from (row for row, _ in shadow.rows(table))

    def _state(self, stream: str) -> State:
        rows = self._store.tail(stream, 0)
        return load(State(stream), upto(self._position, rows))


def past(store: Store, at: object) -> Past:
    """Return the past at a position, or at a time with a zone."""
    if isinstance(at, datetime):
        moment = check_moment("at", at)
        assert moment is not None  # noqa: S101  it is given
        return Past(store, whole(store, latest_until(store, moment)))
    if not isinstance(at, int):
        msg = f"at must be a position or a datetime, not {kind_of(at)}"
        raise InvalidInput(msg)
    position, end = check_integer("at", at, 0), store.horizon()
    if position > end:
        msg = f"this ledger ends at position {end}: {position} is still to come"
        raise InvalidInput(msg)
    return Past(store, whole(store, position))


def differing(
    store: Store,
    moments: tuple[Past, Past],
    table: str | None,
    owner: OwnerRef | None,
) -> Iterator[Difference]:
    """Yield the rows that differ between two moments: table by table, by key."""
    tables = TABLES if table is None else (table_named(table),)
    ref = None if owner is None else check_owner(owner)
    return _differing(store, tables, [one.position for one in moments], ref)


def _differing(
    store: Store,
    tables: tuple[Table, ...],
    positions: list[int],
    owner: OwnerRef | None,
) -> Iterator[Difference]:
    with Shadow(tables) as one, Shadow(tables) as two:
        with store.snapshot() as snapshot:
            first, last = sorted(positions)
            changed = (row.stream for row in store.events(first, last))
            streams = dict.fromkeys(changed if owner is None else (owner.stream,))
            for stream in streams:
                rows = snapshot.tail(stream, 0)
                for shadow, position in zip((one, two), positions, strict=True):
                    state = load(State(stream), upto(position, rows))
                    shadow.put(state, snapshot.body)
        for table in tables:
            before, after = (
                (row for row, _ in shadow.rows(table)) for shadow in (one, two)
            )
            for found in unlike(table, before, after):
                yield difference(table, found)
