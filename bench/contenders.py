"""The contenders: hand-written transactions, and the ledger, on files of their own."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Self

from figures import Figures
from plain import open_plain
from rounds import Took, Turn, together
from steps import Steps, timed_raw
from written import INSERT_COMMAND, INSERT_EVENT, Session, build, connect

from tenure import Ledger

__all__ = ["SESSIONS", "Crowd", "Field", "read_raw", "resumed", "turns"]


SESSIONS = 64
"""Sessions that are at work; all others of a store only lie there."""


class Field:
    """A small and a big store, each twice: for the ledger, and to write by hand."""

    def __init__(self, folder: Path, big: Path) -> None:
        small = folder / "small.db"
        build(small, SESSIONS, 0)
        self._paths: dict[tuple[str, str], Path] = {}
        for size, path in (("small", small), ("big", big)):
            for kind in ("raw", "ours"):
                copy = folder / f"{size}-{kind}.db"
                shutil.copyfile(path, copy)
                self._paths[size, kind] = copy
        self._big = big
        self._ledgers: dict[str, Ledger] = {}
        self._connections: dict[str, sqlite3.Connection] = {}
        self._sessions: dict[tuple[str, str], list[Session]] = {}

    def __enter__(self) -> Self:
        for size in ("small", "big"):
            path = self._paths[size, "ours"]
            ledger = self._ledgers[size] = open_plain(f"sqlite:///{path}")
            raw = connect(self._paths[size, "raw"])
            self._connections[size] = raw
            count = raw.execute("SELECT count(*) FROM commands").fetchone()[0]
            streams = max(SESSIONS, self._streams(raw))
            numbers = range(0, streams, max(1, streams // SESSIONS))[:SESSIONS]
            for kind in ("raw", "ours"):
                sessions = [resumed(raw, number) for number in numbers]
                self._sessions[size, kind] = sessions
            for session in self._sessions[size, "ours"]:
                ledger.owner(session.owner)  # the state is in memory from here on
            if not count:
                raise SystemExit("the store was not built")
        return self

    def __exit__(self, *_: object) -> None:
        for ledger in self._ledgers.values():
            ledger.close()
        for connection in self._connections.values():
            connection.close()
        for path in self._paths.values():
            path.unlink()

    def _streams(self, db: sqlite3.Connection) -> int:
        query = "SELECT count(*) FROM stored_events WHERE originator_version = 1"
        return int(db.execute(query).fetchone()[0]) // 2

    def raw(self, size: str) -> Turn:
        """Return a turn of the hand-written transaction; it returns its times."""
        db, sessions = self._connections[size], self._sessions[size, "raw"]
        turn = cycle(sessions)

        def write() -> Took:
            event, command = next(turn).step()
            row = (None, *event[1:])
            began, worked = time.perf_counter(), time.thread_time()
            db.execute("BEGIN IMMEDIATE")
            db.execute(INSERT_EVENT, row)
            db.execute(INSERT_COMMAND, command)
            db.execute("COMMIT")
            return Took(time.perf_counter() - began, time.thread_time() - worked)

        return write

    def ours(self, size: str, *, with_id: bool = False) -> Turn:
        """Return a turn of the ledger: one command by a method of its public face."""
        sessions = self._sessions[size, "ours"]
        half = sessions[1::2] if with_id else sessions[::2]
        return turns(self._ledgers[size], half, with_id=with_id)

    def check_sizes(self) -> None:
        """Stop unless both kinds wrote rows of the same size."""
        query = (
            "SELECT topic, avg(length(state)) FROM (SELECT topic, state FROM "
            "stored_events ORDER BY position DESC LIMIT 300) GROUP BY topic"
        )
        sizes: dict[str, dict[str, float]] = {}
        for kind in ("raw", "ours"):
            with closing(connect(self._paths["small", kind])) as db:
                sizes[kind] = dict(db.execute(query).fetchall())
        for topic, size in sizes["raw"].items():
            if abs(size - sizes["ours"].get(topic, 0.0)) > 0.02 * size:
                raise SystemExit(f"rows differ in size: {sizes}")

    def breakdown(self, rounds: int) -> list[tuple[str, str, str]]:
        """Return the p50 of every step of a command, ours beside raw."""
        steps = {name: Figures() for name in ("begin", "insert", "commit", "whole")}
        db, sessions = self._connections["small"], self._sessions["small", "raw"]
        turn = cycle(sessions)
        held = self._sessions["small", "ours"]
        ours = turns(self._ledgers["small"], held, with_id=False, prefix="clk")
        ours_steps = Steps()
        for _ in range(rounds):
            event, command = next(turn).step()
            timed_raw(db, event, command, steps)
            with ours_steps:
                ours_steps.whole.add(ours().wall)
        lines: list[tuple[str, str, str]] = []
        for name, what, figures in ours_steps.lines():
            raw = f"{steps[name].p50 * 1e6:.0f}" if name in steps else ""
            lines.append((what, f"{figures.p50 * 1e6:.0f}", raw))
        return lines


class Crowd:
    """Many threads of one process, each at work on a session of its own."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._ours, self._raw = folder / "crowd.db", folder / "crowd-raw.db"
        self._sessions = build(self._ours, threads, 0)
        self._raw_sessions = build(self._raw, threads, 0)

    def __enter__(self) -> Self:
        self._ledger = open_plain(f"sqlite:///{self._ours}")
        for session in self._sessions:
            self._ledger.owner(session.owner)
        self._db = connect(self._raw)
        self._turns = [
            turns(self._ledger, [session], with_id=False) for session in self._sessions
        ]
        self._raw_turn = cycle(self._raw_sessions)
        return self

    def __exit__(self, *_: object) -> None:
        self._ledger.close()
        self._db.close()

    def raw(self, count: int) -> float:
        """Return the rate of single commits by hand."""
        rows = [next(self._raw_turn).step() for _ in range(count)]
        began = time.perf_counter()
        for event, command in rows:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(INSERT_EVENT, (None, *event[1:]))
            self._db.execute(INSERT_COMMAND, command)
            self._db.execute("COMMIT")
        return count / (time.perf_counter() - began)

    def ours(self, each: int) -> float:
        """Return the rate of all threads together, ``each`` commands per thread."""
        return together(self._turns, each)


def turns(
    ledger: Ledger, sessions: list[Session], *, with_id: bool, prefix: str = "new"
) -> Turn:
    """Return turns of admit, start, settle, message by message, session by session."""
    turn = cycle(sessions)
    done = dict.fromkeys(range(len(sessions)), 0)
    places = {id(session): at for at, session in enumerate(sessions)}

    def write() -> Took:
        session = next(turn)
        place = places[id(session)]
        number, phase = divmod(done[place], 3)
        done[place] += 1
        key = f"{prefix}_{number:08d}"
        authority = session.authority
        chosen = f"{key}-{phase}-by-the-caller-and-long" if with_id else None
        began, worked = time.perf_counter(), time.thread_time()
        if phase == 0:
            ledger.admit(authority, key, "assistant_run", command_id=chosen)
        elif phase == 1:
            ledger.start(authority, key, command_id=chosen)
        else:
            ledger.settle(authority, key, "completed", command_id=chosen)
        return Took(time.perf_counter() - began, time.thread_time() - worked)

    return write


def resumed(db: sqlite3.Connection, number: int) -> Session:
    """Return a session as far as the store has it."""
    session = Session(number)
    version, hashed = db.execute(
        "SELECT originator_version, hash FROM stored_events WHERE originator_id = ? "
        "ORDER BY originator_version DESC LIMIT 1",
        (session.owner.stream,),
    ).fetchone()
    session.version, session.hash = version, hashed
    return session


def read_raw(path: Path) -> float:
    """Return the rate at which one SELECT reads all rows."""
    query = (
        "SELECT position, originator_id, originator_version, topic, state, hash "
        "FROM stored_events ORDER BY position"
    )
    with closing(connect(path)) as db:
        began = time.perf_counter()
        count = sum(1 for _ in db.execute(query))
        return count / (time.perf_counter() - began)
