"""For commands that look at a ledger: none is made where there is none."""

from __future__ import annotations

from tenure_ledger.errors import InvalidInput
from tenure_ledger.stores import MemoryStore, open_store

__all__ = ["check_there"]


def check_there(url: str | None) -> None:
    """Raise `InvalidInput` rather than make a new ledger where there is none."""
    store = open_store(url)
    try:
        if isinstance(store, MemoryStore) or store.exists():
            return
        raise InvalidInput(f"there is no ledger at {store.path}")
    finally:
        store.close()
