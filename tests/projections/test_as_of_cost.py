"""The past of one owner costs what its own stream is long, however long the ledger is.

Counted are the steps of SQLite's machine: the same work takes the same steps.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from tenure import First, OwnerRef
from tenure_ledger.shell import Shell
from tenure_ledger.stores import SQLiteStore
from tenure_projections.ledger import Ledger
from tenure_projections.live import LiveTables
from tenure_projections.tables import TABLES

S = OwnerRef("session", "ses_1")


class Counted:
    """A ledger on a real file that counts what SQLite does."""

    def __init__(self, path: Path) -> None:
        tables = LiveTables()
        self.steps = 0
        self.store = SQLiteStore(
            path,
            durability="normal",
            tables=tables.specs,
            fill=tables.fill,
            on_connect=self._watch,
        )
        self.ledger = Ledger(
            Shell(
                self.store,
                clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
                process=lambda: "host",
                deadline_seconds=30.0,
                tables=tables,
            )
        )

    def _watch(self, db: sqlite3.Connection) -> None:
        def count() -> None:
            self.steps += 1

        db.set_progress_handler(count, 1)

    def write(self, others: int) -> None:
        """Write one owner's stream, and those of others before, between and behind."""
        self._others(0, others)
        one = self.ledger.claim(S, "a", "host", first=First("m1", "human"))
        self._others(1, others)
        for number in range(20):
            self.ledger.accept(S, f"n{number}", "inbox")
        self.ledger.start(one, "m1")
        self._others(2, others)

    def _others(self, when: int, others: int) -> None:
        for number in range(others):
            owner = OwnerRef("session", f"other {when} {number}")
            self.ledger.claim(owner, f"b {when} {number}", "host")

    def read(self, at: int, since: int) -> tuple[int, object]:
        """Read the owner's past; return the steps that it took, and what was seen."""
        self.ledger.owner(S)
        self.steps = 0
        past = self.ledger.as_of(at)
        seen = (
            past.owner(S),
            [list(past.rows(table.spec.name, S)) for table in TABLES],
            list(self.ledger.diff(since, at, owner=S)),
        )
        return self.steps, seen


def position(counted: Counted, version: int) -> int:
    """Return the position of one of the owner's events."""
    return counted.ledger.history(S)[version - 1].position


def test_the_past_of_one_owner_costs_the_same_in_a_ledger_of_any_length(
    tmp_path: Path,
) -> None:
    steps: list[int] = []
    seen: list[object] = []
    for others in (2, 400):
        counted = Counted(tmp_path / f"{others}.db")
        with counted.ledger:
            counted.write(others)
            took, what = counted.read(position(counted, 15), position(counted, 6))
            steps.append(took)
            seen.append(what)
            # Sometimes: reading everything costs more, so the steps do count.
            counted.steps = 0
            list(counted.ledger.as_of(position(counted, 15)).rows("recovery_owners"))
            assert (counted.steps > 3 * took) == (others > 2)
    assert steps[0] == steps[1] > 0
    assert str(seen[0]).count("n5") == str(seen[1]).count("n5") > 0
