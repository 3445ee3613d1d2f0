"""Connections to one SQLite file, set up for a ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from tenure_ledger.errors import StoreUnavailable

__all__ = [
    "BUSY_SLICE_SECONDS",
    "Access",
    "Durability",
    "Place",
    "connect",
    "set_up_writer",
    "sql",
]

Durability = Literal["full", "normal"]
"""``full``: a commit is on the disk. ``normal``: a power cut may take the last ones."""

Access = Literal["write", "create", "read", "inspect", "immutable"]
"""``create`` is ``write`` before one knows whose file it is: `set_up_writer` is due."""

BUSY_SLICE_SECONDS = 0.05
"""How long SQLite waits for a lock before Python looks at signals and the deadline."""

_READ_BUSY_SECONDS = 10.0
# Readers of a write-ahead log wait only while another process recovers or removes it.

_MODES: dict[Access, str] = {
    "write": "mode=rwc",
    "create": "mode=rwc",
    "read": "mode=rw",
    "inspect": "mode=ro",
    "immutable": "mode=ro&immutable=1",
}


class Place(NamedTuple):
    """Which file, how durable, and what the host does with each new connection."""

    path: str
    """Absolute, so that a later change of folder does not make it another ledger."""
    durability: Durability
    on_connect: Callable[[sqlite3.Connection], None] | None


def connect(place: Place, access: Access) -> sqlite3.Connection:
    """Open one connection in autocommit mode, usable from any thread.

    Raises sqlite3.Error, and StoreUnavailable where no write-ahead log is possible.
    """
    writes = access in ("write", "create")
    busy_seconds = BUSY_SLICE_SECONDS if writes else _READ_BUSY_SECONDS
    db = sqlite3.connect(
        f"{Path(place.path).as_uri()}?{_MODES[access]}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        # eventsourcing passes True, which is a cache of one statement.
        cached_statements=128,
    )
    try:
        if access == "write":
            set_up_writer(db, place)
        elif access == "read":
            db.execute("PRAGMA query_only = ON")
        if place.on_connect is not None and access in ("write", "read"):
            place.on_connect(db)
    except BaseException:
        db.close()
        raise
    return db


def sql(name: str) -> str:
    """Return the statement (or the schema) kept in ``sqlite_sql/<name>.sql``."""
    place = files("tenure_ledger.stores").joinpath("sqlite_sql", f"{name}.sql")
    return place.read_text("utf-8").strip()


def set_up_writer(db: sqlite3.Connection, place: Place) -> None:
    """Make a connection one that commits durably. Raises as `connect` does.

    The write-ahead log goes back to the file every 1000 pages, SQLite's default: a
    log that grows on makes each commit dearer, since the disk has to note its length
    too, and one of 10000 pages took nearly twice as long.
    """
    (mode,) = db.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreUnavailable(
            f"No write-ahead log is possible for {place.path} (journal mode {mode}): "
            "put the ledger on a local disk, not on a network share."
        )
    db.execute(f"PRAGMA synchronous = {place.durability.upper()}")
    # An erased body is overwritten with zeros, not only forgotten.
    db.execute("PRAGMA secure_delete = ON")
