"""Values on the wire: by the type of the column, so that every store keeps the same.

Times are ISO 8601 text in a row, whatever the store; in PostgreSQL the column is a
``timestamp with time zone``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

from tenure_ledger.errors import Corrupt
from tenure_ledger.rows import Column, EventRow, Row
from tenure_ledger.stores.known_tables import REMEDY
from tenure_ledger.stores.postgres_wire import Result

__all__ = [
    "ALTERED",
    "TIMESTAMPTZ",
    "data_of",
    "encode",
    "event_rows",
    "integer",
    "rows",
    "tail_rows",
]

BOOL, BYTEA, INT8, INT2, INT4 = 16, 17, 20, 21, 23
FLOAT4, FLOAT8, TIMESTAMPTZ = 700, 701, 1184

ALTERED = "A table is not as it was made ({}); nothing was written. " + REMEDY
"""What is said of a table that somebody altered while it was in use."""

Encoded = tuple[bytes | None, int]
"""A value, and its format: 0 for text, 1 for binary."""

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def encode(value: Column, oid: int = 0) -> Encoded:
    """Return a value for a parameter whose type is known, or is as Python has it."""
    if value is None:
        return None, 0
    if isinstance(value, str):
        # As text it would end at a NUL, of which nobody would be told.
        return value.encode(), 0 if oid == TIMESTAMPTZ else 1
    if isinstance(value, bytes):
        return value, 1
    if isinstance(value, int):
        return b"%d" % value, 0
    return repr(value).encode(), 0


def data_of(values: Row) -> list[bytes | None]:
    """Return the values as `encode` does, without their formats."""
    return [
        None
        if value is None
        else value.encode()
        if type(value) is str
        else b"%d" % value
        if type(value) is int
        else encode(value)[0]
        for value in values
    ]


def integer(data: bytes | None) -> int:
    """Return a number that is not NULL."""
    return int.from_bytes(data or b"", "big", signed=True)


def _text(data: bytes) -> str:
    """Return a text; of a type that is none of ours it may be something else."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Corrupt(ALTERED.format("a column is of another type")) from None


def rows(result: Result, first: int = 0) -> Iterable[Row]:
    """Yield the rows of a result, without its first columns."""
    columns = range(first, result.nfields)
    readers = [_READERS.get(result.ftype(at), _text) for at in columns]
    places = list(zip(columns, readers, strict=True))
    get = result.get_value
    for at in range(result.ntuples):
        yield tuple(
            [
                None if (data := get(at, column)) is None else read(data)
                for column, read in places
            ]
        )


def event_rows(result: Result) -> list[EventRow]:
    """Return the rows of a result whose columns are those of `EventRow`."""
    get, number = result.get_value, int.from_bytes
    return [
        _event_row(
            (
                number(_present(get(at, 0))),
                _present(get(at, 1)).decode(),
                number(_present(get(at, 2))),
                _present(get(at, 3)).decode(),
                get(at, 4),
                get(at, 5),
            )
        )
        for at in range(result.ntuples)
    ]


def tail_rows(result: Result, stream: str) -> Sequence[EventRow]:
    """Return the rows of one stream, whose name is not read again with each."""
    get, number = result.get_value, int.from_bytes
    return [
        _event_row(
            (
                number(_present(get(at, 0))),
                stream,
                number(_present(get(at, 1))),
                _present(get(at, 2)).decode(),
                get(at, 3),
                get(at, 4),
            )
        )
        for at in range(result.ntuples)
    ]


# What EventRow._make does, without a call of Python code for each of many rows.
_event_row = cast(
    "Callable[[tuple[Any, ...]], EventRow]", partial(tuple[Any, ...].__new__, EventRow)
)


def _present(data: bytes | None) -> bytes:
    return cast("bytes", data)


def _moment(data: bytes) -> str:
    """Return a time as the tables write it."""
    try:
        at = _EPOCH + integer(data) * _MICROSECOND
    except OverflowError:
        return "infinity" if integer(data) > 0 else "-infinity"
    return at.isoformat(timespec="microseconds")[:-6] + "Z"


def _float8(data: bytes) -> float:
    value: float = struct.unpack("!d", data)[0]
    return value


def _float4(data: bytes) -> float:
    value: float = struct.unpack("!f", data)[0]
    return value


_READERS: dict[int, Callable[[bytes], Column]] = {
    BOOL: lambda data: int(data != b"\0"),
    BYTEA: bytes,
    INT2: integer,
    INT4: integer,
    INT8: integer,
    FLOAT4: _float4,
    FLOAT8: _float8,
    TIMESTAMPTZ: _moment,
}
