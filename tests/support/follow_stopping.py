"""A follower that stops at a named point of its batch, to be killed there.

The store is the real one: SQLite itself says which statement is about to run (its trace
callback, there for debugging), and a unit says when COMMIT has returned.
"""

from __future__ import annotations

import sqlite3

from following import Saw
from odd_stores import ledger_on
from stopping import stop
from tenure import ModelRows, Recorded
from tenure_ledger.stores import SQLiteStore
from tenure_ledger.stores.sqlite_unit import SQLiteUnit

__all__ = ["EVENTS_MAX", "POINTS", "follow_and_stop"]

EVENTS_MAX = 7

POINTS: dict[str, str | None] = {
    "before BEGIN": "BEGIN IMMEDIATE",
    "after BEGIN": 'SELECT "name", "position", "tables_json" FROM "followers"',
    "inside handle": None,
    "before the rows": 'INSERT INTO "seen"',
    "between two rows": 'INSERT INTO "saw"',
    "before the position": 'INSERT INTO "followers"',
    "before COMMIT": "COMMIT",
    "after COMMIT": None,
}
"""Each point is just before a statement, or None."""


class StoppingStore(SQLiteStore):
    """The real store; from the ``batch`` on it stops at the point."""

    def __init__(self, path: str, point: str, batch: int) -> None:
        self.point = point
        self.batch = batch
        self.begun = 0
        super().__init__(path, on_connect=self._watch)

    def armed(self, point: str) -> bool:
        """Say whether to stop at this point now."""
        return self.point == point and self.begun > self.batch

    def _watch(self, db: sqlite3.Connection) -> None:
        wanted = POINTS[self.point]

        def about_to_run(statement: str) -> None:
            # A look before the batch is no part of it: it runs on a reader.
            if wanted and statement.startswith(wanted) and self.armed(self.point):
                if self.point == "after BEGIN" and not db.in_transaction:
                    return
                stop(self.point)

        db.set_trace_callback(about_to_run)

    def write(self, deadline_seconds: float) -> SQLiteUnit:
        """Return a unit, which is one batch."""
        self.begun += 1
        unit = super().write(deadline_seconds)
        commit = unit.commit

        def commit_and_stop() -> None:
            commit()
            if self.armed("after COMMIT"):
                stop(self.point)

        setattr(unit, "commit", commit_and_stop)  # noqa: B010  mypy forbids a method
        return unit


class StoppingSaw(Saw):
    """Stops in the midst of an event, and between two."""

    def __init__(self, store: StoppingStore) -> None:
        self.store = store

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Keep the event; then stop, if that is the point."""
        super().handle(recorded, rows)
        if self.store.armed("inside handle"):
            stop(self.store.point)


def follow_and_stop(path: str, point: str, batch: int) -> None:
    """Follow the ledger at ``path``, and stop in that batch at the point."""
    store = StoppingStore(path, point, batch)
    follower = ledger_on(store).follower(
        StoppingSaw(store), events_max=EVENTS_MAX, seconds_max=60
    )
    follower.catch_up()
    stop("nowhere")
