"""Open a ledger by URL."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from tenure_ledger.clock import Clock
from tenure_ledger.errors import InvalidInput
from tenure_ledger.hook import Tables
from tenure_ledger.process import process_name
from tenure_ledger.shell import Shell
from tenure_ledger.stores import open_store
from tenure_ledger.values import check_id, check_seconds

__all__ = ["open_shell"]


def open_shell(
    url: str | None,
    *,
    process: str | None = None,
    clock: Clock | None = None,
    deadline_seconds: float = 30.0,
    tables: Tables | None = None,
) -> Shell:
    """Return what a ledger runs its commands in; nothing is read or written yet.

    ``tables`` are written in the same transaction as the events. The rest is said in
    `tenure_projections.opening.open_ledger`. Raises `InvalidInput`.
    """
    if process is not None:
        process = check_id("process", process)
    deadline = check_seconds("deadline_seconds", deadline_seconds)
    if deadline is None:
        msg = "deadline_seconds must be a number of seconds"
        raise InvalidInput(msg)
    if clock is not None and not callable(clock):
        msg = f"clock must be callable, not {type(clock).__name__}"
        raise InvalidInput(msg)
    if tables is not None and not isinstance(tables, Tables):
        msg = f"tables must have specs, fill and changes, not {type(tables).__name__}"
        raise InvalidInput(msg)
    if tables is None:
        store = open_store(url)
    else:
        store = open_store(url, tables.specs, tables.fill)
    return Shell(
        store,
        clock=clock or partial(datetime.now, UTC),
        process=process_name if process is None else lambda: process,
        deadline_seconds=deadline,
        tables=tables,
    )
