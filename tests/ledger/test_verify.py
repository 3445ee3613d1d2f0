"""What somebody changed in a file behind the ledger's back is found, and named."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tenure import Corrupt, First, Head, Ledger, OwnerRef, Problem, open_ledger
from tenure_ledger.rows import row_hash
from worlds import World

S, OTHER = OwnerRef("session", "ses_1"), OwnerRef("session", "ses_2")
TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"


def fill(ledger: Ledger) -> None:
    """Two sessions whose events lie between one another's.

    ses_1: 1 claimed, 2 accepted, 3 admitted, 4 started, 5 settled, 6 accepted;
    ses_2: 1 claimed, 2 accepted, 3 accepted.
    """
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"))
    ledger.claim(OTHER, "t2", "host")
    ledger.start(one, "m1")
    ledger.accept(OTHER, "m1", "inbox")
    ledger.settle(one, "m1", "completed")
    ledger.accept(OTHER, "m2", "inbox")
    ledger.accept(S, "m2", "inbox")


class File:
    """A ledger's file, and what a program that is not ours can do to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        with open_ledger(self.url) as ledger:
            fill(ledger)
            self.head = ledger.head()

    def run(self, statement: str, *values: object) -> None:
        """Change the file, with the triggers that forbid it dropped."""
        with closing(sqlite3.connect(self.path)) as db, db:
            for (name,) in db.execute(TRIGGERS).fetchall():
                db.execute(f'DROP TRIGGER "{name}"')
            db.execute(statement, values)

    def edit(self, version: int, column: str, value: object) -> None:
        """Put another value into one column of an event of ses_1."""
        self.run(
            f"UPDATE stored_events SET {column} = ? "  # noqa: S608  a test's own words
            "WHERE originator_id = ? AND originator_version = ?",
            value,
            S.stream,
            version,
        )

    def state(self, version: int) -> bytes:
        """Return the bytes of an event of ses_1."""
        with closing(sqlite3.connect(self.path)) as db:
            (state,) = db.execute(
                "SELECT state FROM stored_events "
                "WHERE originator_id = ? AND originator_version = ?",
                (S.stream, version),
            ).fetchone()
        assert isinstance(state, bytes)
        return state

    def found(self, against: Head | None = None) -> Problem | None:
        """Return what a new process finds."""
        with open_ledger(self.url) as ledger:
            return ledger.verify(against).problem


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path / "relay.db")


class Found(NamedTuple):
    """What is found first."""

    kind: str
    stream: str
    version: int


def tampered(
    do: Callable[[File], None], kind: str, stream: str, version: int
) -> tuple[Callable[[File], None], Found]:
    """Return what is done to the file, and what is found."""
    return do, Found(kind, stream, version)


def with_its_hash(file: File, version: int, topic: str, state: bytes) -> None:
    """Edit an event as somebody would who knows how the hash is made."""
    file.edit(version, "state", state)
    file.edit(version, "hash", row_hash(S.stream, version, topic, state))


def swap(file: File) -> None:
    """Exchange the places of ses_1's versions 4 and 5 in the ledger."""
    at = "SELECT position FROM stored_events WHERE originator_id = ? AND "
    with closing(sqlite3.connect(file.path)) as db:
        (four,), (five,) = (
            db.execute(f"{at} originator_version = {n}", (S.stream,)).fetchone()
            for n in (4, 5)
        )
    for old, new in ((four, -1), (five, four), (-1, five)):
        file.run("UPDATE stored_events SET position = ? WHERE position = ?", new, old)


DELETE = "DELETE FROM stored_events WHERE originator_id = ? AND originator_version = ?"
FORGED = b'"m1","outcome":"failed"'
TAMPERINGS = {
    "a state is edited": tampered(
        lambda f: f.edit(4, "state", f.state(4).replace(b'"m1"', b'"m9"')),
        "edited",
        S.stream,
        4,
    ),
    "one byte is added": tampered(
        lambda f: f.edit(2, "state", f.state(2) + b" "), "edited", S.stream, 2
    ),
    "a topic is edited": tampered(
        lambda f: f.edit(4, "topic", "output-started.v1"), "edited", S.stream, 4
    ),
    "a hash is edited": tampered(
        lambda f: f.edit(3, "hash", bytes(32)), "edited", S.stream, 3
    ),
    "an event is edited together with its hash": tampered(
        lambda f: with_its_hash(
            f, 4, "execution-started.v1", f.state(4).replace(b'"m1"', b'"m9"')
        ),
        "edited",
        S.stream,
        4,
    ),
    "an event is given to another stream": tampered(
        lambda f: f.edit(6, "originator_id", "owner:session:ses_3"),
        "removed",
        "owner:session:ses_3",
        1,
    ),
    "an event is made unreadable together with its hash": tampered(
        lambda f: with_its_hash(f, 6, "submission-accepted.v1", b"{"),
        "unreadable",
        S.stream,
        6,
    ),
    "an event becomes JSON of another shape": tampered(
        lambda f: with_its_hash(f, 6, "submission-accepted.v1", b'{"key": 5}'),
        "unreadable",
        S.stream,
        6,
    ),
    "an event in the middle is removed": tampered(
        lambda f: f.run(DELETE, S.stream, 4), "removed", S.stream, 4
    ),
    "the first event of a stream is removed": tampered(
        lambda f: f.run(DELETE, OTHER.stream, 1), "removed", OTHER.stream, 1
    ),
    "two events change places": tampered(swap, "reordered", S.stream, 4),
    "an event is numbered again": tampered(
        lambda f: f.edit(6, "originator_version", 7), "removed", S.stream, 6
    ),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_what_was_tampered_with_is_found_and_the_first_bad_event_named(
    file: File, what: str
) -> None:
    assert file.found() is file.found(file.head) is None
    do, found = TAMPERINGS[what]
    do(file)
    for against in (None, file.head):
        problem = file.found(against)
        assert problem is not None
        assert Found(problem.kind, problem.stream, problem.version) == found
        assert problem.stream in problem.text


def test_a_removed_event_at_a_commands_end_is_found_without_a_head(file: File) -> None:
    file.run(DELETE, "agent:t2", 1)
    problem = file.found()
    assert problem is not None
    assert problem.kind == "incomplete"
    # Nobody can say what is missing, but behind which event it is.
    assert (problem.stream, problem.version) == (S.stream, 4)


@pytest.mark.parametrize("events", range(1, 12))
def test_a_tail_that_was_cut_off_is_found_against_a_head(
    file: File, events: int
) -> None:
    with closing(sqlite3.connect(file.path)) as db:
        (last,) = db.execute("SELECT max(position) FROM stored_events").fetchone()
    file.run("DELETE FROM stored_events WHERE position > ?", last - events)
    problem = file.found(file.head)
    assert problem is not None
    assert (problem.kind, problem.position) == ("cut_tail", last - events)
    # Without one only half a command is seen.
    alone = file.found()
    assert alone is None or alone.kind == "incomplete"


def test_half_a_command_at_the_end_is_found_without_a_head(tmp_path: Path) -> None:
    file = File(tmp_path / "relay.db")
    with open_ledger(file.url) as ledger:
        ledger.claim(OwnerRef("session", "ses_3"), "t3", "host")
    file.run(DELETE, "agent:t3", 1)
    problem = file.found()
    assert problem is not None
    assert (problem.kind, problem.stream) == ("incomplete", "owner:session:ses_3")


def test_an_event_of_one_stream_that_no_later_one_misses_is_found_against_a_head(
    file: File,
) -> None:
    file.run(DELETE, OTHER.stream, 3)
    assert file.found() is None
    problem = file.found(file.head)
    assert problem is not None
    assert problem.kind == "fork"


def test_a_last_event_that_was_forged_whole_is_found_against_a_head(
    file: File,
) -> None:
    forged = file.state(6).replace(b'"m2"', b'"m9"')
    with_its_hash(file, 6, "submission-accepted.v1", forged)
    assert file.found() is None
    problem = file.found(file.head)
    assert problem is not None
    assert (problem.kind, problem.position) == ("fork", file.head.position)


def test_a_backup_that_was_put_back_is_found_against_a_head(
    file: File, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(file.path, backup)
    with open_ledger(file.url) as ledger:
        ledger.accept(S, "m3", "inbox")
        head = ledger.head()
    shutil.copy(backup, file.path)
    assert file.found(file.head) is None
    problem = file.found(head)
    assert problem is not None
    assert problem.kind == "cut_tail"
    # Other events where those stood that the head has seen: a fork.
    with open_ledger(file.url) as ledger:
        ledger.accept(S, "m4", "inbox")
        ledger.accept(S, "m5", "inbox")
    problem = file.found(head)
    assert problem is not None
    assert (problem.kind, problem.position) == ("fork", head.position)


def test_a_running_ledger_notices_that_its_stream_was_put_back(file: File) -> None:
    with open_ledger(file.url) as ledger:
        ledger.accept(S, "m3", "inbox")
        assert ledger.owner(S).version == 7
        file.run(DELETE, S.stream, 7)
        assert ledger.owner(S).version == 6
        assert ledger.accept(S, "m4", "inbox") == 7
        assert ledger.owner(S).waiting == ("m2", "m4")


def test_an_edited_event_that_cannot_be_read_is_a_fault_for_its_stream_alone(
    file: File,
) -> None:
    file.edit(4, "state", b"{")
    with open_ledger(file.url) as ledger:
        with pytest.raises(Corrupt, match="event 4 of owner:session:ses_1"):
            ledger.owner(S)
        with pytest.raises(Corrupt):
            ledger.accept(S, "m9", "inbox")
        assert ledger.accept(OTHER, "m9", "inbox") == 4


def test_a_head_is_counted_on_from_an_earlier_one(world: World) -> None:
    ledger = world.ledger
    heads = [ledger.head()]
    assert heads[0] == Head(0, 0, "0" * 64)
    for number in range(5):
        ledger.accept(S, f"m{number}", "inbox")
        heads.append(ledger.head(heads[-1]))
    assert heads[-1] == ledger.head()
    assert [head.count for head in heads] == list(range(6))
    assert len({head.digest for head in heads}) == 6
    for head in heads:
        assert Head.from_json(head.to_json()) == head
        assert ledger.head(head) == heads[-1]
        assert ledger.verify(head).ok
    assert ledger.verify(heads[2]).head == heads[-1]


def test_a_head_of_another_ledger_is_not_of_this_one(
    world: World, tmp_path: Path
) -> None:
    fill(world.ledger)
    with open_ledger(f"sqlite:///{tmp_path}/other.db") as other:
        fill(other)
        head = other.head()
    assert head.count == world.ledger.head().count
    here = Head(world.ledger.head().position, head.count, head.digest)
    problem = world.ledger.verify(here).problem
    assert problem is not None
    assert problem.kind == "fork"
    far = world.ledger.head().position + 10**6
    longer = world.ledger.verify(Head(far, 10**6, head.digest)).problem
    assert longer is not None
    assert longer.kind == "cut_tail"


def test_verification_never_raises_over_what_it_reads(file: File) -> None:
    nonsense = [b"", b"[]", b"null", b"\xff", b'{"index": "x"}', b"[" * 5000]
    for topic in ("submission-accepted.v1", "from-the-future.v9", ""):
        for state in nonsense:
            file.edit(6, "topic", topic)
            with_its_hash(file, 6, topic, state)
            problem = file.found()
            assert problem is not None
            assert (problem.stream, problem.version) == (S.stream, 6)
            assert problem.kind in {"unreadable", "edited"}
