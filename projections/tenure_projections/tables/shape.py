"""The one shape of every table: a pure function from a stream's state to its rows.

A row is made from the state alone. So the rows that a command writes, those of a
rebuild and those of any moment in the past come from the same function, and
differ only in the state that it is given (design section 8).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from tenure_ledger.bodies import Json
from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import Recorded, Unknown
from tenure_ledger.folds.stream import State
from tenure_ledger.hook import Change
from tenure_ledger.rows import Column, Row, TableSpec
from tenure_ledger.values import OwnerRef, parts_of_stream
from tenure_projections.tables.comments import with_comments

__all__ = [
    "Body",
    "Key",
    "Table",
    "fields_of",
    "milliseconds",
    "moment",
    "owner_of",
    "readable",
    "spec",
]

Key = tuple[Column, ...]
Body = Callable[[str, str], bytes | None]
"""Takes a stream and a digest; returns the stored body, or None."""

_readable = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_quoted = msgspec.json.Encoder().encode
_MOMENT_CHARACTERS = len("2026-01-01T12:30:15.123456Z")


class Table(Struct, frozen=True):
    """One table. Its functions are pure and total over every state.

    ``row`` raises `Corrupt` where a body is not the one that was stored.
    """

    spec: TableSpec
    keys: Callable[[State], Iterable[Key]]
    """The keys of all rows that the stream has."""
    touched: Callable[[Change], Iterable[Key]]
    """At least the keys of the rows that the change made, altered or ended."""
    row: Callable[[State, Key, Body], Row | None]
    """The row of that key; None when the stream has none."""
    parts: frozenset[str]
    """The parts of a state that its rows are made from, besides where it stands."""

    @property
    def unique(self) -> str | None:
        """A column whose values are unique too."""
        return self.spec.unique

    def of_owner(self, owner: OwnerRef) -> dict[str, Column]:
        """Return the columns, and their values, by which an owner's rows are found."""
        return {"recovery_class": owner.recovery_class, self._id(): owner.owner_id}

    def stream(self, row: Row) -> str | None:
        """Return the stream that a stored row says it is of; None: it is of none."""
        named = dict(zip(self.spec.columns, row, strict=True))
        if "stream" in named:
            return str(named["stream"])
        recovery_class, owner_id = named["recovery_class"], named[self._id()]
        try:
            return OwnerRef(str(recovery_class), str(owner_id)).stream
        except InvalidInput:
            return None

    def _id(self) -> str:
        names = ("owner_id", "session_id", "recovery_owner_id")
        (name,) = (name for name in names if name in self.spec.columns)
        return name


def spec(
    name: str,
    columns: str,
    key: str,
    *,
    unique: str | None = None,
    package: str = "tenure_projections.tables",
) -> TableSpec:
    """Return the spec of a table whose statement is ``<dialect>/<name>.sql``."""
    create = {
        dialect: files(package)
        .joinpath(dialect, f"{name}.sql")
        .read_text(encoding="utf-8")
        .strip()
        for dialect in ("sqlite", "postgres")
    }
    create["postgres"] = with_comments(create["postgres"])
    parts = tuple(columns.split()), tuple(key.split())
    return TableSpec(name, *parts, create, unique)


def owner_of(state: State) -> tuple[str, str] | None:
    """Return (recovery class, owner id); None for an agent's stream."""
    return parts_of_stream(state.stream)


def fields_of(events: Iterable[Recorded]) -> list[dict[str, Any]]:
    """Return the fields, by name, of each event that this version knows.

    To ask a model for a field that it lacks costs fifty times as much.
    """
    return [vars(one.event) for one in events if not isinstance(one.event, Unknown)]


def moment(at: datetime | None) -> str | None:
    """Return a time as ISO 8601 text in UTC; text order is the order of time."""
    if at is None:
        return None
    text = _quoted(at).decode()[1:-1]
    if len(text) == _MOMENT_CHARACTERS:
        # In UTC and with microseconds: what follows makes the same in five times this.
        return text
    return at.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def milliseconds(at: datetime) -> int:
    """Return a time as whole milliseconds since 1970."""
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def readable(value: Json) -> str:
    """Return JSON for people: sorted, spaced, nothing escaped that need not be."""
    return _readable(value)
