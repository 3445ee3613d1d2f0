"""What every store says about tables: the order of rows, and what cannot be done."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import Column, TableSpec

__all__ = [
    "check_columns",
    "sql_order",
    "taken_table",
    "unknown_table",
    "without_unique",
]


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
        f"This ledger has a table {table!r} already, with other columns or of another "
        "use: give yours a new name.",
        table=table,
    )


def without_unique(spec: TableSpec, row: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the row without the value that another row has (`TableSpec.unique`)."""
    if spec.unique is None:
        return row
    place = spec.columns.index(spec.unique)
    return (*row[:place], None, *row[place + 1 :])


def check_columns(spec: TableSpec, where: Iterable[str]) -> None:
    """Raise InvalidInput for a column that the table does not have."""
    for column in where:
        if column not in spec.columns:
            raise InvalidInput(
                f"{spec.name} has no column {column!r}: it has "
                f"{', '.join(spec.columns)}.",
                table=spec.name,
            )


def sql_order(column: Column) -> tuple[int, Column]:
    """Return a sort key: nothing before numbers, numbers before text, then bytes."""
    if column is None:
        return 0, 0
    if isinstance(column, str):
        # As bytes, whose order is that of code points, as in SQLite. What is no UTF-8
        # in a file is read with its bytes escaped.
        return 2, column.encode(errors="surrogateescape")
    return (3, column) if isinstance(column, bytes) else (1, column)
