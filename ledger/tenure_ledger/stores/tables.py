"""What every store says about a table that it cannot read or write."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import TableSpec

__all__ = ["check_columns", "taken_table", "unknown_table"]


def unknown_table(table: str) -> InvalidInput:
    """Return the refusal of a table that no spec names.

    A caller asked for its rows, or the hook changed them: either way the specs decide.
    """
    return InvalidInput(
        f"This ledger has no table {table!r}: the specs that it was opened with name "
        "every table that is written and read.",
        table=table,
    )


def taken_table(table: str) -> InvalidInput:
    """Return the refusal of a second table of one name."""
    return InvalidInput(
        f"This ledger has another table {table!r}: give yours a name of its own.",
        table=table,
    )


def check_columns(spec: TableSpec, where: Iterable[str]) -> None:
    """Raise InvalidInput for a column that the table does not have."""
    for column in where:
        if column not in spec.columns:
            raise InvalidInput(
                f"{spec.name} has no column {column!r}: it has "
                f"{', '.join(spec.columns)}.",
                table=spec.name,
            )
