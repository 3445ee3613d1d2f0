"""All rows of a table, whatever the store."""

from __future__ import annotations

from tenure_ledger.rows import Column, Store

__all__ = ["table_rows"]


def table_rows(store: Store, table: str) -> list[tuple[Column, ...]]:
    """Return all rows by key, as of one moment."""
    with store.snapshot() as snapshot:
        return list(snapshot.rows(table))
