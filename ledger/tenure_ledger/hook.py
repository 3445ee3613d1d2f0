"""What a ledger asks of tables that are written in the transaction of the events.

Pure shapes: the shell (`tenure_ledger.shell`) calls them for each command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from tenure_ledger.events import Recorded
from tenure_ledger.folds.stream import State
from tenure_ledger.rows import RowChange, Snapshot, TableSpec

__all__ = ["Change", "Tables"]


class Change(Struct, frozen=True):
    """What one command did to one stream."""

    before: State
    after: State
    events: Sequence[Recorded]
    """What it appended there, in order; positions are not given yet (0)."""


@runtime_checkable
class Tables(Protocol):
    """Tables that are written in the same transaction as the events."""

    @property
    def specs(self) -> Sequence[TableSpec]:
        """The tables, created when the ledger is set up."""
        ...

    def fill(self, snapshot: Snapshot, names: Sequence[str], /) -> Iterable[RowChange]:
        """Return the rows of these tables, which are new in a ledger with events."""
        ...

    def changes(
        self, changes: Sequence[Change], body: Callable[[str, str], bytes | None], /
    ) -> Iterable[RowChange]:
        """Return the row changes of one command, in the order to apply.

        ``body`` takes a stream and a digest and returns what is stored under it, the
        command's own bodies included, None when there is nothing.
        """
        ...
