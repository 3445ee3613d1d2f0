"""A row that another program changed is named by verify, and a fault for commands."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tenure import (
    Corrupt,
    First,
    InvalidInput,
    Ledger,
    OwnerRef,
    Problem,
    arguments_digest,
    open_ledger,
)

S, OTHER = OwnerRef("session", "ses_1"), OwnerRef("session", "ses_2")
TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with three events of ses_1, the binding of its agent, and one of ses_2."""
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        one = ledger.claim(S, "t1", "host", command_id="claimed")
        ledger.admit(one, "m1", "assistant_run", command_id="admitted")
        ledger.begin_tool_call(one, "m1", "c1", "mail", {"to": "a"}, command_id="begun")
        ledger.request_approval(one, "c2", "mail", "d", "p1", command_id="asked")
        ledger.accept(OTHER, "m1", "inbox")
    return path


def run(path: Path, statement: str) -> None:
    """Change the file, with the triggers that forbid it dropped."""
    with closing(sqlite3.connect(path)) as db, db:
        for (name,) in db.execute(TRIGGERS).fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        assert db.execute(statement).rowcount > 0


def found(path: Path) -> Problem | None:
    with open_ledger(f"sqlite:///{path}") as ledger:
        return ledger.verify().problem


VERSION_3 = "WHERE originator_id = 'owner:session:ses_1' AND originator_version = 3"
CHANGES = {
    # What is done to version 3 of ses_1, and the stream and version that are named.
    "state = 'str'": (S.stream, 3),
    "state = 5": (S.stream, 3),
    "originator_version = 'x'": (S.stream, 0),
    "originator_version = 3.5": (S.stream, 0),
    "originator_version = x'03'": (S.stream, 0),
    "originator_id = x'ff'": ("", 3),
    "originator_id = CAST(x'ff' AS TEXT)": ("", 3),
    "topic = x'ff'": (S.stream, 3),
    "topic = CAST(x'ff' AS TEXT)": (S.stream, 3),
    "hash = 'str'": (S.stream, 3),
    "hash = 1.5": (S.stream, 3),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_column_of_another_type_is_found_and_its_event_named(
    path: Path, change: str
) -> None:
    assert found(path) is None
    run(path, f"UPDATE stored_events SET {change} {VERSION_3}")  # noqa: S608  our words
    problem = found(path)
    assert problem is not None
    stream, version = CHANGES[change]
    assert problem[:4] == ("unreadable", stream, version, 4)
    assert "position 4" in problem.text


@pytest.mark.parametrize("change", [one for one in CHANGES if "_id" not in one])
def test_a_column_of_another_type_is_a_fault_for_its_stream_alone(
    path: Path, change: str
) -> None:
    run(path, f"UPDATE stored_events SET {change} {VERSION_3}")  # noqa: S608  our words
    with open_ledger(f"sqlite:///{path}") as ledger:
        reads: list[Callable[[], object]] = [
            lambda: ledger.owner(S),
            lambda: ledger.history(S),
            lambda: list(ledger.events()),
            lambda: ledger.accept(S, "m9", "inbox"),
        ]
        for read in reads:
            with pytest.raises(Corrupt, match="at position 4 cannot be read"):
                read()
        assert ledger.accept(OTHER, "m9", "inbox") == 2


LAST = "WHERE originator_id = 'owner:session:ses_1' AND originator_version = 7"


def test_a_last_hash_changed_under_an_open_ledger_is_a_fault(path: Path) -> None:
    """The state is in memory: only the last row is looked at again."""
    with open_ledger(f"sqlite:///{path}") as ledger:
        assert ledger.accept(S, "m8", "inbox") == 7
        run(path, f"UPDATE stored_events SET hash = 'str' {LAST}")  # noqa: S608  our words
        with pytest.raises(Corrupt, match=r"event 7 of .* cannot be read"):
            ledger.accept(S, "m9", "inbox")
        assert ledger.accept(OTHER, "m9", "inbox") == 2


def test_a_last_hash_that_is_no_utf_8_stops_no_other_stream(path: Path) -> None:
    with open_ledger(f"sqlite:///{path}") as ledger:
        assert ledger.accept(S, "m8", "inbox") == 7
        run(path, f"UPDATE stored_events SET hash = CAST(x'ff' AS TEXT) {LAST}")  # noqa: S608  our words
        assert ledger.accept(S, "m9", "inbox") == 8
        assert ledger.accept(OTHER, "m9", "inbox") == 2
        problem = ledger.verify().problem
    assert problem is not None
    assert problem[:3] == ("edited", S.stream, 7)


def test_a_state_that_is_text_and_no_utf_8_was_edited(path: Path) -> None:
    """SQLite gives the bytes only, and those are of the right type."""
    run(path, f"UPDATE stored_events SET state = CAST(x'ff' AS TEXT) {VERSION_3}")  # noqa: S608  our words
    problem = found(path)
    assert problem is not None
    assert problem[:4] == ("edited", S.stream, 3, 4)


def test_a_hash_of_another_type_is_a_fault_for_the_head(path: Path) -> None:
    run(path, f"UPDATE stored_events SET hash = 'str' {VERSION_3}")  # noqa: S608  our words
    with (
        open_ledger(f"sqlite:///{path}") as ledger,
        pytest.raises(Corrupt, match=r"position 4 .* verify"),
    ):
        ledger.head()


OUTCOMES = [
    '{"zz": 1}',
    "",
    "{",
    "5",
    "null",
    "[]",
    '{"at": "x"}',
    '{"called": ["m1"]}',
    '{"called": [1, 2]}',
    '{"asked": null}',
    '{"granted": {}, "process": "p"}',
    '{"granted": {"owner": {}}, "process": "p"}',
    '{"granted": {"owner": {"recovery_class": "A", "owner_id": "x"}}, "process": "p"}',
    "[" * 100_000,
]
ASKED_AGAIN: dict[str, Callable[[Ledger], object]] = {
    "claimed": lambda ledger: ledger.claim(S, "t1", "host", command_id="claimed"),
    "accepted": lambda ledger: ledger.accept(S, "m2", "in", command_id="accepted"),
}


@pytest.mark.parametrize("command_id", ASKED_AGAIN)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_stored_outcome_that_cannot_be_read_is_a_fault(
    tmp_path: Path, command_id: str, outcome: str
) -> None:
    path, ask = tmp_path / "relay.db", ASKED_AGAIN[command_id]
    with open_ledger(f"sqlite:///{path}") as ledger:
        first = ask(ledger)
        assert ask(ledger) == first
    for kind in ("TEXT", "BLOB"):
        change = f"SET outcome = CAST('{outcome}' AS {kind})"
        run(path, f"UPDATE commands {change}")
        with (
            open_ledger(f"sqlite:///{path}") as ledger,
            pytest.raises(Corrupt, match="stored outcome"),
        ):
            ask(ledger)


def test_a_body_that_was_changed_is_a_fault_whatever_its_type(path: Path) -> None:
    for body in ("'str'", "x'ff'", "5"):
        run(path, f"UPDATE payloads SET body = {body}")  # noqa: S608  our words
        with (
            open_ledger(f"sqlite:///{path}") as ledger,
            pytest.raises(Corrupt, match="was changed in the store"),
        ):
            ledger.body(S, arguments_digest({"to": "a"}))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE payloads SET body = x'00'",
        "UPDATE payloads SET digest = 'd'",
        "UPDATE commands SET outcome = '5'",
        "UPDATE stored_events SET state = '5'",
        "DELETE FROM commands",
        "DELETE FROM stored_events",
    ],
)
def test_the_file_itself_refuses_to_change_what_is_kept(
    path: Path, statement: str
) -> None:
    with (
        closing(sqlite3.connect(path)) as db,
        pytest.raises(sqlite3.IntegrityError, match="no row is ever"),
    ):
        db.execute(statement)


def test_a_head_of_a_longer_ledger_is_not_counted_on(
    path: Path, tmp_path: Path
) -> None:
    with open_ledger(f"sqlite:///{path}") as ledger:
        kept = ledger.head()
        assert ledger.head(since=kept) == kept
    with open_ledger(f"sqlite:///{tmp_path}/other.db") as other:
        for fill in (False, True):
            if fill:
                other.claim(S, "t1", "host", first=First("m1", "human"))
            end = other.head().position
            with pytest.raises(InvalidInput) as refused:
                other.head(since=kept)
            assert f"ends at position {end}," in refused.value.text
            assert "verify(against=" in refused.value.text
            problem = other.verify(against=kept).problem
            assert problem is not None
            assert problem.kind == "cut_tail"
