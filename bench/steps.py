"""Clocks around the steps of a command, to say where its time goes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Self

from figures import Figures
from written import INSERT_COMMAND, INSERT_EVENT

from tenure_ledger import shell
from tenure_ledger.rows import CommandRow, EventRow
from tenure_ledger.stores.sqlite_unit import SQLiteUnit
from tenure_ledger.stores.sqlite_writer import Writer

__all__ = ["Steps", "timed_raw"]


class Steps:
    """Puts a clock around each step of a command while it is entered."""

    _PLACES: Sequence[tuple[str, str, object, str]] = (
        ("begin", "turn and BEGIN IMMEDIATE", Writer, "begin"),
        ("head", "read the head, advance the state", shell, "caught_up"),
        ("decide", "decide and fold", shell, "decide"),
        ("seal", "seal: ids, JSON, hash chain, digest, outcome", shell, "seal"),
        ("insert", "insert the rows", SQLiteUnit, "add"),
        ("commit", "COMMIT", SQLiteUnit, "commit"),
    )

    def __init__(self) -> None:
        self.whole = Figures()
        self._steps = {name: Figures() for name, *_ in self._PLACES}

    def __enter__(self) -> Self:
        self._saved = [getattr(at, name) for _, _, at, name in self._PLACES]
        for (step, _, at, name), plain in zip(self._PLACES, self._saved, strict=True):
            setattr(at, name, self._clocked(step, plain))
        return self

    def __exit__(self, *_: object) -> None:
        for (_, _, at, name), plain in zip(self._PLACES, self._saved, strict=True):
            setattr(at, name, plain)

    def _clocked(self, step: str, plain: Callable[..., object]) -> object:
        figures = self._steps[step]

        def clocked(*arguments: object) -> object:
            began = time.perf_counter()
            try:
                return plain(*arguments)
            finally:
                figures.add(time.perf_counter() - began)

        return clocked

    def lines(self) -> list[tuple[str, str, Figures]]:
        """Return step, what it is and its figures; last the whole command."""
        found = [(step, what, self._steps[step]) for step, what, *_ in self._PLACES]
        return [*found, ("whole", "the whole command, clocks included", self.whole)]


def timed_raw(
    db: sqlite3.Connection,
    event: EventRow,
    command: CommandRow,
    steps: dict[str, Figures],
) -> None:
    """Run the hand-written transaction with a clock around each of its steps."""
    marks = [time.perf_counter()]
    db.execute("BEGIN IMMEDIATE")
    marks.append(time.perf_counter())
    db.execute(INSERT_EVENT, (None, *event[1:]))
    db.execute(INSERT_COMMAND, command)
    marks.append(time.perf_counter())
    db.execute("COMMIT")
    marks.append(time.perf_counter())
    for name, one, two in zip(steps, marks, marks[1:], strict=False):
        steps[name].add(two - one)
    steps["whole"].add(marks[-1] - marks[0])
