"""What a user declares: a read model, and the tables that it keeps.

A table is declared by its columns and made from that: so a value is checked before it
is written, the same on every store.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import Recorded
from tenure_ledger.rows import LEDGER_TABLES, TableSpec
from tenure_ledger.values import check_id, kind_of
from tenure_projections.followers.tracking import FOLLOWERS, PARKED
from tenure_projections.tables import TABLES

if TYPE_CHECKING:
    from tenure_projections.followers.rows import ModelRows

__all__ = ["Kind", "ModelTable", "ReadModel", "check_model"]

Kind = type[str] | type[int] | type[float] | type[bytes]

COLUMNS_MAX = 200
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
_SQL_TYPES: dict[str, dict[Kind, str]] = {
    "sqlite": {str: "TEXT", int: "INTEGER", float: "REAL", bytes: "BLOB"},
    "postgres": {
        str: 'text COLLATE "C"',
        int: "bigint",
        float: "double precision",
        bytes: "bytea",
    },
}
_SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
"""Of every table of PostgreSQL; so of none of a model, on whatever store."""
_TAKEN = LEDGER_TABLES.union(
    spec.name for spec in (FOLLOWERS, PARKED, *(table.spec for table in TABLES))
)


@dataclass(frozen=True, slots=True)
class ModelTable:
    """A table of a model: ``ModelTable("calls", {"tool": str, "n": int}, "tool")``.

    ``columns``: each with `str`, `int`, `float` or `bytes`; ``key``: the column, or the
    columns, of which no two rows have the same. A column of the key is never None, each
    other may be. Names are ``[a-z][a-z0-9_]*``, and none that every table of PostgreSQL
    has (``ctid``, ``xmin`` and their like). Raises `InvalidInput`.
    """

    name: str
    columns: Mapping[str, Kind]
    key: str | tuple[str, ...]

    def __post_init__(self) -> None:
        _check_name("a table", self.name)
        if self.name in _TAKEN or self.name.startswith("sqlite_"):
            msg = f"the table {self.name!r} is the ledger's: give yours another name"
            raise InvalidInput(msg)
        columns = _columns(self.name, self.columns)
        given: object = self.key
        if not isinstance(given, str | tuple | list):
            msg = f"the key of {self.name} must be a column or several, as a tuple"
            raise InvalidInput(msg)
        key = (self.key,) if isinstance(self.key, str) else tuple(self.key)
        if not all(isinstance(name, str) for name in key):
            msg = f"the key of {self.name} must be names of its columns"
            raise InvalidInput(msg)
        if not key or len({*key}) < len(key) or not {*key} <= columns.keys():
            msg = f"the key of {self.name} must be one or several of its columns"
            raise InvalidInput(msg)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "key", key)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return (self.key,) if isinstance(self.key, str) else self.key

    @property
    def spec(self) -> TableSpec:
        """The table as a store takes it."""
        create = {dialect: self._statement(dialect) for dialect in _SQL_TYPES}
        return TableSpec(self.name, tuple(self.columns), self.keys, create)

    def _statement(self, dialect: str) -> str:
        never = dict.fromkeys(self.keys, " NOT NULL")
        types = _SQL_TYPES[dialect]
        lines = [
            f'    "{name}" {types[kind]}{never.get(name, "")},'
            for name, kind in self.columns.items()
        ]
        key = ", ".join(f'"{name}"' for name in self.keys)
        return "\n".join(
            (
                f'CREATE TABLE IF NOT EXISTS "{self.name}" (',
                *lines,
                f"    PRIMARY KEY ({key})",
                ") STRICT" if dialect == "sqlite" else ")",
            )
        )

    def shape(self) -> dict[str, object]:
        """Return what is kept, to notice that a later program declares another."""
        kinds = {name: kind.__name__ for name, kind in self.columns.items()}
        return {"columns": kinds, "key": list(self.keys)}


class ReadModel(Protocol):
    """A read model: what it is called, its own tables, and what an event does to them.

    Keep nothing else: `handle` is called again for the same event after a fault.
    """

    @property
    def name(self) -> str:
        """Under which its position is saved: an id."""
        ...

    @property
    def tables(self) -> Sequence[ModelTable]:
        """Its own tables: no other model has one of the same name."""
        ...

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Change rows for one event. An `Exception` parks the event's stream."""
        ...


def check_model(model: object) -> tuple[str, tuple[ModelTable, ...]]:
    """Return the model's name and tables. Raises `InvalidInput`."""
    name = check_id("the name of a read model", getattr(model, "name", None))
    given: Any = getattr(model, "tables", None)
    tables: tuple[ModelTable, ...] = ()
    if isinstance(given, (list, tuple)):
        tables = tuple(cast("Sequence[ModelTable]", given))
    if not tables or not all(isinstance(table, ModelTable) for table in tables):
        msg = f"the tables of {name} must be a list of one or more ModelTable"
        raise InvalidInput(msg)
    if len({table.name for table in tables}) < len(tables):
        msg = f"two tables of {name} have one name"
        raise InvalidInput(msg)
    handle = getattr(model, "handle", None)
    if not callable(handle) or inspect.iscoroutinefunction(handle):
        msg = f"{name} must have a method handle(recorded, rows), and not an async one"
        raise InvalidInput(msg)
    return name, tables


def _columns(table: str, columns: object) -> dict[str, Kind]:
    size = len(cast("Sized", columns)) if isinstance(columns, Mapping) else 0
    if not 0 < size <= COLUMNS_MAX:
        msg = f"the columns of {table} must map 1 to {COLUMNS_MAX} names to types"
        raise InvalidInput(msg)
    found: dict[str, Kind] = {}
    for name, kind in cast("Mapping[str, Kind]", columns).items():
        _check_name(f"a column of {table}", name)
        if name in _SYSTEM_COLUMNS:
            msg = f"each table of PostgreSQL has a column {name}: give yours another"
            raise InvalidInput(f"{msg} name in {table}")
        if not isinstance(kind, type) or kind not in _SQL_TYPES["sqlite"]:
            shown = getattr(kind, "__name__", kind_of(kind))
            msg = f"the column {name} of {table} must be str, int, float or bytes"
            raise InvalidInput(f"{msg}, not {shown}")
        found[name] = kind
    return found


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        msg = f"the name of {what} must match [a-z][a-z0-9_]{{0,62}}, not {name!r:.80}"
        raise InvalidInput(msg)
