"""The ways in which somebody would write the transaction by hand, through psycopg.

All but the bare one write what the ledger writes for one command: its event, the
command, and the rows of two tables, which lie ready before the clock starts. Positions
come from a sequence.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from itertools import cycle
from typing import Any

import psycopg
from psycopg import pq
from rounds import Took, Turn
from whole_rows import table_rows
from written import Session
from written_postgres import NOW, SPECS, Place, connect

__all__ = ["WAYS", "Statement", "Write", "prepared", "raw", "schema_for"]

Statement = tuple[bytes, Sequence[object]]
Write = Callable[[list[Statement]], None]
"""Writes one command's rows: statements with their values, as one transaction."""

_EVENT = (
    b"INSERT INTO stored_events (originator_id, originator_version, topic, state, hash)"
    b" VALUES (%s, %s, %s, %s, %s)"
)
_COMMAND = (
    b"INSERT INTO commands (stream, command_id, digest, first_version, outcome) "
    b"VALUES (%s, %s, %s, %s, %s)"
)


def _put(table: str) -> bytes:
    spec = SPECS[table]
    rest = [column for column in spec.columns if column not in spec.key]
    text = (
        f"INSERT INTO {table} ({', '.join(spec.columns)}) "  # noqa: S608
        f"VALUES ({', '.join(['%s'] * len(spec.columns))}) "
        f"ON CONFLICT ({', '.join(spec.key)}) DO UPDATE SET "
        + ", ".join(f"{column} = excluded.{column}" for column in rest)
    )
    return text.encode()


_PUTS = {name: _put(name) for name in SPECS}


def schema_for(place: Place, schema: str) -> None:
    """Let the server number the events, as a table made by hand would."""
    with closing(connect(place.conninfo, schema)) as db:
        db.execute("CREATE SEQUENCE positions")
        db.execute(
            "SELECT setval('positions', (SELECT max(position) FROM stored_events))"
        )
        db.execute(
            "ALTER TABLE stored_events ALTER position SET DEFAULT nextval('positions')"
        )


def prepared(session: Session) -> list[Statement]:
    """Return the statements of the session's next step."""
    event, command = session.step()
    changes = table_rows(session, NOW)
    puts = [(_PUTS[one.table], one.row or ()) for one in changes]
    return [(_EVENT, event[1:]), (_COMMAND, command), *puts]


def raw(
    place: Place,
    schema: str,
    sessions: Sequence[Session],
    way: Callable[[psycopg.Connection[Any]], Write],
    opened: ExitStack,
    ahead: deque[list[Statement]] | None = None,
) -> Turn:
    """Return turns of one way to write: first what lies ``ahead``."""
    write = way(opened.enter_context(closing(connect(place.conninfo, schema))))
    turn = cycle(sessions)

    def once() -> Took:
        statements = ahead.popleft() if ahead else prepared(next(turn))
        began, worked = time.perf_counter(), time.thread_time()
        write(statements)
        return Took(time.perf_counter() - began, time.thread_time() - worked)

    return once


def _bare(db: psycopg.Connection[Any]) -> Write:
    """Insert the event alone, by one statement that commits itself: the raw limit."""
    cursor = db.cursor()

    def write(statements: list[Statement]) -> None:
        cursor.execute(*statements[0], prepare=True)

    return write


def _execute(db: psycopg.Connection[Any]) -> Write:
    """Execute each statement by itself, between BEGIN and COMMIT."""
    cursor = db.cursor()

    def write(statements: list[Statement]) -> None:
        cursor.execute(b"BEGIN", prepare=True)
        for sql, values in statements:
            cursor.execute(sql, values, prepare=True)
        cursor.execute(b"COMMIT", prepare=True)

    return write


def _pipeline(db: psycopg.Connection[Any]) -> Write:
    """Send all statements in a pipeline, whose one sync commits them."""
    cursor = db.cursor()

    def write(statements: list[Statement]) -> None:
        with db.pipeline():
            for sql, values in statements:
                cursor.execute(sql, values, prepare=True)

    return write


def _one_statement(db: psycopg.Connection[Any]) -> Write:
    """Insert all rows by one statement, which commits itself."""
    cursor = db.cursor()
    joined: dict[tuple[bytes, ...], bytes] = {}

    def write(statements: list[Statement]) -> None:
        parts = tuple(sql for sql, _ in statements)
        sql = joined.get(parts)
        if sql is None:
            *first, last = parts
            rows = b", ".join(b"w%d AS (%b)" % pair for pair in enumerate(first))
            sql = joined[parts] = b"WITH %b %b" % (rows, last)
        values = [value for _, given in statements for value in given]
        cursor.execute(sql, values, prepare=True)

    return write


def _libpq(db: psycopg.Connection[Any]) -> Write:
    """Pipe it through libpq itself, values as bytes: without any cursor in between."""
    raw = db.pgconn
    names: dict[bytes, bytes] = {}
    for at, sql in enumerate((_EVENT, _COMMAND, *_PUTS.values())):
        *parts, last = sql.split(b"%s")
        numbered = (b"%b$%d" % (part, nth) for nth, part in enumerate(parts, 1))
        names[sql] = b"w%d" % at
        raw.prepare(names[sql], b"".join(numbered) + last)
    raw.enter_pipeline_mode()

    def write(statements: list[Statement]) -> None:
        for sql, values in statements:
            data = [_bytes(value) for value in values]
            formats = [int(isinstance(value, bytes)) for value in values]
            raw.send_query_prepared(names[sql], data, formats)
        raw.pipeline_sync()
        while (result := raw.get_result()) is None or (
            result.status != pq.ExecStatus.PIPELINE_SYNC
        ):
            if result is not None and result.status != pq.ExecStatus.COMMAND_OK:
                raise SystemExit(result.get_error_message())

    return write


def _bytes(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode()


WAYS: dict[str, Callable[[psycopg.Connection[Any]], Write]] = {
    "the event alone": _bare,
    "BEGIN, execute, COMMIT": _execute,
    "psycopg's pipeline, one sync": _pipeline,
    "one statement for all rows": _one_statement,
    "the pipeline on libpq itself": _libpq,
}
