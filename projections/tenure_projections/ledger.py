"""The ledger with its tables: read now, in the past, and proved by a rebuild."""

from __future__ import annotations

from collections.abc import Iterator

from tenure_ledger import ledger
from tenure_ledger.methods.base import check_owner
from tenure_ledger.rows import Column
from tenure_ledger.values import OwnerRef
from tenure_projections.tables import table_named

__all__ = ["Ledger"]


class Ledger(ledger.Ledger):
    """One durable, append-only record of who owns what, and what was decided.

    Made by `open_ledger`; safe to share between threads. Methods raise a kind of
    `Refused` when a rule says no (nothing was written, but for a late result) and a
    kind of `Fault` when something broke.
    """

    def rows(
        self, table: str, owner: OwnerRef | None = None
    ) -> Iterator[dict[str, Column]]:
        """Yield a table's rows as they are now, by key: one owner's, or all.

        All come from one moment, whatever is written meanwhile. Raises `InvalidInput`
        for a table that is none.
        """
        found = table_named(table)
        where = {} if owner is None else found.of_owner(check_owner(owner))
        return self._rows(found.spec.name, where)

    def _rows(
        self, table: str, where: dict[str, Column]
    ) -> Iterator[dict[str, Column]]:
        columns = table_named(table).spec.columns
        with self._shell.store.snapshot() as snapshot:
            for row in snapshot.rows(table, where):
                yield dict(zip(columns, row, strict=True))
