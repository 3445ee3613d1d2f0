"""Clocks around the steps of a command, to say where its time goes."""

from __future__ import annotations

import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Self

from figures import Figures
from written import INSERT_COMMAND, INSERT_EVENT

from tenure_ledger import shell
from tenure_ledger.codec import check_columns
from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load, parse
from tenure_ledger.rows import CommandRow, EventRow, row_hash
from tenure_ledger.stores.sqlite import SQLiteStore
from tenure_ledger.stores.sqlite_unit import SQLiteUnit
from tenure_ledger.stores.sqlite_writer import Writer
from tenure_ledger.verification import verify

__all__ = ["Steps", "replayed", "timed_raw"]


class Steps:
    """Puts a clock around each step of a command while it is entered."""

    _PLACES: ClassVar[Sequence[tuple[str, str, object, str]]] = (
        ("begin", "turn and BEGIN IMMEDIATE", Writer, "begin"),
        ("head", "read the head, advance the state", shell, "caught_up"),
        ("decide", "decide and fold", shell, "decide"),
        ("seal", "seal: ids, JSON, hash chain, digest, outcome", shell, "seal"),
        ("insert", "insert the rows", SQLiteUnit, "add"),
        ("commit", "COMMIT", SQLiteUnit, "commit"),
    )

    def __init__(self) -> None:
        self.whole = Figures()
        self._steps = {step: Figures() for step, _, _, _ in self._PLACES}

    def __enter__(self) -> Self:
        self._saved = [getattr(at, name) for _, _, at, name in self._PLACES]
        for (step, _, at, name), plain in zip(self._PLACES, self._saved, strict=True):
            setattr(at, name, self._clocked(step, plain))
        return self

    def __exit__(self, *_problem: object) -> None:
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
        found = [(step, what, self._steps[step]) for step, what, _, _ in self._PLACES]
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


def replayed(path: Path, count: int) -> list[tuple[str, str]]:
    """Return what each step of reading ``count`` events again takes, for one event."""
    with closing(SQLiteStore(path)) as store:
        began = time.perf_counter()
        for _ in store.events(0, count):
            pass
        read = time.perf_counter() - began
        rows = list(store.events(0, count))
        began = time.perf_counter()
        problem = verify(store).problem
        whole = (time.perf_counter() - began) * len(rows) / store.head_position()
    if problem is not None:
        raise SystemExit(problem.text)
    steps = {
        "read the rows": read,
        "check their columns": _timed(check_columns, ((row,) for row in rows)),
        "hash them": _timed(row_hash, (row[1:5] for row in rows)),
        "decode them (msgspec)": _timed(parse, ((row,) for row in rows)),
    }
    steps["chain, commands and head (the rest)"] = whole - sum(steps.values())
    steps["verify(), all of these"] = whole
    streams: defaultdict[str, list[EventRow]] = defaultdict(list)
    for row in rows:
        streams[row.stream].append(row)
    folded = _timed(load, ((State(name), held) for name, held in streams.items()))
    steps["decode and fold, as opening a stream does"] = folded
    return [(what, f"{took / len(rows) * 1e6:.1f}") for what, took in steps.items()]


def _timed(call: Callable[..., object], inputs: Iterable[Sequence[object]]) -> float:
    given = list(inputs)
    began = time.perf_counter()
    for each in given:
        call(*each)
    return time.perf_counter() - began
