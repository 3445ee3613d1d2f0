"""Copy one owner many times: stores with 100,000 owners at work, in seconds.

An owner is made by the ledger, once. Its rows are then copied under other ids, with new
event ids and a new chain, so that the copies verify like any other.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from written import INSERT_COMMAND, INSERT_EVENT, connect

from tenure_ledger.rows import GENESIS, row_hash
from tenure_projections.tables import TABLES

__all__ = ["copy_owners", "owner_id"]

_UUID = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
_EVENTS = (
    "SELECT originator_id, originator_version, topic, state FROM stored_events "
    "WHERE originator_id LIKE ? ORDER BY position"
)
_COMMANDS = (
    "SELECT stream, command_id, digest, first_version, outcome FROM commands "
    "WHERE stream LIKE ?"
)
_BODIES = "SELECT digest, stream, body, key_id FROM payloads WHERE stream LIKE ?"
_INSERT_BODY = "INSERT INTO payloads (digest, stream, body, key_id) VALUES (?, ?, ?, ?)"

Row = tuple[object, ...]


def owner_id(number: int) -> str:
    """Return the id of an owner; all have one length. Its agent's id holds it too."""
    return f"own_{number:06d}"


class _Owner:
    """The rows of one owner and its agent, and how to copy them."""

    def __init__(self, db: sqlite3.Connection, number: int) -> None:
        self._id = owner_id(number).encode()
        like = (f"%{owner_id(number)}%",)
        self._events = db.execute(_EVENTS, like).fetchall()
        self._commands = db.execute(_COMMANDS, like).fetchall()
        self._bodies = db.execute(_BODIES, like).fetchall()
        self.tables: dict[str, list[Row]] = {}
        for table in TABLES:
            rows = db.execute(f"SELECT * FROM {table.spec.name}").fetchall()  # noqa: S608
            mine = [row for row in rows if any(self._in(value) for value in row)]
            if mine:
                self.tables[table.spec.name] = mine
        states = b"\n".join(state for *_, state in self._events)
        self._uuids = sorted(set(_UUID.findall(states)))
        self._previous = re.compile(rb'"previous_hash":"[0-9a-f]{64}"')

    def _in(self, value: object) -> bool:
        return isinstance(value, str) and self._id.decode() in value

    def copied(self, number: int) -> tuple[list[Row], list[Row], list[Row]]:
        """Return events, commands and bodies of a copy; `row` copies the others."""
        self._names = [(self._id, owner_id(number).encode())]
        for old in self._uuids:
            digits = sha256(old + self._names[0][1]).hexdigest()
            new = (
                f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}"
                f"-{digits[20:32]}"
            )
            self._names.append((old, new.encode()))
        heads: dict[str, bytes] = {}
        events: list[Row] = []
        for stream, version, topic, state in self._events:
            named = self._text(stream)
            before = heads.get(named, GENESIS).hex().encode()
            link = b'"previous_hash":"%b"' % before
            copy = self._previous.sub(link, self._bytes(state))
            heads[named] = row_hash(named, version, topic, copy)
            events.append((None, named, version, topic, copy, heads[named]))
        commands = [self.row(row) for row in self._commands]
        return events, commands, [self.row(row) for row in self._bodies]

    def row(self, row: Row) -> Row:
        """Return a row under the ids of the copy that was made last."""
        return tuple(map(self._value, row))

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self._text(value)
        return self._bytes(value) if isinstance(value, bytes) else value

    def _text(self, text: str) -> str:
        return self._bytes(text.encode()).decode()

    def _bytes(self, data: bytes) -> bytes:
        for old, new in self._names:
            data = data.replace(old, new)
        return data


def copy_owners(path: Path, made: int, count: int) -> None:
    """Fill a ledger in which ``made`` owners are up to ``count``, in turn."""
    with closing(connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        owners = [_Owner(db, number) for number in range(made)]
        db.execute("BEGIN IMMEDIATE")
        for number in range(made, count):
            owner = owners[number % made]
            events, commands, bodies = owner.copied(number)
            db.executemany(INSERT_EVENT, events)
            db.executemany(INSERT_COMMAND, commands)
            db.executemany(_INSERT_BODY, bodies)
            for name, rows in _tables(owner):
                marks = ", ".join("?" * len(rows[0]))
                db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _tables(owner: _Owner) -> Iterator[tuple[str, list[Row]]]:
    for name, rows in owner.tables.items():
        yield name, [owner.row(row) for row in rows]
