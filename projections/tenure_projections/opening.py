"""Open a ledger with its tables."""

from __future__ import annotations

from tenure_ledger.clock import Clock
from tenure_ledger.opening import open_shell
from tenure_projections.ledger import Ledger
from tenure_projections.live import LiveTables

__all__ = ["open_ledger"]


def open_ledger(
    url: str | None = None,
    *,
    process: str | None = None,
    clock: Clock | None = None,
    deadline_seconds: float = 30.0,
) -> Ledger:
    """Return the ledger at ``url``; nothing is read or written before its first use.

    ``sqlite:///relay.db`` (``?durability=normal`` may lose the last commits at a power
    cut), ``postgresql://user@host/database`` (in the schema that ``?schema=`` or
    ``TENURE_SCHEMA`` names, default ``agent``), ``memory://``, or None for the
    environment's ``TENURE_URL``. ``process`` names this run of this process (default:
    host, boot, process id space, process id and its start). ``clock`` returns the time
    with a zone. No call waits longer than ``deadline_seconds`` for other writers: then
    it raises `Contended` (nothing was written), or `OutcomeUnknown` when its commit was
    already on its way. Raises `InvalidInput`.
    """
    return Ledger(
        open_shell(
            url,
            process=process,
            clock=clock,
            deadline_seconds=deadline_seconds,
            tables=LiveTables(),
        )
    )
