"""PostgreSQL's own client beside a ledger: another program, or somebody's hand."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg

from tenure_ledger.rows import EventRow

__all__ = ["Client", "client", "insert_event"]

Client = psycopg.Connection[tuple[Any, ...]]

_INSERT = """
INSERT INTO stored_events
    (position, originator_id, originator_version, topic, state, hash)
VALUES (pg_current_xact_id()::text::bigint << 16, %s, %s, %s, %s, %s)
RETURNING position
"""


@contextmanager
def client(url: str, *, user: str = "postgres") -> Generator[Client]:
    """Open a connection that sees the schema of a test's URL."""
    place, _, schema = url.partition("&schema=")
    place = place.replace("user=postgres", f"user={user}")
    connection: Client = psycopg.connect(place, autocommit=True)
    try:
        connection.execute(f'SET search_path TO "{schema}"'.encode())
        yield connection
    finally:
        connection.close()


def insert_event(client: Client, row: EventRow) -> int:
    """Insert an event as a writer does; return its position."""
    client.execute("LOCK TABLE stored_events IN ROW EXCLUSIVE MODE")
    (position,) = client.execute(_INSERT, row[1:]).fetchone() or (0,)
    return int(position)
