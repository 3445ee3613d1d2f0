"""A read model's rows inside its transaction: read, put, delete.

What one event changes is kept apart until its handling has ended, so that an event that
fails leaves nothing behind, and its neighbours stay applied once (scenario S24).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import Column, Row, RowChange
from tenure_projections.followers.shape import Shape, shape_of

__all__ = ["ModelRows", "WorkingRows"]

_Read = Callable[[str, Mapping[str, Column]], Sequence[Row]]
_Changed = dict[tuple[str, Row], Row | None]


class ModelRows:
    """The model's own tables, as they are with all that it has changed so far.

    Good inside `handle` only. Each method raises `InvalidInput` for a table, a column
    or a value that is none of the model's.
    """

    def __init__(self, shapes: Mapping[str, Shape], read: _Read) -> None:
        self._shapes = shapes
        self._read = read
        self._done: _Changed = {}
        self._now: _Changed = {}
        self._open = False
        self._fault: Exception | None = None

    def get(self, table: str, /, **key: Column) -> dict[str, Any] | None:
        """Return the row with this key, a dict of its own; None if there is none."""
        shape = self._shape(table)
        values = shape.key(key)
        at = (table, values)
        if at in self._now:
            row = self._now[at]
        elif at in self._done:
            row = self._done[at]
        else:
            rows = self._stored(table, dict(zip(shape.keys, values, strict=True)))
            row = rows[0] if rows else None
        return None if row is None else dict(zip(shape.names, row, strict=True))

    def find(self, table: str, /, **values: Column) -> list[dict[str, Any]]:
        """Return the rows with these values, all if none is given, by key."""
        shape = self._shape(table)
        wanted = shape.values(values)
        found: dict[Row, Row | None] = {
            shape.key_of(row): row for row in self._stored(table, wanted)
        }
        for (name, key), row in (*self._done.items(), *self._now.items()):
            if name == table:
                found[key] = row
        # Text sorts by code points: as its bytes do, and as a store gives it.
        rows = [found[key] for key in sorted(found)]
        dicts = [dict(zip(shape.names, row, strict=True)) for row in rows if row]
        return [
            one
            for one in dicts
            if all(one[name] == value for name, value in wanted.items())
        ]

    def put(self, table: str, /, **row: Column) -> None:
        """Put a whole row: a new one, or in the place of the one with its key."""
        whole, key = self._shape(table).row(row)
        self._now[table, key] = whole

    def delete(self, table: str, /, **key: Column) -> None:
        """Delete the row with this key; nothing happens if there is none."""
        self._now[table, self._shape(table).key(key)] = None

    def _shape(self, table: str) -> Shape:
        if not self._open:
            raise InvalidInput("these rows are good inside handle only")
        return shape_of(self._shapes, table)

    def _stored(self, table: str, where: Mapping[str, Column]) -> Sequence[Row]:
        try:
            return self._read(table, where)
        except Exception as error:
            self._fault = error
            raise


class WorkingRows(ModelRows):
    """The same, as whoever hands them to a model opens, closes and stores them."""

    @property
    def fault(self) -> Exception | None:
        """What the store failed with: then nothing of the transaction can stay."""
        return self._fault

    def begin(self) -> None:
        """Open the rows for one event."""
        self._open = True

    def end(self, *, keep: bool) -> None:
        """Close the rows after an event, and keep or drop what it changed."""
        self._open = False
        if keep:
            self._done.update(self._now)
        self._now.clear()

    def changes(self) -> Iterator[RowChange]:
        """Yield what is kept and was not yielded yet: deletes before puts."""
        done, self._done = self._done, {}
        for (table, key), row in sorted(done.items(), key=lambda one: bool(one[1])):
            yield RowChange(table, key, row)
