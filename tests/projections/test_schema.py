"""What a SQL client sees: the seed's tables as they are, and comments that explain."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from clients import client
from following import Saw
from tenure import open_ledger
from tenure_projections.followers.tracking import FOLLOWERS, PARKED
from tenure_projections.tables import TABLES, table_named
from worlds import World

# Name, type, not null, default: verbatim from seed 000 section 1 (its bigint and its
# text are SQLite's too; a timestamptz is ISO 8601 text; what has a default of now()
# there is always given here).
SEED: dict[str, list[tuple[str, str, int, str | None]]] = {
    "recovery_owners": [
        ("recovery_class", "TEXT", 1, None),
        ("owner_id", "TEXT", 1, None),
        ("generation", "BIGINT", 1, "1"),
        ("agent_id", "TEXT", 0, None),
        ("message_id", "TEXT", 0, None),
        ("active_at", "TEXT", 1, None),
        ("terminal_at", "TEXT", 0, None),
        ("terminal_status", "TEXT", 0, None),
    ],
    "runtime_restart_checkpoints": [
        ("agent_id", "TEXT", 1, None),
        ("mode", "TEXT", 1, None),
        ("payload_json", "TEXT", 0, None),
        ("created_at", "BIGINT", 1, None),
        ("updated_at", "BIGINT", 1, None),
        ("recovery_class", "TEXT", 0, None),
        ("recovery_owner_id", "TEXT", 0, None),
        ("execution_config_json", "TEXT", 0, None),
        ("generation", "BIGINT", 1, None),  # ours
    ],
    "recovery_owner_terminal_events": [
        ("recovery_class", "TEXT", 1, None),
        ("owner_id", "TEXT", 1, None),
        ("generation", "BIGINT", 1, None),
        ("event_type", "TEXT", 1, None),
        ("created_at", "TEXT", 1, None),
        ("payload_json", "TEXT", 0, None),
    ],
}
KEYS = {
    "recovery_owners": ["recovery_class", "owner_id"],
    "runtime_restart_checkpoints": ["agent_id"],
    "recovery_owner_terminal_events": [
        "recovery_class",
        "owner_id",
        "generation",
        "event_type",
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        ledger.setup()
    return path


@pytest.mark.parametrize("table", SEED)
def test_the_seeds_tables_have_its_columns_types_and_keys(
    file: Path, table: str
) -> None:
    with closing(sqlite3.connect(file)) as db:
        info = db.execute(f"PRAGMA table_info({table})").fetchall()
    assert [(name, kind, null, dflt) for _, name, kind, null, dflt, _ in info] == (
        SEED[table]
    )
    keyed = sorted((at, name) for _, name, _, _, _, at in info if at)
    assert [name for _, name in keyed] == KEYS[table]


def test_the_database_itself_holds_an_agent_to_one_owner(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        row = (
            "INSERT INTO recovery_owners VALUES (?, ?, 1, 'a', NULL, 'now', NULL, NULL)"
        )
        db.execute(row, ("session", "one"))
        with pytest.raises(sqlite3.IntegrityError, match=r"recovery_owners\.agent_id"):
            db.execute(row, ("session", "two"))


@pytest.mark.parametrize("name", [table.spec.name for table in TABLES])
def test_a_tables_statement_is_its_spec(file: Path, name: str) -> None:
    spec = table_named(name).spec
    with closing(sqlite3.connect(file)) as db:
        info = db.execute(f"PRAGMA table_info({spec.name})").fetchall()
        ((schema,),) = db.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (spec.name,)
        ).fetchall()
    assert tuple(name for _, name, *_ in info) == spec.columns
    keyed = sorted((at, name) for _, name, _, _, _, at in info if at)
    assert tuple(name for _, name in keyed) == spec.key
    assert "-- " in schema.splitlines()[1], "the table is not explained"


def test_every_column_of_the_seeds_tables_is_explained(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        for table, columns in SEED.items():
            ((schema,),) = db.execute(
                "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
            ).fetchall()
            lines = {
                line.split()[0]: line for line in schema.splitlines() if line.strip()
            }
            for name, *_ in columns:
                assert " -- " in lines[name], (table, name)


@pytest.mark.parametrize("world", ["postgres"], indirect=True)
def test_a_server_shows_the_same_comments(world: World) -> None:
    world.ledger.follower(Saw()).catch_up()
    shown: dict[tuple[str, str], str] = {}
    with client(world.url.removesuffix("&durability=normal")) as db:
        for spec in (*(table.spec for table in TABLES), FOLLOWERS, PARKED):
            found = db.execute(COMMENTS, (spec.name,)).fetchall()
            assert all(of_table for _, _, of_table in found), spec.name
            told = {column: text for column, text, _ in found if text}
            assert told.keys() >= explained(spec.create["sqlite"]), spec.name
            shown.update({(spec.name, column): text for column, text in told.items()})
    assert shown["notices", "event_type"] == (
        "retirement_cut, instance_restart, late_result, or as given to terminate"
    )


COMMENTS = """
SELECT attname::text, col_description(attrelid, attnum), obj_description(attrelid)
FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""


def explained(statement: str) -> set[str]:
    """Return the columns with a comment; that a time is a text is SQLite's alone."""
    lines = [line for line in statement.splitlines() if " -- " in line.strip()]
    return {line.split()[0] for line in lines if "ISO 8601" not in line}
