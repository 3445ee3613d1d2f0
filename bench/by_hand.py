"""The transactions that somebody would write by hand: rows made before, and made there.

Both write what the ledger writes for one command: its event, the command, and the rows
of two tables. They are written to be quick: a row that is there is updated where it
changes, what is NULL is not bound, and nothing is asked twice.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from hashlib import sha256
from itertools import cycle
from pathlib import Path

import msgspec
from contenders import SESSIONS, resumed
from rounds import Took, Turn
from written import INSERT_COMMAND, Session, build, connect

from tenure import Authority, open_ledger
from tenure_projections.tables import TABLES

__all__ = ["check_rows", "fenced", "raw"]

_Write = tuple[str, Sequence[object]]

_INSERT_EVENT = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state, hash) "
    "VALUES (?, ?, ?, ?, ?)"
)
_HEAD = (
    "SELECT e.originator_version, e.hash, o.generation, o.agent_id "
    "FROM stored_events e, recovery_owners o "
    "WHERE e.originator_id = ? AND o.recovery_class = ? AND o.owner_id = ? "
    "ORDER BY e.originator_version DESC LIMIT 1"
)
_ROW = (
    "WHERE recovery_class = ? AND session_id = ? AND physical_user_message_id = ? "
    "AND incarnation = ? AND status = "
)
_ADMIT = (
    "INSERT INTO chat_executions (recovery_class, session_id, "
    "physical_user_message_id, incarnation, status, origin, human, term, generation, "
    "admitted_version, known_at, admitted_at) "
    "VALUES (?, ?, ?, ?, 'admitted', 'assistant_run', 0, 1, ?, ?, ?, ?)"
)
_START = (
    "UPDATE chat_executions SET status = 'started', started_version = ?, "  # noqa: S608
    f"started_at = ? {_ROW}'admitted'"
)
_SETTLE = (
    "UPDATE chat_executions SET status = 'settled', outcome = 'completed', "  # noqa: S608
    f"settled_version = ?, ended_at = ? {_ROW}'started'"
)
_WORKS_ON = (
    "UPDATE recovery_owners SET message_id = ? "
    "WHERE recovery_class = ? AND owner_id = ?"
)
_TOPICS = ("execution-admitted.v1", "execution-started.v1", "execution-settled.v1")
_ORIGINS = ("assistant_run", None, None)
_OUTCOMES = (None, None, "completed")
_READY_AT = "2026-01-01T12:30:15.123456Z"


def raw(path: Path, opened: ExitStack) -> Turn:
    """Return the least: the rows lie ready, and are only written."""
    db, sessions = _open(path, opened)
    turn = cycle(sessions)

    def write() -> Took:
        session = next(turn)
        event, command = session.step()
        key = f"new_{(session.version - 2) // 3:08d}"
        writes: list[_Write] = [
            (_INSERT_EVENT, event[1:]),
            (INSERT_COMMAND, command),
            *_table_writes(session.authority, key, session.version, _READY_AT),
        ]
        began, worked = time.perf_counter(), time.thread_time()
        db.execute("BEGIN IMMEDIATE")
        for sql, values in writes:
            db.execute(sql, values)
        db.execute("COMMIT")
        return Took(time.perf_counter() - began, time.thread_time() - worked)

    return write


def fenced(path: Path, opened: ExitStack) -> Turn:
    """Return what one would have to write: fence, ids, JSON and chain made there."""
    db, sessions = _open(path, opened)
    turn = cycle(sessions)

    def write() -> Took:
        session = next(turn)
        number, phase = divmod(session.version - 1, 3)
        key, authority = f"new_{number:08d}", session.authority
        began, worked = time.perf_counter(), time.thread_time()
        session.version = _command(db, authority, key, phase)
        return Took(time.perf_counter() - began, time.thread_time() - worked)

    return write


class _Header(msgspec.Struct, omit_defaults=True):
    event_id: str
    command_id: str
    author: str | None
    generation: int
    fenced: bool
    recorded_at: str
    key: str
    previous_hash: str = ""
    origin: str | None = None
    outcome: str | None = None


_encode = msgspec.json.Encoder().encode


def _command(db: sqlite3.Connection, authority: Authority, key: str, phase: int) -> int:
    """Admit, start or settle a message; return the version of the event."""
    event_id, command_id = _new_id(), os.urandom(16).hex()
    at = datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
    header = _Header(
        event_id,
        command_id,
        authority.agent_id,
        authority.generation,
        fenced=True,
        recorded_at=at,
        key=key,
        origin=_ORIGINS[phase],
        outcome=_OUTCOMES[phase],
    )
    db.execute("BEGIN IMMEDIATE")
    try:
        version = _write(db, authority, header, _TOPICS[phase])
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return version


def _write(
    db: sqlite3.Connection, authority: Authority, header: _Header, topic: str
) -> int:
    owner, key, incarnation = authority.owner, header.key, authority.incarnation
    stream = owner.stream
    found = db.execute(_HEAD, (stream, owner.recovery_class, owner.owner_id))
    before, previous, *held = found.fetchone()
    if held != [authority.generation, authority.agent_id]:
        raise SystemExit("somebody else holds the session")
    version = int(before) + 1
    changed, *others = _table_writes(authority, key, version, header.recorded_at)
    if db.execute(*changed).rowcount != 1:
        raise SystemExit(f"{key} is not where it could be {topic}")
    for other in others:
        db.execute(*other)
    header.previous_hash = previous.hex()
    state = _encode(header)
    hashed = sha256(f"{stream}\0{version}\0{topic}\0".encode() + state).digest()
    digest = sha256(f"{topic}\0{key}\0{incarnation}".encode()).digest()
    db.execute(_INSERT_EVENT, (stream, version, topic, state, hashed))
    outcome = b'{"at":%d}' % version
    db.execute(INSERT_COMMAND, (stream, header.command_id, digest, version, outcome))
    return version


def _table_writes(
    authority: Authority, key: str, version: int, at: str
) -> list[_Write]:
    """Return the statements for the tables: of the message, then of the owner."""
    owner, phase = authority.owner, (version - 2) % 3
    named = (owner.recovery_class, owner.owner_id)
    row = (*named, key, authority.incarnation)
    message: _Write = (
        (_ADMIT, (*row, authority.generation, version, at, at)),
        (_START, (version, at, *row)),
        (_SETTLE, (version, at, *row)),
    )[phase]
    if phase == 1 or version == 2:  # noqa: PLR2004  the first admission
        return [message, (_WORKS_ON, (key, *named))]
    return [message]


def _new_id() -> str:
    """Return a UUID4 as text, in a third of the time that `uuid` takes."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}"
        f"-{variant}{digits[17:20]}-{digits[20:]}"
    )


def _open(path: Path, opened: ExitStack) -> tuple[sqlite3.Connection, list[Session]]:
    build(path, SESSIONS, 0)
    with open_ledger(f"sqlite:///{path}") as ledger:
        ledger.setup()
    db = opened.enter_context(closing(connect(path)))
    return db, [resumed(db, number) for number in range(SESSIONS)]


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
