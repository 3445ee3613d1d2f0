"""Whether a table is as its statement makes it: its columns, and what is unique.

What the server says of a table is compared with what the statement says. A statement is
read as this library writes them; what it has beyond that is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from tenure_ledger.rows import Row, TableSpec
from tenure_ledger.stores.known_tables import quote
from tenure_ledger.stores.postgres_tables import ColumnType

__all__ = ["Shape", "altered", "dropping", "is_as_made", "shapes"]

Key = tuple[str, ...]
"""``p`` for a primary key, ``u`` for another constraint; and its columns, in order."""

_DROPS = {
    "v": "VIEW",
    "m": "MATERIALIZED VIEW",
    "f": "FOREIGN TABLE",
    "S": "SEQUENCE",
    "c": "TYPE",
    "i": "INDEX",
    "I": "INDEX",
}
_TABLES = frozenset({"r", "p"})
_TYPES = (
    "text",
    "bigint",
    "integer",
    "boolean",
    "bytea",
    "double precision",
    "timestamp with time zone",
)
"""Those that our statements use, as a server calls them."""
_CREATE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(")
_KEY = re.compile(r"(PRIMARY KEY|UNIQUE) \(([^()]*)\)")
_COLUMN = re.compile(r'(\w+|"[^"]+") (.*)', re.DOTALL)
_INLINE = ("PRIMARY KEY", "UNIQUE")
_COMMENT = re.compile(r"--.*")


class Column(NamedTuple):
    """A column. One whose statement says no type that we know has no ``kind``."""

    kind: str
    collation: str
    not_null: bool


class Shape(NamedTuple):
    """What is compared of a table."""

    relation: str
    """``r`` and ``p`` are tables; the others only have the name of one."""
    types: Mapping[str, ColumnType]
    columns: Mapping[str, Column]
    keys: frozenset[Key]


def shapes(found: Iterable[Row]) -> dict[str, Shape]:
    """Return what the schema has, by name, from the rows of ``found.sql``."""
    relations: dict[str, str] = {}
    types: dict[str, dict[str, ColumnType]] = {}
    columns: dict[str, dict[str, Column]] = {}
    keys: dict[str, set[Key]] = {}
    for name, relation, column, oid, kind, collation, not_null, key in found:
        if name is None:
            continue
        table = str(name)
        relations[table] = str(relation)
        if column is not None:
            types.setdefault(table, {})[str(column)] = (int(oid or 0), str(kind))
            is_like = Column(str(kind), str(collation), bool(not_null))
            columns.setdefault(table, {})[str(column)] = is_like
        elif key is not None:
            keys.setdefault(table, set()).add(tuple(str(key).split("\n")))
    return {
        table: Shape(
            relation,
            types.get(table, {}),
            columns.get(table, {}),
            frozenset(keys.get(table, ())),
        )
        for table, relation in relations.items()
    }


def is_as_made(shape: Shape | None, spec: TableSpec) -> bool:
    """Return whether there is the table with all that its rows rest on.

    A key that is gone fails every write, or lets a second owner have an agent; a column
    of another type keeps values that are not those that were put. An index that
    somebody added, a default and a comment are no part of it.
    """
    if shape is None or {*shape.columns} != {*spec.columns}:
        return False
    wanted = _made(spec.create.get("postgres", "")).get(spec.name)
    if shape.relation not in _TABLES or wanted is None:
        return wanted is None
    return shape.keys == wanted.keys and not any(_unlike(shape, wanted))


def altered(found: Mapping[str, Shape], statements: str) -> Iterator[str]:
    """Yield what the tables of the ledger itself lack, in words.

    What somebody added to them is left alone: their rows are written by name.
    """
    for name, wanted in _made(statements).items():
        shape = found.get(name)
        if shape is None:
            continue
        if shape.relation not in _TABLES:
            yield f"{name} is no table"
            continue
        for column in _unlike(shape, wanted, nulls=True):
            yield f"{name}.{column} is not as it was made"
        for kind, *columns in sorted(wanted.keys - shape.keys):
            what = "PRIMARY KEY" if kind == "p" else "UNIQUE"
            yield f"{name} has no {what} ({', '.join(columns)})"


def dropping(shape: Shape | None, name: str) -> str | None:
    """Return the statement that drops what has this name; None: nothing has it."""
    if shape is None:
        return None
    return f"DROP {_DROPS.get(shape.relation, 'TABLE')} {quote(name)}"


def _unlike(shape: Shape, wanted: Shape, *, nulls: bool = False) -> Iterator[str]:
    """Yield the columns that are not as wanted; with ``nulls`` they may be NULL."""
    for name, column in wanted.columns.items():
        found = shape.columns.get(name)
        if found is None:
            yield name
        elif column.kind:
            if nulls:
                found = found._replace(not_null=column.not_null)
            if found != column:
                yield name


@cache
def _made(statements: str) -> Mapping[str, Shape]:
    """Return what a server says of the tables that the statements make."""
    text = _COMMENT.sub("", statements)
    return {one[1]: _shape(_parts(text[one.end() :])) for one in _CREATE.finditer(text)}


def _shape(parts: Iterable[str]) -> Shape:
    columns: dict[str, Column] = {}
    keys: set[Key] = set()
    for part in parts:
        words = " ".join(part.split())
        if key := _KEY.fullmatch(words):
            named = [name.strip().strip('"') for name in key[2].split(",")]
            keys.add((key[1][0].lower(), *named))
        elif column := _COLUMN.fullmatch(words):
            name, rest = column[1].strip('"'), column[2]
            kind = next((one for one in _TYPES if rest.startswith(one)), "")
            collation = "C" if 'COLLATE "C"' in rest else "default"
            columns[name] = Column(
                kind, collation if kind == "text" else "", "NOT NULL" in rest
            )
            keys |= {(one[0].lower(), name) for one in _INLINE if one in rest}
    for primary in (key for key in keys if key[0] == "p"):
        for name in primary[1:]:
            columns[name] = columns[name]._replace(not_null=True)
    return Shape("r", {}, columns, frozenset(keys))


def _parts(text: str) -> Iterator[str]:
    """Yield what commas part, up to the parenthesis that closes the statement."""
    depth, part = 0, ""
    for one in text:
        if depth == 0 and one in ",)":
            yield part
            part = ""
            if one == ")":
                return
            continue
        depth += (one == "(") - (one == ")")
        part += one
