"""Tables damaged by hand: a row altered, one deleted, one added, in each of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import NamedTuple

from projected import right_tables
from tenure import Difference
from tenure_ledger.rows import Column, RowChange
from tenure_projections.tables import TABLES
from tenure_projections.tables.shape import Table
from worlds import World

__all__ = ["Damage", "by_hand", "damage", "seen_in"]

Row = tuple[Column, ...]
MADE_UP = "made up"


class Damage(NamedTuple):
    """One key of a table: what is stored under it now, and what is right."""

    stored: Row | None
    right: Row | None


def damage(world: World, table: Table) -> dict[Row, Damage]:
    """Alter the table's first row, delete its last, and add one; return them by key."""
    right = right_tables(world.store())[table.spec.name]
    first, last = min(right), max(right)
    altered, added = _altered(table, right[first]), _added(table, right[last])
    assert first != last, f"{table.spec.name} needs two rows"
    key = added[: len(table.spec.key)]
    by_hand(
        world,
        RowChange(table.spec.name, last, None),
        RowChange(table.spec.name, key, added),
        RowChange(table.spec.name, first, altered),
    )
    return {
        first: Damage(altered, right[first]),
        last: Damage(None, right[last]),
        key: Damage(added, None),
    }


def by_hand(world: World, *changes: RowChange) -> None:
    """Change rows behind the ledger's back: with SQLite's own client, if it is one."""
    if world.kind != "sqlite":
        with world.store().write(10.0) as unit:
            unit.add((), None, (), changes)
            unit.commit()
        return
    path = world.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as db, db:
        for name, key, row in changes:
            (spec,) = (one.spec for one in TABLES if one.spec.name == name)
            match = " AND ".join(f"{column} = ?" for column in spec.key)
            db.execute(f"DELETE FROM {name} WHERE {match}", key)  # noqa: S608
            if row is not None:
                places = ", ".join("?" * len(row))
                db.execute(f"INSERT INTO {name} VALUES ({places})", row)  # noqa: S608


def seen_in(differences: tuple[Difference, ...]) -> dict[Row, Damage]:
    """Return what was told, as `damage` returns it."""
    return {
        one.key: Damage(
            None if one.before is None else tuple(one.before.values()),
            None if one.after is None else tuple(one.after.values()),
        )
        for one in differences
    }


def _altered(table: Table, row: Row) -> Row:
    """Return the row with something else in every column but those of its key."""
    keys = len(table.spec.key)
    rest = table.spec.columns[keys:]
    return (
        *row[:keys],
        *(_other(name, value) for name, value in zip(rest, row[keys:], strict=True)),
    )


def _other(name: str, value: Column) -> Column:
    if isinstance(value, int | float):
        return value + 1
    if name.endswith("_at"):
        return "1999-12-31T23:59:59.000001Z"
    if name != "policy_version" and name.endswith(("_version", "_index", "_seconds")):
        return 7
    return MADE_UP


def _added(table: Table, row: Row) -> Row:
    """Return a row that no event makes: with another last part of its key."""
    named = dict(zip(table.spec.columns, row, strict=True))
    last = table.spec.key[-1]
    value = named[last]
    named[last] = value + 1000 if isinstance(value, int) else f"{value!s} {MADE_UP}"
    if table.unique is not None:
        named[table.unique] = "an agent that was made up"
    return tuple(named.values())
