"""Create, recognise and migrate the database, without touching anybody else's.

The file says whose it is: `PRAGMA application_id` is ours, `PRAGMA user_version` is the
version of the schema. Both are set in the transaction that makes the tables.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tenure_ledger.errors import (
    Corrupt,
    SchemaMissing,
    SchemaTooNew,
    StoreUnavailable,
)
from tenure_ledger.rows import LEDGER_TABLES, TableSpec
from tenure_ledger.stores.sqlite_connect import (
    BUSY_SLICE_SECONDS,
    Access,
    Place,
    connect,
    set_up_writer,
    sql,
)
from tenure_ledger.stores.sqlite_faults import (
    contended,
    exists,
    is_busy,
    is_code,
    translate,
)
from tenure_ledger.stores.sqlite_fork import CONNECTING
from tenure_ledger.stores.sqlite_reading import Reading
from tenure_ledger.stores.sqlite_shapes import dropping, is_as_made
from tenure_ledger.stores.sqlite_tables import Tables

__all__ = ["APPLICATION_ID", "COPY_ID", "SCHEMA_VERSION", "missing", "prepare"]

APPLICATION_ID = 0x54656E72
"""``Tenr``, at byte 68 of the file: `file` and SQLite's tools show it."""
COPY_ID = 0x54656E63
"""``Tenc``: of a file that `tenure backup` made, until it is the ledger again."""

_MIGRATIONS: tuple[str, ...] = ("schema_1",)
SCHEMA_VERSION = len(_MIGRATIONS)


class _Found(NamedTuple):
    application_id: int
    schema_version: int
    tables: frozenset[str]
    kept: frozenset[str]
    """Tables that every writer must keep in the transaction of its events."""
    drops: Mapping[str, str | None]
    """Of each table that is missing or was changed what drops it, if there is one."""

    def is_empty(self) -> bool:
        return not (self.application_id or self.schema_version or self.tables)


def prepare(
    place: Place, tables: Tables, deadline_seconds: float
) -> tuple[Access, bool]:
    """Make or migrate what is missing; return how readers open it, and if it is a copy.

    Looks with a read-only connection first: a file that is not ours stays as it is, and
    a complete one is not locked. Safe in many processes at once. Raises Contended,
    Corrupt, SchemaMissing, SchemaTooNew, StoreFull, StoreUnavailable.
    """
    deadline = time.monotonic() + deadline_seconds
    while True:
        try:
            with CONNECTING:
                return _prepare(place, tables)
        except sqlite3.Error as error:
            if not is_busy(error):
                raise translate(error, place.path) from error
            if time.monotonic() >= deadline:
                raise contended(place.path) from error
            # The change to a write-ahead log is refused without any waiting.
            time.sleep(BUSY_SLICE_SECONDS / 10)


def _prepare(place: Place, tables: Tables) -> tuple[Access, bool]:
    found, access = _inspect(place, tables)
    if found is None or not _is_complete(found, tables, place.path):
        try:
            _migrate(place, tables)
        except sqlite3.OperationalError as error:
            if is_code(error, "SQLITE_READONLY", "SQLITE_READONLY_DIRECTORY"):
                raise _missing(place.path) from error
            raise
    return access, found is not None and found.application_id == COPY_ID


def missing(place: Place, tables: Tables) -> str:
    """Return the statements that `prepare` would run; empty: none.

    Raises as `prepare`, and sqlite3.Error.
    """
    with CONNECTING:
        found, _ = _inspect(place, tables)
    if found is not None and _is_complete(found, tables, place.path):
        return ""
    version = 0 if found is None else found.schema_version
    drops: Mapping[str, str | None] = {} if found is None else found.drops
    new = tables.kept if found is None else _to_make(found, tables)
    script = [sql(name) for name in _MIGRATIONS[version:]]
    script += [f"{drop};" for drop in drops.values() if drop is not None]
    script += [f"{one.create['sqlite']};" for one in new]
    script.append(f"PRAGMA application_id = {APPLICATION_ID};")
    script.append(f"PRAGMA user_version = {SCHEMA_VERSION};")
    return "\n\n".join(script) + "\n"


def _missing(path: str) -> SchemaMissing:
    return SchemaMissing(
        f"{path} lacks tables of the ledger, and it is read-only for this process; "
        "nothing was written. Call setup() where the file and its folder can be "
        "written."
    )


def _inspect(place: Place, tables: Tables) -> tuple[_Found | None, Access]:
    """Return what the file is (None: it cannot be told yet), and how to read it."""
    at_rest = not any(exists(place.path + end) for end in ("-wal", "-journal"))
    try:
        # A log left by a crash is not ours to merge before we know whose file it is.
        return _look(place, tables, "read" if at_rest else "inspect"), "read"
    except sqlite3.OperationalError as error:
        if is_code(error, "SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY"):
            # Nothing can be read before the recovery that any opening would do.
            return _look(place, tables, "read"), "read"
        if not is_code(error, "SQLITE_CANTOPEN", "SQLITE_READONLY_DIRECTORY"):
            raise
        if at_rest and exists(place.path) and not _may_write_beside(place.path):
            # Nobody writes now, and we may not make the files that readers share.
            return _look(place, tables, "immutable"), "immutable"
        # Not there, or not there a moment ago.
        return None, "read"


def _may_write_beside(path: str) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(Path(path).parent, os.W_OK, effective_ids=effective)


def _look(place: Place, tables: Tables, access: Access) -> _Found:
    db = connect(place, access)
    try:
        return _found_at_once(db, tables)
    finally:
        db.close()


def _found_at_once(db: sqlite3.Connection, tables: Tables) -> _Found:
    """Ask in one transaction: in between another process could make the tables."""
    db.execute("BEGIN")
    found = _found(db, tables)
    db.execute("COMMIT")
    return found


def _found(db: sqlite3.Connection, tables: Tables) -> _Found:
    (application_id,) = db.execute("PRAGMA application_id").fetchone()
    (schema_version,) = db.execute("PRAGMA user_version").fetchone()
    made: dict[str, str] = dict(db.execute(sql("tables")).fetchall())
    kept = frozenset[str]()
    if "kept_tables" in made:
        kept = frozenset(name for (name,) in db.execute(sql("kept_tables")))
    drops = {
        spec.name: dropping(db, spec.name)
        for spec in tables.kept
        if spec.name not in kept or not is_as_made(db, spec, made.get(spec.name))
    }
    return _Found(application_id, schema_version, frozenset(made), kept, drops)


def _is_complete(found: _Found, tables: Tables, path: str) -> bool:
    """Return whether nothing is left to make; refuse a file that is not ours."""
    if found.is_empty():
        return False
    if found.application_id not in (APPLICATION_ID, COPY_ID):
        raise StoreUnavailable(
            f"{path} is a database of another application (application_id "
            f"{found.application_id:#x}, {len(found.tables)} tables); nothing was "
            "written to it. Give the ledger a path of its own."
        )
    if found.schema_version > SCHEMA_VERSION:
        raise SchemaTooNew(
            f"{path} has schema version {found.schema_version}, this version of tenure "
            f"knows {SCHEMA_VERSION}: upgrade tenure. Nothing was written."
        )
    if found.schema_version < SCHEMA_VERSION:
        return False
    if not found.tables >= LEDGER_TABLES:
        missing = ", ".join(sorted(LEDGER_TABLES - found.tables))
        raise Corrupt(f"{path} has lost its tables ({missing}): restore a backup.")
    tables.lacking = found.kept - {spec.name for spec in tables.kept}
    others = {spec.name for spec in tables.wanted}
    return not found.drops and found.tables >= others


def _to_make(found: _Found, tables: Tables) -> list[TableSpec]:
    """Return the tables beside the events that are missing or that somebody changed."""
    return [spec for spec in tables.kept if spec.name in found.drops]


def _migrate(place: Place, tables: Tables) -> None:
    """Bring the file to this version in one transaction, whoever else tries it."""
    db = connect(place, "create")
    try:
        _is_complete(_found_at_once(db, tables), tables, place.path)
        set_up_writer(db, place)
        db.execute("BEGIN IMMEDIATE")
        found = _found(db, tables)
        if not _is_complete(found, tables, place.path):
            for name in _MIGRATIONS[found.schema_version :]:
                for statement in _statements(sql(name)):
                    db.execute(statement)
            _make_tables(db, found, tables, place.path)
            if found.application_id != COPY_ID:
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    finally:
        # Closing rolls back what was not committed.
        db.close()


def _make_tables(
    db: sqlite3.Connection, found: _Found, tables: Tables, path: str
) -> None:
    """Make what is missing; a table that must agree with the events is filled.

    One that somebody changed is made anew: it holds nothing but what follows from them.
    """
    new = _to_make(found, tables)
    for drop in found.drops.values():
        if drop is not None:
            db.execute(drop)
    for spec in (*tables.kept, *tables.wanted):
        db.execute(spec.create["sqlite"])
    names = [spec.name for spec in new]
    if new and tables.fill is not None:
        tables.apply(db, tables.fill(Reading(db, tables, path), names))
    db.executemany(sql("keep_table"), [(name,) for name in names])


def _statements(script: str) -> list[str]:
    """Return the statements of a script, each with the comments inside it."""
    statements: list[str] = []
    lines: list[str] = []
    for line in script.splitlines():
        lines.append(line)
        if sqlite3.complete_statement("\n".join(lines)):
            statements.append("\n".join(lines))
            lines.clear()
    return statements
