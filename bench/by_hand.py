"""The transactions that somebody would write by hand: rows made before, and made there.

Both write what the ledger writes for one command: its event, the command, and the rows
of two tables.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from hashlib import sha256
from itertools import cycle
from pathlib import Path
from uuid import uuid4

from contenders import SESSIONS, resumed
from rounds import Took, Turn
from written import INSERT_COMMAND, INSERT_EVENT, Session, build, connect

from tenure import open_ledger
from tenure_ledger.rows import RowChange, TableSpec
from tenure_projections.tables import TABLES

__all__ = ["check_rows", "fenced", "raw", "table_rows"]

_TOPICS = ("execution-admitted.v1", "execution-started.v1", "execution-settled.v1")
_HEAD = (
    "SELECT originator_version, hash FROM stored_events WHERE originator_id = ? "
    "ORDER BY originator_version DESC LIMIT 1"
)
_HOLDER = (
    "SELECT generation, agent_id FROM recovery_owners "
    "WHERE recovery_class = ? AND owner_id = ?"
)


def raw(path: Path, opened: ExitStack) -> Turn:
    """Return the least: the rows lie ready, and are only written."""
    db, sessions = _open(path, opened)
    turn = cycle(sessions)

    def write() -> Took:
        session = next(turn)
        event, command = session.step()
        row = (None, *event[1:])
        changes = table_rows(session, "2026-01-01T12:30:15.123456Z")
        began, worked = time.perf_counter(), time.thread_time()
        db.execute("BEGIN IMMEDIATE")
        db.execute(INSERT_EVENT, row)
        db.execute(INSERT_COMMAND, command)
        for name, _, values in changes:
            db.execute(_PUTS[name], values or ())
        db.execute("COMMIT")
        return Took(time.perf_counter() - began, time.thread_time() - worked)

    return write


def fenced(path: Path, opened: ExitStack) -> Turn:
    """Return what one would have to write: fence, ids, JSON and chain made there."""
    db, sessions = _open(path, opened)
    turn = cycle(sessions)

    def write() -> Took:
        session = next(turn)
        stream, held = session.owner.stream, (1, session.agent_id)
        began, worked = time.perf_counter(), time.thread_time()
        event_id, command_id = str(uuid4()), str(uuid4())
        at = datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
        db.execute("BEGIN IMMEDIATE")
        version: int
        previous: bytes
        version, previous = db.execute(_HEAD, (stream,)).fetchone()
        if db.execute(_HOLDER, ("session", session.owner.owner_id)).fetchone() != held:
            raise SystemExit("somebody else holds the session")
        session.version = version + 1
        changes = table_rows(session, at)
        topic = _TOPICS[(version - 1) % 3]
        header: dict[str, object] = {
            "event_id": event_id,
            "command_id": command_id,
            "author": session.agent_id,
            "generation": 1,
            "fenced": True,
            "recorded_at": at,
            "previous_hash": previous.hex(),
            "key": changes[0].key[-1],
            **_MORE[topic],
        }
        state = json.dumps(header, separators=(",", ":")).encode()
        prefix = f"{stream}\0{session.version}\0{topic}\0".encode()
        hashed = sha256(prefix + state).digest()
        db.execute(INSERT_EVENT, (None, stream, session.version, topic, state, hashed))
        digest = sha256(f"{topic}\0{header['key']}".encode()).digest()
        outcome = json.dumps({"at": session.version}).encode()
        db.execute(
            INSERT_COMMAND, (stream, command_id, digest, session.version, outcome)
        )
        for name, _, values in changes:
            db.execute(_PUTS[name], values or ())
        db.execute("COMMIT")
        return Took(time.perf_counter() - began, time.thread_time() - worked)

    return write


_MORE: dict[str, dict[str, object]] = dict(
    zip(
        _TOPICS,
        ({"origin": "assistant_run"}, {}, {"outcome": "completed"}),
        strict=True,
    )
)


def _open(path: Path, opened: ExitStack) -> tuple[sqlite3.Connection, list[Session]]:
    build(path, SESSIONS, 0)
    with open_ledger(f"sqlite:///{path}") as ledger:
        ledger.setup()
    db = opened.enter_context(closing(connect(path)))
    return db, [resumed(db, number) for number in range(SESSIONS)]


def table_rows(session: Session, at: str, prefix: str = "new") -> list[RowChange]:
    """Return the rows of the session's latest step: admit, start or settle."""
    number, phase = divmod(session.version - 2, 3)
    versions = [session.version - phase + done for done in range(phase + 1)]
    admitted, started, settled = (*versions, None, None)[:3]
    key = ("session", session.owner.owner_id, f"{prefix}_{number:08d}")
    state = ("admitted", "started", "settled")[phase]
    outcome = "completed" if phase == 2 else None  # noqa: PLR2004  the third step
    row = (
        *key,
        *(state, outcome, "assistant_run", None, None, 0, 1, 1, session.incarnation),
        *(None, None, None, None, admitted, started, None, settled, None, None, None),
        *(at, at, at if started else None, at if settled else None),
    )
    changes = [RowChange("chat_executions", key, row)]
    if phase == 1 or session.version == 2:  # noqa: PLR2004  the first admission
        owner = ("session", session.owner.owner_id)
        held = (*owner, 1, session.agent_id, key[-1], at, None, None)
        changes.append(RowChange("recovery_owners", owner, held))
    return changes


def _put(spec: TableSpec) -> str:
    rest = [column for column in spec.columns if column not in spec.key]
    return (
        f"INSERT INTO {spec.name} ({', '.join(spec.columns)}) "  # noqa: S608
        f"VALUES ({', '.join('?' * len(spec.columns))}) "
        f"ON CONFLICT ({', '.join(spec.key)}) DO UPDATE SET "
        + ", ".join(f"{column} = excluded.{column}" for column in rest)
    )


_PUTS = {table.spec.name: _put(table.spec) for table in TABLES}


def check_rows(paths: list[Path]) -> None:
    """Stop unless all of them hold as many rows, of the same size."""
    columns = TABLES[3].spec.columns
    lengths = " + ".join(f"coalesce(length({column}), 0)" for column in columns)
    found: set[tuple[object, ...]] = set()
    for path in paths:
        with closing(connect(path)) as db:
            query = f"SELECT count(*), round(avg({lengths})) FROM chat_executions"  # noqa: S608
            found.add(db.execute(query).fetchone())
    if len(found) > 1:
        raise SystemExit(f"rows differ: {found}")
