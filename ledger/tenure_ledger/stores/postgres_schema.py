"""Create, recognise and migrate the schema, without touching anybody else's tables.

The schema says whose it is by its table ``_tenure``, whose one row has the version.
Everything is made in one transaction, under a lock that others who make it wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tenure_ledger.columns import taken_table
from tenure_ledger.errors import (
    Corrupt,
    InvalidInput,
    SchemaTooNew,
    StoreUnavailable,
)
from tenure_ledger.rows import LEDGER_TABLES, TableSpec
from tenure_ledger.stores.known_tables import quote
from tenure_ledger.stores.postgres_columns import rows
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_faults import (
    model_missing,
    replaced,
    schema_missing,
    translate,
)
from tenure_ledger.stores.postgres_place import Place
from tenure_ledger.stores.postgres_reading import Reading
from tenure_ledger.stores.postgres_shapes import (
    Shape,
    altered,
    dropping,
    is_as_made,
    shapes,
)
from tenure_ledger.stores.postgres_tables import Tables
from tenure_ledger.stores.postgres_wire import Call, Result, ServerError, Wire

__all__ = [
    "SCHEMA_VERSION",
    "Found",
    "Identity",
    "adopt",
    "check_may_adopt",
    "exists",
    "found_call",
    "go_above",
    "grants",
    "lacking",
    "look_again",
    "missing",
    "prepare",
]

_MIGRATIONS: tuple[str, ...] = ("schema_1",)
SCHEMA_VERSION = len(_MIGRATIONS)

_OURS = "_tenure"
_FOUND = sql("found")
_KEPT = sql("kept_tables")
_KEEP = sql("keep_table")
_PLACE = sql("place")
_HOLD = sql("hold")
_ADOPT = sql("adopt")
_MAY_ADOPT = sql("may_adopt")
_RAISE_BASE = sql("raise_base")
_SAME = sql("same")
_PRIVILEGE = "42501"


class Identity(NamedTuple):
    """What tells a ledger from any that is put in its place."""

    here: str
    """Cluster, database and table, as the server says it."""
    table: int
    """The table of events: another one was dropped and made again, or restored."""

    @property
    def same(self) -> str:
        """What is put for `postgres_wire.SAME`."""
        return _SAME.replace("{table}", str(self.table))


class _Standing(NamedTuple):
    version: int
    behind: bool
    copied: bool
    identity: Identity


class Found(NamedTuple):
    """What lies in the schema."""

    exists: bool
    """There is such a schema."""
    tables: Mapping[str, Shape]
    """What is there, by name."""
    version: int
    """0: nothing of ours is there."""
    behind: bool
    """New positions would be below those that are stored."""
    copied: bool
    """It was written elsewhere: a backup that was restored here."""
    kept: frozenset[str]
    identity: Identity | None
    """None: nothing of ours is there."""


def prepare(
    wire: Wire,
    place: Place,
    tables: Tables,
    deadline: float,
    opened: Identity | None = None,
) -> Found:
    """Make or migrate what is missing, and learn the types of all columns.

    ``opened``: the ledger that it must be. It may be a copy of one, which `adopt` makes
    one of its own. Safe in many processes at once. Raises ConnectionLost, Contended,
    Corrupt, InvalidInput, SchemaMissing, SchemaTooNew, StoreUnavailable.
    """
    making: Found | None = None
    try:
        found = _look(wire, place, deadline, opened)
        if not _is_complete(found, tables, place):
            making = found
            found = _migrate(wire, place, tables, deadline, opened)
    except ServerError as error:
        if making and error.code == _PRIVILEGE:
            whole = (
                making.version == SCHEMA_VERSION
                and not making.behind
                and not _to_make(making, tables)
            )
            told = model_missing if whole else schema_missing
            raise told(place.name, str(error)) from error
        raise translate(error, place.name) from error
    tables.lacking = found.kept - {spec.name for spec in tables.kept}
    tables.learn({name: shape.types for name, shape in found.tables.items()})
    return found


def check_may_adopt(wire: Wire, place: Place, deadline: float) -> None:
    """Raise StoreUnavailable, before anything is written, if `adopt` would."""
    (result,) = wire.run([Call(_MAY_ADOPT)], deadline)
    ((may,),) = rows(result)
    if not may:
        raise StoreUnavailable(
            f"Only a role that owns the tables of {place.name} makes a copy the "
            "ledger; nothing was written."
        )


def go_above(wire: Wire, place: Place, deadline: float) -> None:
    """Let new positions be above those that a copy brought from elsewhere."""
    (result,) = wire.run([Call(_PLACE)], deadline)
    if _standing(result, place).behind:
        wire.run([Call(_RAISE_BASE)], deadline)


def adopt(wire: Wire, place: Place, deadline: float) -> None:
    """Let the copy be the ledger from now on. Raises StoreUnavailable."""
    try:
        wire.run([Call(_ADOPT)], deadline)
    except ServerError as error:
        raise translate(error, place.name) from error


def exists(wire: Wire, place: Place, deadline: float) -> bool:
    """Say whether a ledger is there. Raises ServerError, ConnectionLost."""
    return bool(_look(wire, place, deadline).version)


def missing(wire: Wire, place: Place, tables: Tables, deadline: float) -> str:
    """Return what `prepare` would run, as SQL for whoever may; empty: nothing.

    Raises as `prepare`.
    """
    try:
        found = _look(wire, place, deadline)
        if _is_complete(found, tables, place):
            return ""
    except ServerError as error:
        raise translate(error, place.name) from error
    new = [spec.name for spec in _to_make(found, tables)]
    keep = ["INSERT INTO kept_tables (name) VALUES ('%s');" % name for name in new]  # noqa: S608, UP031
    path = f"SET LOCAL search_path TO {quote(place.schema)};"
    body = "\n\n".join(["BEGIN;", path, _script(found, tables, place), *keep])
    if new and found.version:
        body += "\n\n-- Then make the rows of the new tables: tenure rebuild"
    return f"{body}\n\nCOMMIT;\n"


def lacking(result: Result, specs: Iterable[TableSpec]) -> frozenset[str]:
    """Return which tables are not there, from what `found_call` says."""
    there = shapes(rows(result)).keys()
    return frozenset(spec.name for spec in specs) - there


def grants(place: Place, tables: Tables) -> str:
    """Return what a writer and a reader of the schema need, as comments of SQL."""
    schema = quote(place.schema)
    kept = ", ".join(f"{schema}.{spec.name}" for spec in tables.kept)
    return sql("grants").replace("{schema}", schema).replace("{tables}", kept) + "\n"


def look_again(wire: Wire, place: Place, opened: Identity, deadline: float) -> bool:
    """Say whether new positions are above those that are stored.

    Raises StoreUnavailable where it is not the ledger that was opened, and ServerError,
    ConnectionLost.
    """
    (result,) = wire.run([Call(_PLACE)], deadline)
    found = _standing(result, place)
    if found.identity != opened:
        raise replaced(place.name)
    return not found.behind


def found_call(place: Place) -> Call:
    """Return the call that says what the schema has."""
    return Call(_FOUND, [place.schema.encode()], [1])


def _standing(result: Result, place: Place) -> _Standing:
    for version, behind, copied, here, table in rows(result):
        return _Standing(
            int(version or 0),
            bool(behind),
            bool(copied),
            Identity(str(here), int(table or 0)),
        )
    raise StoreUnavailable(
        f"{place.name} has no row in _tenure: a restore that is under way, or that "
        "ended early. Nothing was written."
    )


def _look(
    wire: Wire, place: Place, deadline: float, opened: Identity | None = None
) -> Found:
    (result,) = wire.run([found_call(place)], deadline)
    said = list(rows(result))
    columns = shapes(said)
    standing: _Standing | None = None
    kept = frozenset[str]()
    if _OURS in columns and columns.keys() >= LEDGER_TABLES:
        try:
            one, two = wire.run([Call(_PLACE), Call(_KEPT)], deadline)
        except ServerError as error:
            if error.code != _PRIVILEGE:
                _check_own(columns, place)
            raise
        standing = _standing(one, place)
        kept = frozenset(str(name) for (name,) in rows(two))
    elif _OURS in columns:
        lost = ", ".join(sorted(LEDGER_TABLES - columns.keys()))
        raise Corrupt(f"{place.name} has lost its tables ({lost}): restore a backup.")
    version, behind, copied, identity = standing or (0, False, False, None)
    if opened is not None and identity != opened:
        raise replaced(place.name)
    return Found(bool(said), columns, version, behind, copied, kept, identity)


def _is_complete(found: Found, tables: Tables, place: Place) -> bool:
    """Return whether nothing is left to make; refuse tables that are not ours."""
    names = {spec.name for spec in tables.kept}
    theirs = found.tables.keys() & ((LEDGER_TABLES | names) - found.kept)
    if found.version:
        theirs -= LEDGER_TABLES
    if theirs:
        raise StoreUnavailable(
            f"{place.name} has tables of these names that are not a ledger's "
            f"({', '.join(sorted(theirs))}); nothing was written. Give the ledger a "
            "schema of its own: TENURE_SCHEMA, or ?schema=... in the URL."
        )
    if found.version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{place.name} has schema version {found.version}, this version of tenure "
            f"knows {SCHEMA_VERSION}: upgrade tenure. Nothing was written."
        )
    if found.version:
        _check_own(found.tables, place)
    for spec in tables.others:
        there = found.tables.get(spec.name)
        if there is not None and {*there.columns} != {*spec.columns}:
            raise taken_table(spec.name)
    return (
        found.version == SCHEMA_VERSION
        and (found.copied or not found.behind)
        and not _to_make(found, tables)
        and found.tables.keys() >= {spec.name for spec in tables.wanted}
    )


def _to_make(found: Found, tables: Tables) -> list[TableSpec]:
    """Return the tables beside the events that are missing or that somebody changed."""
    return [
        spec
        for spec in tables.kept
        if spec.name not in found.kept
        or not is_as_made(found.tables.get(spec.name), spec)
    ]


def _check_own(found: Mapping[str, Shape], place: Place) -> None:
    """Raise Corrupt where somebody altered the tables of the ledger itself."""
    lacks = "; ".join(altered(found, "\n".join(map(sql, _MIGRATIONS))))
    if lacks:
        raise Corrupt(
            f"Tables of {place.name} were altered ({lacks}); nothing was written. They "
            "are the ledger, and are never made anew: wait for a restore that is under "
            "way, restore a backup whole, or put them back by hand as `tenure migrate "
            "--print-sql` shows them for an empty schema."
        )


def _migrate(
    wire: Wire,
    place: Place,
    tables: Tables,
    deadline: float,
    opened: Identity | None,
) -> Found:
    """Bring the schema to this version in one transaction, whoever else tries it."""
    wire.run([Call("BEGIN"), Call(_HOLD, [place.lock("setup")], [0])], deadline)
    wire.in_transaction = True
    try:
        found = _look(wire, place, deadline, opened)
        if not _is_complete(found, tables, place):
            _make(wire, place, found, tables, deadline)
            found = _look(wire, place, deadline)
        wire.run([Call("COMMIT")], deadline)
        wire.in_transaction = False
    except BaseException:
        if not wire.broken:
            wire.run([Call("ROLLBACK")], deadline)
            wire.in_transaction = False
        raise
    return found


def _make(
    wire: Wire, place: Place, found: Found, tables: Tables, deadline: float
) -> None:
    new = _to_make(found, tables)
    wire.script(_script(found, tables, place), deadline)
    if found.behind:
        wire.run([Call(_RAISE_BASE)], deadline)
    names = [spec.name for spec in new]
    if new and found.version and tables.fill is not None:
        made = _look(wire, place, deadline).tables
        tables.learn({name: shape.types for name, shape in made.items()})
        reading = Reading(wire, tables, place.name)
        calls = [tables.change(one) for one in tables.fill(reading, names)]
        wire.run(calls, deadline)
    wire.run([Call(_KEEP, [name.encode()], [1]) for name in names], deadline)


def _script(found: Found, tables: Tables, place: Place) -> str:
    """Return the statements that make what is missing, but for rows."""
    script: list[str] = []
    if not found.exists:
        script.append(f"CREATE SCHEMA {quote(place.schema)};")
    if found.version < SCHEMA_VERSION:
        script += [sql(name) for name in _MIGRATIONS[found.version :]]
        script.append(f"UPDATE _tenure SET schema_version = {SCHEMA_VERSION};")  # noqa: S608
    new = _to_make(found, tables)
    if (new and found.version) or found.behind:
        # Nothing may be added while the rows of what is there are made.
        script.append("LOCK TABLE stored_events IN SHARE ROW EXCLUSIVE MODE;")
    drops = [dropping(found.tables.get(spec.name), spec.name) for spec in new]
    script += [f"{drop};" for drop in drops if drop is not None]
    missing = [spec for spec in tables.wanted if spec.name not in found.tables]
    script += [f"{_create(spec)};" for spec in (*new, *missing)]
    return "\n\n".join(script)


def _create(spec: TableSpec) -> str:
    try:
        return spec.create["postgres"]
    except KeyError:
        raise InvalidInput(
            f"The table {spec.name} has no statement for PostgreSQL: give one in "
            "TableSpec.create under 'postgres'.",
            table=spec.name,
        ) from None
