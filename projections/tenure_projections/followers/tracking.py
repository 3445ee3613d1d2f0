"""What is on record about followers: how far each has come, and what it parked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tenure_ledger.errors import Corrupt, InvalidInput
from tenure_ledger.rows import Column, RowChange
from tenure_projections.tables.shape import spec

if TYPE_CHECKING:
    from tenure_projections.followers.model import ModelTable

__all__ = ["FOLLOWERS", "PARKED", "Parked", "Tracking"]


class Parked(NamedTuple):
    """A stream whose events wait, since one of them could not be handled."""

    stream: str
    position: int
    """Of the first event that waits."""
    version: int
    """The same event, in its stream."""
    error: str
    """What handling it raised."""


_spec = partial(spec, package="tenure_projections.followers")

FOLLOWERS = _spec("followers", "name position tables_json", "name")._replace(
    apart="name"
)
PARKED = _spec(
    "parked_streams", "follower stream position version error", "follower stream"
)._replace(apart="follower")


class Tracking(NamedTuple):
    """The records of one read model: rows in, row changes out."""

    name: str
    tables_json: str
    tables: frozenset[str]

    @classmethod
    def of(cls, name: str, tables: Sequence[ModelTable]) -> Tracking:
        """Return the records of a model that has these tables."""
        shapes = {table.name: table.shape() for table in tables}
        return cls(name, json.dumps(shapes), frozenset(shapes))

    def position(self, rows: Iterable[Sequence[Column]]) -> int:
        """Return the saved position among the rows of all followers; 0: none is saved.

        Raises `InvalidInput` when the tables are not those of this model, or are
        another's, `Corrupt` for a record that is none of ours.
        """
        found = {str(row[0]): _record(row) for row in rows}
        if self.name in found:
            at, shapes = found[self.name]
            if shapes != json.loads(self.tables_json):
                msg = (
                    f"the read model {self.name} was followed with other tables or "
                    "columns: give the new shape, and its tables, new names"
                )
                raise InvalidInput(msg)
            return at
        for other, (_, shapes) in found.items():
            if taken := self.tables & shapes.keys():
                msg = (
                    f"the table {min(taken)} is that of the read model {other}: give "
                    f"that of {self.name} a name of its own"
                )
                raise InvalidInput(msg)
        return 0

    def beyond(self, position: int, head: int) -> Corrupt:
        """Return the fault of a saved position that the ledger does not reach."""
        return Corrupt(
            f"the read model {self.name} is on record as followed up to position "
            f"{position}, and the ledger ends at {head}: the events are of an older "
            "backup, or somebody changed the record in followers. Call reset(), and "
            "the model is made anew from the first event"
        )

    def save(self, position: int) -> RowChange:
        """Return the change that moves the position."""
        row = (self.name, position, self.tables_json)
        return RowChange(FOLLOWERS.name, (self.name,), row)

    @staticmethod
    def parked(rows: Iterable[Sequence[Column]]) -> dict[str, Parked]:
        """Return what is parked, by stream, from the rows of this follower.

        Raises `Corrupt` for a record that is none of ours.
        """
        found: dict[str, Parked] = {}
        for row in rows:
            match row:
                case (str(), str(stream), int(at), int(version), str(text)):
                    found[stream] = Parked(stream, at, version, text)
                case _:
                    raise _damaged(PARKED.name, row)
        return found

    def park(self, one: Parked) -> RowChange:
        """Return the change that parks a stream."""
        return RowChange(PARKED.name, (self.name, one.stream), (self.name, *one))

    def release(self, stream: str) -> RowChange:
        """Return the change after which the stream is parked no more."""
        return RowChange(PARKED.name, (self.name, stream), None)


def _record(row: Sequence[Column]) -> tuple[int, dict[str, object]]:
    """Return the position and the tables that a row of `FOLLOWERS` names."""
    with suppress(ValueError, RecursionError):
        match row:
            case (str(), int(at), str(text)) if isinstance(json.loads(text), dict):
                return at, json.loads(text)
            case _:
                pass
    raise _damaged(FOLLOWERS.name, row)


def _damaged(table: str, row: Sequence[Column]) -> Corrupt:
    return Corrupt(
        f"the row {row[:2]!r:.200} of {table} is not what this library writes: "
        "somebody changed it; restore a backup, or delete the row and the tables of "
        "that read model, and follow from the beginning"
    )
