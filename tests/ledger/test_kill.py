"""kill -9 at every named point of the append path: a command is whole or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark.structures import ParameterSet

from processes import other
from stopping import (
    COMMANDS,
    POINTS,
    WITHOUT_BODIES,
    open_stopping,
    prepare,
)
from tenure import Event, Ledger
from witness import violations

SCRIPT = """
    from stopping import stop_in
    stop_in(sys.argv[1], {command!r}, {point!r}, {authority!r})
"""
IN_EVERY_RUN = {
    *(("retire", point) for point in POINTS),
    ("take_over", "between two events"),
    ("take_over", "after the bodies"),
    ("take_over", "before COMMIT"),
    ("begin_tool_call", "after COMMIT, before the answer"),
}
BETWEEN_ROW_AND_BODY = ("after the events", "after the command row", "after the bodies")


def cases() -> list[ParameterSet]:
    """Every command at every point; those that repeat another's run with --prove."""
    found: list[ParameterSet] = []
    for command in COMMANDS:
        for point in POINTS:
            if point == "after the command row" and command in WITHOUT_BODIES:
                continue
            if command == "save_checkpoint" and point in (
                *BETWEEN_ROW_AND_BODY,  # below, as S1 step 5
                "between two events",  # it has one
            ):
                continue
            marks = () if (command, point) in IN_EVERY_RUN else (pytest.mark.prove,)
            found.append(pytest.param(command, point, marks=marks))
    return found


ROWS = """
SELECT originator_id, originator_version, topic FROM stored_events ORDER BY position
SELECT stream, command_id, first_version, outcome FROM commands ORDER BY 1, 2
SELECT stream, digest, body FROM payloads ORDER BY 1, 2
SELECT stream, version, topic FROM seen ORDER BY 1, 2
""".strip().splitlines()


class Stored(NamedTuple):
    """Every row that one file holds, read by plain SQL."""

    events: list[tuple[object, ...]]
    commands: list[tuple[object, ...]]
    bodies: list[tuple[object, ...]]
    seen: list[tuple[object, ...]]


def stored(path: Path) -> Stored:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return Stored(*(db.execute(query).fetchall() for query in ROWS))


def whole(ledger: Ledger) -> int:
    """Hold that the log is sound; return how many events the command has in it."""
    assert ledger.verify().ok
    log = list(ledger.events())
    assert violations(log) == []
    events = [one.event for one in log if isinstance(one.event, Event)]
    return sum(event.command_id == "the command" for event in events)


def never_killed(folder: Path, command: str) -> tuple[Stored, Stored, object]:
    """Return what is stored before and after the command, and its outcome."""
    path = folder / "twin.db"
    ledger, _ = open_stopping(path)
    with ledger:
        one = prepare(ledger)
        before = stored(path)
        outcome = COMMANDS[command](ledger, one)
        return before, stored(path), outcome


@pytest.mark.parametrize(("command", "point"), cases())
def test_a_command_killed_at_any_point_is_whole_or_not_at_all(
    tmp_path: Path, command: str, point: str
) -> None:
    kill_and_go_on(tmp_path, command, point)


@pytest.mark.parametrize("point", BETWEEN_ROW_AND_BODY)
def test_s1_step_5_a_crash_between_a_checkpoint_and_what_it_holds_leaves_neither(
    tmp_path: Path, point: str
) -> None:
    kill_and_go_on(tmp_path, "save_checkpoint", point)


def kill_and_go_on(tmp_path: Path, command: str, point: str) -> None:
    """Kill a process at the point, open the file again, and ask the same again."""
    path = tmp_path / "relay.db"
    ledger, _ = open_stopping(path)
    with ledger:
        one = prepare(ledger)
    before = stored(path)
    script = SCRIPT.format(command=command, point=point, authority=one.to_json())
    with other(script, path) as killed:
        assert killed.hear() == point
        assert killed.kill() == []
    is_stored = point.startswith("after COMMIT")
    ledger, _ = open_stopping(path)
    with ledger:
        events = whole(ledger)
        after = stored(path)
        assert (events > 0) == is_stored
        if not is_stored:
            assert after == before
        outcome = COMMANDS[command](ledger, one)
        once = stored(path)
        if is_stored:
            assert once == after
        assert COMMANDS[command](ledger, one) == outcome
        assert stored(path) == once
        assert whole(ledger) == len(once.events) - len(before.events)
    # And it is what it would have been, had nobody been killed.
    twin_before, twin_after, _ = never_killed(tmp_path, command)
    assert once.events == twin_after.events
    assert len(once.commands) == len(twin_after.commands)
    assert [row[:2] for row in once.bodies] == [row[:2] for row in twin_after.bodies]
    assert once.seen == twin_after.seen
    assert set(once.seen) == set(once.events)
    assert twin_before.events == before.events
