"""Whether a table is as its statement makes it: its columns, and what is unique."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

from tenure_ledger.rows import TableSpec
from tenure_ledger.stores.sqlite_connect import sql

__all__ = ["dropping", "is_as_made"]

_Shape = frozenset[tuple[tuple[object, ...], ...]]
"""The columns, and the columns of each constraint; an index or a trigger that somebody
added is no part of it. Empty: there is no such table."""


def is_as_made(db: sqlite3.Connection, spec: TableSpec, statement: str | None) -> bool:
    """Return whether the database has the table with all that its rows rest on.

    ``statement``: what made it, as the database says. A key that is gone fails every
    write; what compares in another way, or has another type, keeps rows that are not
    those that were put.
    """
    wanted, shape = _made(spec.name, spec.create["sqlite"])
    return statement == wanted or _shape(db, spec.name) == shape


def dropping(db: sqlite3.Connection, name: str) -> str | None:
    """Return the statement that drops what has this name; None: nothing has it."""
    found = db.execute(sql("named"), (name,)).fetchone()
    return None if found is None else f'DROP {found[0].upper()} "{name}"'


def _shape(db: sqlite3.Connection, name: str) -> _Shape:
    parts: dict[str, list[tuple[object, ...]]] = {}
    for part, *values in db.execute(sql("table_shape"), (name,)):
        parts.setdefault(part, []).append(tuple(values))
    return frozenset(tuple(sorted(part, key=repr)) for part in parts.values())


@cache
def _made(name: str, statement: str) -> tuple[str | None, _Shape]:
    """Return what a database says of the table that the statement makes."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(statement)
        return dict(db.execute(sql("tables")).fetchall()).get(name), _shape(db, name)
