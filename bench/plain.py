"""The ledger without the tables: what events, commands and chain cost alone."""

from __future__ import annotations

from tenure import Ledger
from tenure_ledger.opening import open_shell

__all__ = ["open_plain"]


def open_plain(url: str) -> Ledger:
    """Return the ledger at ``url``, with no table beside its events."""
    return Ledger(open_shell(url))
