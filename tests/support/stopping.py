"""A ledger that stops at a named point of the append path, to be killed there.

The store is the real one: SQLite itself says which statement is about to run (its trace
callback, there for debugging), and a unit says when COMMIT has returned.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tenure import (
    Authority,
    Event,
    Evidence,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
)
from tenure_ledger.hook import Change
from tenure_ledger.rows import RowChange, Snapshot, TableSpec
from tenure_ledger.shell import Shell
from tenure_ledger.stores import SQLiteStore
from tenure_ledger.stores.sqlite_unit import SQLiteUnit

__all__ = [
    "COMMANDS",
    "POINTS",
    "SEEN",
    "WITHOUT_BODIES",
    "S",
    "SeenTable",
    "StoppingStore",
    "open_stopping",
    "prepare",
    "stop",
    "stop_in",
]

S = OwnerRef("session", "ses_1")
PROCESS = "host"

POINTS: dict[str, str | None] = {
    "before BEGIN": "BEGIN IMMEDIATE",
    "after BEGIN": "SELECT",
    "between two events": "INSERT INTO stored_events",
    "after the events": "INSERT INTO commands",
    "after the command row": "INSERT INTO payloads",
    "after the bodies": 'INSERT INTO "seen"',
    "before COMMIT": "COMMIT",
    "after COMMIT, before the answer": None,
}
"""Each point is just before a statement; None: COMMIT has returned."""

SEEN = TableSpec(
    name="seen",
    columns=("stream", "version", "topic"),
    key=("stream", "version"),
    create={
        "sqlite": "CREATE TABLE IF NOT EXISTS seen (stream TEXT, version INTEGER, "
        "topic TEXT, PRIMARY KEY (stream, version)) WITHOUT ROWID",
        "postgres": "CREATE TABLE IF NOT EXISTS seen (stream text, version bigint, "
        "topic text, PRIMARY KEY (stream, version))",
    },
)


class SeenTable:
    """A small table in the same transaction: one row for each event."""

    specs: Sequence[TableSpec] = (SEEN,)

    def fill(self, snapshot: Snapshot, _names: Sequence[str]) -> Iterable[RowChange]:
        """Return a row for each event that is there."""
        for stream in snapshot.streams():
            for row in snapshot.tail(stream, 0):
                key = (row.stream, row.version)
                yield RowChange("seen", key, (*key, row.topic))

    def changes(
        self, changes: Sequence[Change], _body: Callable[[str, str], bytes | None], /
    ) -> Iterable[RowChange]:
        """Return a row for each event."""
        for one in (one for change in changes for one in change.events):
            assert isinstance(one.event, Event)
            key = (one.stream, one.version)
            yield RowChange("seen", key, (*key, one.event.topic))


def stop(point: str) -> None:
    """Say where this process is, and stay there until it is killed."""
    sys.stdout.write(f"{point}\n")
    sys.stdout.flush()
    sys.stdin.read()


class StoppingStore(SQLiteStore):
    """The real store; `arm` names the point at which the next write stops."""

    def __init__(
        self, path: str, tables: Sequence[TableSpec] = SeenTable.specs
    ) -> None:
        self._point = ""
        super().__init__(path, tables=tables, on_connect=self._watch)

    def arm(self, point: str) -> None:
        """Stop there from now on."""
        self._point = point

    def _watch(self, db: sqlite3.Connection) -> None:
        inserted: list[str] = []

        def about_to_run(statement: str) -> None:
            wanted = POINTS.get(self._point)
            if wanted is None or not statement.startswith(wanted):
                return
            if self._point == "after BEGIN" and not db.in_transaction:
                return  # a reader
            inserted.append(statement)
            if self._point == "between two events" and len(inserted) == 1:
                return
            stop(self._point)

        db.set_trace_callback(about_to_run)

    def write(self, deadline_seconds: float) -> SQLiteUnit:
        """Return a unit that stops once it is committed, if that is the point."""
        unit = super().write(deadline_seconds)
        commit = unit.commit

        def commit_and_stop() -> None:
            commit()
            if self._point and POINTS[self._point] is None:
                stop(self._point)

        setattr(unit, "commit", commit_and_stop)  # noqa: B010  mypy forbids a method
        return unit


def open_stopping(path: str | Path) -> tuple[Ledger, StoppingStore]:
    """Open a ledger with the table `SEEN` on a store that can stop."""
    store = StoppingStore(str(path))
    shell = Shell(
        store,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        process=lambda: PROCESS,
        deadline_seconds=30.0,
        tables=SeenTable(),
    )
    return Ledger(shell), store


def prepare(ledger: Ledger) -> Authority:
    """A live term with a request that runs, a call, a message that waits."""
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"), command_id="p1")
    ledger.start(one, "m1", command_id="p2")
    ledger.begin_tool_call(one, "m1", "c1", "shell", {"run": "a"}, command_id="p3")
    ledger.accept(S, "m2", "inbox", command_id="p4")
    return one


def _save(ledger: Ledger, one: Authority) -> object:
    payload = RuntimeRestartReactionLoopState(consecutive_batches=7)
    return ledger.save_checkpoint(one, payload, command_id="the command")


def _retire(ledger: Ledger, one: Authority) -> object:
    return ledger.retire(one, "continue", "what was done", command_id="the command")


def _begin_call(ledger: Ledger, one: Authority) -> object:
    # The state is "fresh" once and never again, so it is no part of the outcome.
    call = ledger.begin_tool_call(
        one, "m1", "c2", "shell", {"run": "b"}, command_id="the command"
    )
    return call.idempotency_key


def _take_over(ledger: Ledger, one: Authority) -> object:
    evidence = Evidence("gone", one.incarnation, 7, "killed")
    return ledger.take_over(S, "t2", "host", evidence, command_id="the command")


COMMANDS: dict[str, Callable[[Ledger, Authority], object]] = {
    "save_checkpoint": _save,
    "retire": _retire,
    "begin_tool_call": _begin_call,
    "take_over": _take_over,
}
"""Commands with one event and several, in one stream and several, with bodies or none;
each gives its outcome."""
WITHOUT_BODIES = {"take_over"}


def stop_in(path: str, command: str, point: str, authority: str) -> None:
    """Run the command in the ledger at ``path`` and stop at the point."""
    ledger, store = open_stopping(path)
    ledger.head()
    store.arm(point)
    COMMANDS[command](ledger, Authority.from_json(authority))
    stop("nowhere")
