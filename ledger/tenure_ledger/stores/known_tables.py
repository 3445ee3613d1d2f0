"""Which tables a store has beside the ledger's own, and who keeps them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from tenure_ledger.columns import taken_table, unknown_table
from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import Fill, TableSpec

__all__ = ["REMEDY", "KnownTables", "listed", "quote"]

REMEDY = (
    "A table beside the events holds nothing of its own: `tenure rebuild` makes it "
    "anew. That of a read model: drop it, and its follower makes it again. For "
    "stored_events, commands or payloads restore a backup."
)
"""What to do about a table that somebody altered."""


class KnownTables:
    """The tables that a store was opened with, and those that were defined later."""

    def __init__(
        self, specs: Sequence[TableSpec] = (), fill: Fill | None = None
    ) -> None:
        self.kept = tuple(specs)
        """Those that every writer keeps in the transaction of its events."""
        self.fill = fill
        self.lacking: frozenset[str] = frozenset()
        """Those that the ledger's writers keep and this store was not given."""
        self._others: dict[str, TableSpec] = {}
        self._there = set[str]()
        """Those of them that were made, or found."""
        self._specs = {spec.name: spec for spec in specs}

    @contextmanager
    def defining(self, specs: Sequence[TableSpec]) -> Generator[None]:
        """Know further tables, which the block makes; it fails: know them no more.

        Raises InvalidInput for a name that is taken.
        """
        new = [spec for spec in specs if spec not in self.others]
        names = {spec.name for spec in specs}
        there = self._there & names
        for spec in specs:
            if self._specs.get(spec.name, spec) != spec:
                raise taken_table(spec.name)
        self._others.update((spec.name, spec) for spec in specs)
        self._specs.update((spec.name, spec) for spec in specs)
        self.know_anew()
        self._there -= names
        try:
            yield
        except BaseException:
            # What could not be made is nothing that others have to wait for.
            self._forget(new)
            self._there |= there
            raise
        self._there |= names

    def know_anew(self) -> None:
        """Forget the statements that were made for other tables of these names."""

    @property
    def others(self) -> tuple[TableSpec, ...]:
        """Those that their own writers keep."""
        return tuple(self._others.values())

    @property
    def wanted(self) -> tuple[TableSpec, ...]:
        """Those of them that are being defined: made if they are missing.

        One that was there and is no more has lost what its writer put.
        """
        return tuple(spec for spec in self.others if spec.name not in self._there)

    def is_kept(self, table: str) -> bool:
        """Say whether every writer writes it."""
        return any(spec.name == table for spec in self.kept)

    def spec(self, table: str) -> TableSpec:
        """Return the table of that name. Raises InvalidInput."""
        spec = self._specs.get(table)
        if spec is None:
            raise unknown_table(table)
        return spec

    def check_all_kept(self, name: str) -> None:
        """Raise StoreUnavailable if a command would leave tables behind its events."""
        if self.lacking:
            raise StoreUnavailable(
                f"The writers of {name} keep tables beside its events "
                f"({', '.join(sorted(self.lacking))}), which this one was not given: "
                "open it with tenure.open_ledger. Nothing was written."
            )

    def _forget(self, specs: Sequence[TableSpec]) -> None:
        gone = {spec.name for spec in specs} - {spec.name for spec in self.kept}
        for name in gone:
            self._others.pop(name, None)
            self._specs.pop(name, None)


def quote(name: str) -> str:
    """Return an identifier as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    """Return identifiers as a list in SQL."""
    return ", ".join(quote(name) for name in names)
