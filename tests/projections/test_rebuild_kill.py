"""kill -9 at every named point of a rebuild: the table is as it was, or right."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from processes import other
from stopping_rebuild import POINTS, TABLE
from tenure import First, Ledger, OwnerRef, open_ledger

SCRIPT = """
    from stopping_rebuild import rebuild_and_stop
    rebuild_and_stop(sys.argv[1], {point!r})
"""
Rows = list[tuple[object, ...]]


def write(ledger: Ledger) -> None:
    """Several streams, several rows."""
    for number in range(5):
        session = OwnerRef("session", f"ses_{number}")
        one = ledger.claim(session, f"a{number}", "host", first=First("m1", "human"))
        ledger.start(one, "m1")


def spoil(path: Path) -> None:
    """Make five rows wrong, with SQLite's own client."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE chat_executions SET status = 'x' WHERE session_id < 'ses_2'")
        db.execute("DELETE FROM chat_executions WHERE session_id = 'ses_2'")
        db.execute(
            "UPDATE chat_executions SET session_id = 'x' WHERE session_id = 'ses_3'"
        )


def stored(path: Path) -> tuple[Rows, Rows, Rows]:
    """Return the events, the rows of the table, and all that the file has in it."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        queries = (
            "SELECT position, hash FROM stored_events ORDER BY position",
            "SELECT * FROM chat_executions ORDER BY 1, 2, 3",
            "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2",
        )
        events, rows, schema = (db.execute(query).fetchall() for query in queries)
        return events, rows, schema


@pytest.mark.parametrize("point", POINTS)
def test_a_rebuild_killed_at_any_point_leaves_nothing_and_is_made_again(
    tmp_path: Path, point: str
) -> None:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        write(ledger)
    events, right, schema = stored(path)
    spoil(path)
    _, wrong, _ = stored(path)
    with other(SCRIPT.format(point=point), path) as killed:
        assert killed.hear() == point
        assert killed.kill() == []
    done = point == "after COMMIT"
    assert stored(path) == (events, right if done else wrong, schema)
    assert {file.name for file in tmp_path.iterdir()} <= {
        "relay.db",
        "relay.db-wal",
        "relay.db-shm",
    }
    with open_ledger(f"sqlite:///{path}") as ledger:
        (found,) = ledger.rebuild(TABLE)
        assert found.differing == (0 if done else 5)
        (found,) = ledger.rebuild(TABLE)
        assert found.differing == 0
        ledger.accept(OwnerRef("session", "ses_0"), "m2", "inbox")
    assert stored(path)[0][: len(events)] == events
    assert stored(path)[2] == schema
