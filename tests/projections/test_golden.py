"""What earlier releases wrote is read, proved and gone on with by this one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from golden import GOLDEN, restore
from tenure import Ledger, OwnerRef, open_ledger
from tenure_ledger.codec import decode, encode
from tenure_ledger.events import Event
from tenure_ledger.rows import EventRow

SCRIPTS = sorted(GOLDEN.glob("relay-*.sql"))


@pytest.fixture(params=SCRIPTS, ids=lambda path: path.stem)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "relay.db"
    restore(request.param, path)
    return path


def opened(file: Path) -> Ledger:
    return open_ledger(f"sqlite:///{file}")


def test_there_is_a_ledger_of_a_release() -> None:
    assert SCRIPTS


def test_it_verifies_and_its_tables_are_what_this_version_makes(file: Path) -> None:
    with opened(file) as ledger:
        found = ledger.verify()
        assert found.ok, found.problem
        assert found.head.count >= 600
        assert [one.differing for one in ledger.rebuild(check=True)] == [0] * 10


def test_every_event_is_written_again_as_it_was(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        query = (
            "SELECT position, originator_id, originator_version, topic, state, hash "
            "FROM stored_events"
        )
        rows = [EventRow._make(row) for row in db.execute(query)]
    events = [(decode(row).event, row.state) for row in rows]
    known = [(event, state) for event, state in events if isinstance(event, Event)]
    assert len(known) >= len(rows) - 2
    assert [encode(event) for event, _ in known] == [state for _, state in known]


def test_the_session_of_a_release_goes_on(file: Path) -> None:
    session = OwnerRef("session", "ses 1 会话")
    with opened(file) as ledger:
        seen = ledger.owner(session)
        assert (seen.status, seen.generation) == ("live", 4)
        version = ledger.accept(session, "new 1", "inbox", human=True)
        assert version == seen.version + 1
        (row,) = [
            one
            for one in ledger.rows("chat_executions", session)
            if one["physical_user_message_id"] == "new 1"
        ]
        assert row["status"] == "waiting"
        assert ledger.verify().ok
