"""What every store says about a table that it was not opened with."""

from __future__ import annotations

from tenure_ledger.errors import InvalidInput

__all__ = ["unknown_table"]


def unknown_table(table: str) -> InvalidInput:
    """Return the refusal of a table that no spec names.

    A caller asked for its rows, or the hook changed them: either way the specs decide.
    """
    return InvalidInput(
        f"This ledger has no table {table!r}: the specs of open_ledger(tables=) name "
        "every table that its changes write and that is read.",
        table=table,
    )
