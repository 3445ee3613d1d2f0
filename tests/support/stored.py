"""Rows for the tests of stores: short to write, with the right hash."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Protocol

from tenure_ledger.rows import (
    CommandRow,
    EventRow,
    RowChange,
    Store,
    TableSpec,
    Unit,
    row_hash,
)
from tenure_ledger.stores import MemoryStore, SQLiteStore
from tenure_ledger.stores.postgres import PostgresStore

AnyStore = MemoryStore | SQLiteStore | PostgresStore

OWNERS = TableSpec(
    name="owners",
    columns=("kind", "owner", "agent", "generation"),
    key=("kind", "owner"),
    create={
        "sqlite": "CREATE TABLE IF NOT EXISTS owners (kind TEXT, owner TEXT, "
        "agent TEXT UNIQUE, generation INTEGER, PRIMARY KEY (kind, owner)) "
        "WITHOUT ROWID",
        "postgres": 'CREATE TABLE IF NOT EXISTS owners (kind text COLLATE "C", '
        'owner text COLLATE "C", agent text UNIQUE, generation bigint, '
        "PRIMARY KEY (kind, owner))",
    },
)


class Writable(Protocol):
    """Anything that offers units."""

    def write(self, deadline_seconds: float) -> AbstractContextManager[Unit]:
        """Return a unit that may write."""
        ...


def event(stream: str, version: int, state: bytes = b"{}") -> EventRow:
    """Return an event that is not stored yet."""
    digest = row_hash(stream, version, "noted.v1", state)
    return EventRow(0, stream, version, "noted.v1", state, digest)


def command(stream: str, command_id: str, first_version: int = 1) -> CommandRow:
    """Return a command."""
    return CommandRow(stream, command_id, b"digest", first_version, b'{"ok": true}')


def owner(name: str, agent: str | None, generation: int = 1) -> RowChange:
    """Return the change that puts a row into `OWNERS`."""
    row = ("session", name, agent, generation)
    return RowChange("owners", ("session", name), row)


def append(store: Writable, *events: EventRow) -> list[int]:
    """Append events in one unit and return their positions."""
    with store.write(10.0) as unit:
        positions = list(unit.add(events, None))
        unit.commit()
    return positions


def count(store: Store) -> int:
    """Return how many events there are; the head is the position of the last."""
    found = [position for position, _ in store.hashes(0)]
    assert store.head_position() == (found[-1] if found else 0)
    assert all(one < two for one, two in pairwise(found))
    return len(found)


def nth(store: Store, positions: Iterable[int]) -> list[int]:
    """Return which events stand there, from 1: a store may leave holes."""
    found = [position for position, _ in store.hashes(0)]
    return [found.index(position) + 1 for position in positions]


def append_next(store: Writable, stream: str) -> int:
    """Append one event behind the head of the stream; return its version."""
    with store.write(30.0) as unit:
        version = len(unit.tail(stream, 1)) + 1
        unit.add([event(stream, version)], None)
        unit.commit()
    return version
