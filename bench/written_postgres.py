"""A PostgreSQL server for the benchmark, and ledgers on it that are made fast.

The server is started as the tests start theirs, with `fsync` and `synchronous_commit`
on and all else as it comes; a client reaches it through a socket of the system. Big
ledgers are written by COPY: events, chain, commands and table rows are those that the
ledger itself would have written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, LiteralString, Protocol

import psycopg
from contenders import SESSIONS
from psycopg import sql
from whole_rows import table_rows
from written import Session

from tenure import Ledger, open_ledger
from tenure_ledger.rows import Column, CommandRow, EventRow, RowChange
from tenure_projections.tables import TABLES

__all__ = ["NOW", "SPECS", "Place", "connect", "running"]

_SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
NOW = "2026-01-01T12:30:15.123456Z"
SPECS = {table.spec.name: table.spec for table in TABLES}
_EVENT = "position, originator_id, originator_version, topic, state, hash"
_COMMAND = "stream, command_id, digest, first_version, outcome"
_HEAD = (
    "SELECT originator_version, hash FROM stored_events WHERE originator_id = %s "
    "ORDER BY originator_version DESC LIMIT 1"
)
_numbers = count(1)


class _Server(Protocol):
    """`Server` in the tests' module for it."""

    @property
    def url(self) -> str: ...

    def start(self, owner: int) -> None: ...

    def stop(self) -> None: ...


class Place:
    """One server; each ledger has a schema of its own."""

    def __init__(self, conninfo: str) -> None:
        self.conninfo = conninfo

    def url(self, schema: str) -> str:
        """Return what `open_ledger` takes."""
        joined = "&" if "?" in self.conninfo else "?"
        return f"{self.conninfo}{joined}schema={schema}"

    def build(
        self, streams: int, events: int, opener: Callable[[str], Ledger] = open_ledger
    ) -> tuple[str, list[Session]]:
        """Make a ledger of about ``events`` events; return its schema, its sessions."""
        schema = f"bench_{next(_numbers)}"
        with opener(self.url(schema)) as ledger:
            ledger.setup()
        sessions = [Session(number) for number in range(streams)]
        each = max(0, events // streams - 2)
        with closing(connect(self.conninfo, schema)) as db, db.transaction():
            _copy(db, "stored_events", _EVENT, _events(sessions, each))
            again = [Session(number) for number in range(streams)]
            _copy(db, "commands", _COMMAND, _commands(again, each))
            rows_of = _table_rows(streams, each) if opener is open_ledger else {}
            for name, rows in rows_of.items():
                _copy(db, name, ", ".join(SPECS[name].columns), rows)
        with closing(connect(self.conninfo, schema)) as db:
            db.execute("VACUUM ANALYZE")
            db.execute("CHECKPOINT")
        return schema, sessions

    def spread(self, schema: str) -> list[Session]:
        """Return sessions from all over the ledger, as far as it has them."""
        with closing(connect(self.conninfo, schema)) as db:
            (streams,) = _row(db, "SELECT count(*) FROM recovery_owners")
            numbers = range(0, streams, max(1, streams // SESSIONS))[:SESSIONS]
            sessions = [Session(number) for number in numbers]
            for session in sessions:
                head = _row(db, _HEAD, session.owner.stream)
                session.version, session.hash = head
        return sessions


@contextmanager
def running(folder: Path) -> Generator[Place]:
    """Start a server in the folder; it ends with the block, or with this process."""
    server = _made(folder)
    server.start(os.getpid())
    try:
        yield Place(server.url)
    finally:
        server.stop()


def _made(folder: Path) -> _Server:
    sys.path.insert(0, str(_SUPPORT))
    try:
        # The tests' own; this benchmark bears the same name.
        sys.modules.pop("postgres", None)
        make: Callable[[Path], _Server] = import_module("postgres").Server
    finally:
        sys.path.remove(str(_SUPPORT))
    return make(folder)


def connect(conninfo: str, schema: str) -> psycopg.Connection[Any]:
    """Open a connection as somebody would who writes the statements by hand."""
    db = psycopg.connect(conninfo, autocommit=True)
    db.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))
    db.execute("SET TimeZone TO 'UTC'")
    return db


def _row(
    db: psycopg.Connection[Any], query: LiteralString, *values: object
) -> tuple[Any, ...]:
    found: tuple[Any, ...] | None = db.execute(query, values).fetchone()
    if found is None:
        raise SystemExit("the ledger was not built")
    return found


def _copy(
    db: psycopg.Connection[Any], table: str, columns: str, rows: Iterable[Sequence[Any]]
) -> None:
    copying = f"COPY {table} ({columns}) FROM STDIN"
    with db.cursor().copy(copying.encode()) as copy:
        for row in rows:
            copy.write_row(row)


def _events(sessions: list[Session], each: int) -> Iterator[EventRow]:
    # Positions below every transaction id that the server still gives.
    at = count(1)
    for session in sessions:
        for event, _ in session.claim():
            yield event._replace(position=next(at))
        for _ in range(each):
            yield session.step()[0]._replace(position=next(at))


def _commands(sessions: list[Session], each: int) -> Iterator[CommandRow]:
    for session in sessions:
        for _, command in session.claim():
            if command is not None:
                yield command
        for _ in range(each):
            yield session.step()[1]


def _table_rows(streams: int, each: int) -> dict[str, Iterable[Sequence[Any]]]:
    return {
        "chat_executions": _last(streams, each, "chat_executions"),
        "recovery_owners": _last(streams, each, "recovery_owners"),
    }


def _last(streams: int, each: int, table: str) -> Iterator[Sequence[Any]]:
    """Yield the rows of a table as the last step that touched them left them."""
    for number in range(streams):
        session = Session(number)
        owner = ("session", session.owner.owner_id)
        held = (*owner, 1, session.agent_id, None, NOW, None, None)
        first = RowChange("recovery_owners", owner, held)
        rows: dict[tuple[Column, ...], RowChange] = {owner: first}
        for version in range(2, each + 2):
            session.version = version
            made = table_rows(session, NOW, prefix="msg")
            rows.update((one.key, one) for one in made)
        for change in rows.values():
            if change.table == table and change.row is not None:
                yield change.row
