"""Other processes for tests that share a database with them, store at hand."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from workshop import Hand, hand

__all__ = ["Other", "other"]

Other = Hand

PRELUDE = """
import os, signal, sys
from stored import append, append_next, event
from tenure_ledger.errors import *
from tenure_ledger.rows import *
from tenure_ledger.stores import SQLiteStore, open_store
url = url if "://" in url else f"sqlite:///{url}"
store = open_store(url)
"""


def other(script: str, path: Path | str) -> AbstractContextManager[Hand]:
    """Run a script with the store of a path, or URL, open in another process."""
    return hand(str(path), script, PRELUDE)
