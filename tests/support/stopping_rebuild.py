"""A rebuild that stops at a named point, to be killed there.

SQLite itself says which statement is about to run, as in `stopping`.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from stopping import stop
from tenure import Ledger
from tenure_ledger.shell import Shell
from tenure_ledger.stores import SQLiteStore
from tenure_ledger.stores.sqlite_unit import SQLiteUnit
from tenure_projections.ledger import Ledger as FullLedger
from tenure_projections.live import LiveTables

__all__ = ["POINTS", "TABLE", "open_plain", "rebuild_and_stop"]

TABLE = "chat_executions"
POINTS: dict[str, tuple[str, int]] = {
    "before the fold": ("SELECT coalesce(max(position)", 1),
    "in the fold": ("SELECT position, originator_version", 3),
    "before the comparison": ('SELECT "recovery_class", "session_id"', 1),
    "before the unit": ("BEGIN IMMEDIATE", 1),
    "in the unit": ('DELETE FROM "chat_executions"', 1),
    "between two rows of the unit": ('INSERT INTO "chat_executions"', 2),
    "before COMMIT": ("COMMIT", 1),
    "after COMMIT": ("", 0),
}
"""Each is just before the statement that begins so is run for that time."""


class StoppingStore(SQLiteStore):
    """The real store; `arm` names the point at which it stops."""

    def __init__(self, path: str | Path) -> None:
        self._point = ""
        self._count = 0
        tables = LiveTables()
        super().__init__(
            path, tables=tables.specs, fill=tables.fill, on_connect=self._watch
        )

    def arm(self, point: str) -> None:
        """Stop there from now on."""
        self._point = point

    def _watch(self, db: sqlite3.Connection) -> None:
        db.set_trace_callback(self._about_to_run)

    def _about_to_run(self, statement: str) -> None:
        begins, times = POINTS.get(self._point, ("", 0))
        if begins and statement.startswith(begins):
            self._count += 1
            if self._count == times:
                stop(self._point)

    def write(self, deadline_seconds: float) -> SQLiteUnit:
        """Return a unit that stops once it is committed, if that is the point."""
        unit = super().write(deadline_seconds)
        commit = unit.commit

        def commit_and_stop() -> None:
            commit()
            if self._point == "after COMMIT":
                stop(self._point)

        setattr(unit, "commit", commit_and_stop)  # noqa: B010  mypy forbids a method
        return unit


def open_plain(path: str | Path) -> tuple[Ledger, StoppingStore]:
    """Open a ledger with all tables on a store that can stop."""
    store = StoppingStore(path)
    shell = Shell(
        store,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        process=lambda: "host",
        deadline_seconds=30.0,
        tables=LiveTables(),
    )
    return FullLedger(shell), store


def rebuild_and_stop(path: str, point: str) -> None:
    """Rebuild the table of the ledger at ``path`` and stop at the point."""
    ledger, store = open_plain(path)
    ledger.head()
    store.arm(point)
    ledger.rebuild(TABLE)
    stop("nowhere")
