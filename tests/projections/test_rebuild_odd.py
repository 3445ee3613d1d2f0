"""Rows as only another program can write them are found and put right as well."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tenure import Corrupt, Ledger, OwnerRef, open_ledger
from tenure_ledger.rows import Column
from tenure_projections.tables.executions import CHAT_EXECUTIONS

EXECUTIONS = "chat_executions"
CREATE = CHAT_EXECUTIONS.spec.create["sqlite"].replace(EXECUTIONS, "other", 1)
CHANGES = (
    ("    PRIMARY KEY", "    UNIQUE (sender), PRIMARY KEY"),
    ("session_id, physical_user_message_id)", "session_id)"),
    ("session_id TEXT NOT NULL", "session_id TEXT NOT NULL COLLATE NOCASE"),
    ("session_id TEXT", "session_id INTEGER"),
    ("human INTEGER NOT NULL", "human INTEGER"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a file with three sessions, in which one message waits."""
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        for number in range(3):
            ledger.accept(OwnerRef("session", f"s{number}"), "m", "inbox", "Ana")
    return path


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """Give the file's ledger."""
    with open_ledger(f"sqlite:///{path}") as opened:
        yield opened


def run(path: Path, *statements: str) -> None:
    """Say these to SQLite itself."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def found(ledger: Ledger, table: str) -> dict[tuple[Column, ...], dict[str, Column]]:
    """Rebuild, and return the stored values that differed, by key."""
    (rebuilt,) = ledger.rebuild(table)
    return {
        one.key: {
            column: value
            for column, value in (one.before or {}).items()
            if one.after is None or value != one.after[column]
        }
        for one in rebuilt.differences
    }


def test_values_of_another_kind_are_differences(path: Path, ledger: Ledger) -> None:
    run(
        path,
        "UPDATE chat_executions SET sender = x'ff', origin = 5, term = 'abc', "
        "accepted_version = 1.5 WHERE session_id = 's1'",
    )
    assert found(ledger, EXECUTIONS) == {
        ("session", "s1", "m"): {
            "sender": b"\xff",
            "origin": "5",
            "term": "abc",
            "accepted_version": 1.5,
        }
    }
    assert found(ledger, EXECUTIONS) == {}


def test_a_text_that_is_no_utf_8_is_a_difference(path: Path, ledger: Ledger) -> None:
    run(
        path,
        "UPDATE chat_executions SET sender = CAST(x'ff41' AS TEXT) "
        "WHERE session_id = 's1'",
    )
    senders = [row["sender"] for row in ledger.rows(EXECUTIONS)]
    assert senders == ["Ana", "\udcffA", "Ana"]
    key = ("session", "s1", "m")
    assert found(ledger, EXECUTIONS) == {key: {"sender": "\udcffA"}}
    assert found(ledger, EXECUTIONS) == {}


def test_a_key_that_is_bytes_is_deleted(path: Path, ledger: Ledger) -> None:
    run(path, "INSERT INTO stream_states VALUES (x'01', 0, 1, 2, 'x', 1, 1)")
    assert list(found(ledger, "stream_states")) == [(b"\x01",)]
    assert list(ledger.rows("stream_states")) == []


@pytest.mark.parametrize("table", ["stream_states", "retirement_cuts"])
def test_a_key_that_is_no_utf_8_is_named_and_nothing_is_written(
    path: Path, ledger: Ledger, table: str
) -> None:
    run(
        path,
        "INSERT INTO stream_states VALUES (CAST(x'ff41' AS TEXT), 0, 1, 2, 'x', 1, 1)",
        "INSERT INTO retirement_cuts VALUES ('a', CAST(x'ff41' AS TEXT), 1, 1, NULL, "
        "NULL, 'x', NULL, NULL, NULL, 'x', 'x')",
    )
    with pytest.raises(Corrupt, match=rf"{table} has a key that is no text .*udcffA"):
        ledger.rebuild(table)
    assert len(list(ledger.rows(table))) == 1


def test_a_table_that_is_gone_is_made_again_when_the_file_is_opened(path: Path) -> None:
    with open_ledger(f"sqlite:///{path}") as ledger:
        rows = list(ledger.rows(EXECUTIONS))
    run(path, "DROP TABLE chat_executions")
    with open_ledger(f"sqlite:///{path}") as ledger:
        assert ledger.rebuild(EXECUTIONS)[0].differing == 0
        assert list(ledger.rows(EXECUTIONS)) == rows


@pytest.mark.parametrize(
    "damage",
    [
        "ALTER TABLE chat_executions RENAME COLUMN sender TO sent_by",
        "ALTER TABLE chat_executions ADD COLUMN mine TEXT",
        "DROP TABLE chat_executions",
        "CREATE TABLE other AS SELECT * FROM chat_executions",
        "CREATE VIEW other AS SELECT 1 AS term",
        "CREATE INDEX other ON payloads (key_id)",
        *(CREATE.replace(old, new) for old, new in CHANGES),
    ],
)
def test_a_table_that_somebody_changed_is_made_anew(
    path: Path, ledger: Ledger, damage: str
) -> None:
    rows, made = list(ledger.rows(EXECUTIONS)), statement(path)
    change(path, damage)
    ledger.rebuild(EXECUTIONS)
    assert (list(ledger.rows(EXECUTIONS)), statement(path)) == (rows, made)
    change(path, damage)
    ledger.close()
    with open_ledger(f"sqlite:///{path}") as again:
        assert list(again.rows(EXECUTIONS)) == rows
        assert statement(path) == made
        again.accept(OwnerRef("session", "S0"), "m", "inbox")
        assert again.rebuild(EXECUTIONS, check=True)[0].differing == 0


def change(path: Path, damage: str) -> None:
    """Damage the table; what is made as ``other`` comes in its place."""
    run(path, damage)
    with closing(sqlite3.connect(path)) as db, db:
        made = db.execute("SELECT sql FROM sqlite_master WHERE name = 'other'")
        for (text,) in made.fetchall():
            db.execute("DROP TABLE chat_executions")
            db.execute(f"DROP {text.split()[1]} other")
            db.execute(text.replace("other", EXECUTIONS, 1))


def statement(path: Path) -> str:
    """Return what the table is, as the file says it."""
    asked = "SELECT sql FROM sqlite_master WHERE name = 'chat_executions'"
    with closing(sqlite3.connect(path)) as db:
        ((made,),) = db.execute(asked).fetchall()
    return str(made)


def test_a_table_of_another_text_that_is_the_same_stays(
    path: Path, ledger: Ledger
) -> None:
    rows = list(ledger.rows(EXECUTIONS))
    change(path, CREATE.replace("What became", "In an earlier release: what became"))
    ledger.rebuild(EXECUTIONS)
    assert "In an earlier release" in statement(path)
    assert list(ledger.rows(EXECUTIONS)) == rows


def test_an_index_that_somebody_added_stays(path: Path, ledger: Ledger) -> None:
    run(path, "CREATE INDEX mine ON chat_executions (status)")
    ledger.rebuild(EXECUTIONS)
    ledger.setup()
    run(path, "DROP INDEX mine")


def test_what_was_added_and_refuses_the_right_rows_is_to_be_dropped(
    path: Path, ledger: Ledger
) -> None:
    run(
        path,
        "DELETE FROM chat_executions WHERE session_id <> 's1'",
        "CREATE UNIQUE INDEX mine ON chat_executions (status)",
    )
    with pytest.raises(Corrupt, match=r"refuses .*status.* drop that") as fault:
        ledger.rebuild(EXECUTIONS)
    assert "tenure rebuild" not in str(fault.value)
    run(path, "DROP INDEX mine")
    assert len(found(ledger, EXECUTIONS)) == 2
    assert found(ledger, EXECUTIONS) == {}


def test_a_check_of_a_table_that_is_gone_makes_nothing(
    path: Path, ledger: Ledger
) -> None:
    ledger.head()
    run(path, "DROP TABLE chat_executions")
    with pytest.raises(Corrupt, match="rebuild"):
        ledger.rebuild(EXECUTIONS, check=True)


def test_what_is_right_by_number_is_no_difference(path: Path, ledger: Ledger) -> None:
    run(path, "UPDATE chat_executions SET accepted_version = '1', human = 0.0")
    assert found(ledger, EXECUTIONS) == {}
