"""Open a ledger by URL."""

from __future__ import annotations

from datetime import UTC, datetime

from tenure_ledger.errors import InvalidInput
from tenure_ledger.ledger import Ledger
from tenure_ledger.methods.base import check_seconds
from tenure_ledger.process import process_name
from tenure_ledger.shell import Clock, Shell, Tables
from tenure_ledger.stores import open_store
from tenure_ledger.values import check_id

__all__ = ["open_ledger"]


def open_ledger(
    url: str | None = None,
    *,
    process: str | None = None,
    clock: Clock | None = None,
    deadline_seconds: float = 30.0,
    tables: Tables | None = None,
) -> Ledger:
    """Return the ledger at ``url``; nothing is read or written before its first use.

    ``sqlite:///relay.db`` (``?durability=normal`` may lose the last commits at a power
    cut), ``memory://``, or None for the environment's ``TENURE_URL``. ``process`` names
    this run of this process (default: host, boot, process id and its start). ``clock``
    returns the time with a zone. No call waits longer than ``deadline_seconds`` for
    other writers: then it raises `Contended` (nothing was written), or `OutcomeUnknown`
    when its commit was already on its way. ``tables`` are written in the same
    transaction as the events. Raises `InvalidInput`.
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
        msg = f"tables must have specs and changes, not {type(tables).__name__}"
        raise InvalidInput(msg)
    store = open_store(url, tables.specs if tables is not None else ())
    shell = Shell(
        store,
        clock=clock or _now,
        process=process_name if process is None else lambda: process,
        deadline_seconds=deadline,
        tables=tables,
    )
    return Ledger(shell)


def _now() -> datetime:
    return datetime.now(UTC)
