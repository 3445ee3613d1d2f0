"""What is asked of a ledger; and all of it at one moment, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic

from tenure_ledger.rows import Column, EventRow, Row
from tenure_ledger.stores.postgres_columns import integer, rows, tail_rows
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_faults import translate
from tenure_ledger.stores.postgres_tables import Tables
from tenure_ledger.stores.postgres_wire import (
    Call,
    ConnectionLost,
    Result,
    ServerError,
    Wire,
)

__all__ = [
    "HEAD_POSITION",
    "READ_SECONDS",
    "Reading",
    "begin_reading",
    "body_call",
    "tail_call",
]

READ_SECONDS = 30.0
"""How long a reader waits for an answer."""

HEAD_POSITION = Call(sql("head_position"))
_TAIL = sql("tail")
_BODY = sql("body")
_NEXT_STREAMS = sql("next_streams")
_BEGIN = Call("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_PATIENT = Call("SET LOCAL idle_in_transaction_session_timeout = 0")
"""What is done with a row may take long; nobody waits for who only reads."""
_PAGE_ROWS = 1000


def tail_call(stream: str, version: int) -> Call:
    """Return the call for a stream's rows from a version on (`tail_rows`)."""
    return Call(_TAIL, [stream.encode(), b"%d" % version], (1, 0))


def body_call(stream: str, digest: str) -> Call:
    """Return the call for a body: no row where it was erased or never stored."""
    return Call(_BODY, [stream.encode(), digest.encode()], (1, 1))


def begin_reading(wire: Wire) -> Wire:
    """Begin the transaction of a `Reading`. Raises ServerError, ConnectionLost."""
    wire.run([_BEGIN, _PATIENT], monotonic() + READ_SECONDS)
    wire.in_transaction = True
    return wire


class Reading:
    """Read on a connection whose transaction somebody else begins and ends."""

    def __init__(self, wire: Wire, tables: Tables, name: str) -> None:
        self._wire = wire
        self._tables = tables
        self._name = name
        self._cursors = 0
        # What is asked first is what fixes the moment.
        self.position = integer(self._ask(HEAD_POSITION).get_value(0, 0))

    def streams(self) -> Iterator[str]:
        """Yield the name of every stream, in order of their UTF-8 bytes."""
        last = ""
        while True:
            page = self._fetch(
                Call(_NEXT_STREAMS, [last.encode(), b"%d" % _PAGE_ROWS], (1, 0))
            )
            for (name,) in page:
                last = str(name)
                yield last
            if len(page) < _PAGE_ROWS:
                return

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        return tail_rows(self._ask(tail_call(stream, version)), stream)

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        result = self._ask(body_call(stream, digest))
        return result.get_value(0, 0) if result.ntuples else None

    def rows(
        self, table: str, where: Mapping[str, Column] | None = None
    ) -> Iterator[Row]:
        """Yield a table's rows by key. Raises InvalidInput."""
        query = self._tables.select(table, where or {})
        if where:
            yield from self._fetch(query)
            return
        self._cursors += 1
        cursor = f"rows_{self._cursors}"
        declare = query._replace(sql=f"DECLARE {cursor} CURSOR FOR {query.sql}")
        fetch = Call(f"FETCH {_PAGE_ROWS} FROM {cursor}")
        self._fetch(declare)
        while page := self._fetch(fetch):
            yield from page
            if len(page) < _PAGE_ROWS:
                return

    def _fetch(self, call: Call) -> list[Row]:
        return list(rows(self._ask(call)))

    def _ask(self, call: Call) -> Result:
        try:
            (result,) = self._wire.run([call], monotonic() + READ_SECONDS)
        except (ServerError, ConnectionLost) as error:
            raise translate(error, self._name) from error
        return result
