"""One transaction on PostgreSQL, sent as one call where nothing has to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from tenure_ledger.errors import Fault, Refused, StoreUnavailable
from tenure_ledger.rows import (
    BodyRow,
    Column,
    CommandRow,
    Conflict,
    Doubtful,
    EventRow,
    Row,
    RowChange,
)
from tenure_ledger.stores.postgres_columns import integer, rows, tail_rows
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_exchange import BEGIN, COMMIT, Exchange
from tenure_ledger.stores.postgres_locks import ALONE, AS_WRITER, Locks
from tenure_ledger.stores.postgres_pending import Pending, Positions
from tenure_ledger.stores.postgres_place import Place
from tenure_ledger.stores.postgres_reading import body_call, tail_call
from tenure_ledger.stores.postgres_rests import Rests
from tenure_ledger.stores.postgres_seen import Head, Seen
from tenure_ledger.stores.postgres_tables import Tables
from tenure_ledger.stores.postgres_wire import Call, Result
from tenure_ledger.stores.postgres_word import WORD

__all__ = ["PostgresUnit"]

_CONFIRM = Call(sql("confirm"))
_HEAD = sql("head")
_COMMAND = sql("command")
_FIRST_POSITION = sql("first_position")

_E = TypeVar("_E", bound=BaseException)


class PostgresUnit:
    """Gather what is added, and send it with the commit.

    Nothing holds others back meanwhile. What the unit has read, or has taken from what
    the process saw last, is checked by the statements that write; the primary key
    (stream, version) is the fence. A unit that ends without a commit has what it took
    so checked too, so that no refusal rests on memory.
    """

    def __init__(
        self,
        exchange: Exchange,
        tables: Tables,
        seen: Seen,
        place: Place,
        deadline_seconds: float,
    ) -> None:
        self._exchange = exchange
        self._tables = tables
        self._seen = seen
        self._name = place.name
        self._locks = Locks(place, tables)
        self._deadline_seconds = deadline_seconds
        self._over: BaseException | str | None = "This unit is not begun."
        """Why nothing can be done in it: what ended it, or what to say."""
        self._pending = Pending()
        self._rests = Rests(seen, self._pending)
        self._first: int | None = None
        self._sent: tuple[Call, Result] | None = None
        """The first insert of an event and its result, once they are committed."""
        self._confirms = False

    def __enter__(self) -> Self:
        self._exchange.begin(self._deadline_seconds)
        self._over = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._over is None:
                self._leave()
        finally:
            self._exchange.end()

    def __del__(self) -> None:
        # A signal between two lines of `with` can leave a unit that nobody exits.
        self._exchange.abandon()

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        self._go_on()
        own = stream in self._pending.heads
        if own:
            self._flush()
        else:
            self._wait_in_line(stream)
        (result,) = self._read(tail_call(stream, version))
        found = tail_rows(result, stream)
        if not own:
            if found:
                self._saw(stream, (found[-1].version, found[-1].hash))
            elif version <= 1:
                self._saw(stream, None)
        return found

    def head(self, stream: str) -> tuple[int, bytes] | None:
        """Return version and hash of the stream's last row, None when it has none."""
        self._go_on()
        own = self._pending.heads.get(stream)
        if own is not None:
            if stream not in self._rests.heads:
                self._flush()
                return self._ask_head(stream)
            before = self._rests.heads[stream]
            return own if before is None or before[0] < own[0] else before
        if stream in self._rests.heads:
            return self._rests.heads[stream]
        if not self._wait_in_line(stream):
            known = self._rests.assume(stream)
            if known is not None:
                return known[0]
        head = self._ask_head(stream)
        self._saw(stream, head)
        return head

    def command(self, stream: str, command_id: str) -> CommandRow | None:
        """Return the accepted command of that id, in this unit or before it."""
        self._go_on()
        added = self._pending.commands.get((stream, command_id))
        if added is not None:
            return added
        values = [stream.encode(), command_id.encode()]
        (result,) = self._read(Call(_COMMAND, values, (1, 1)))
        for row in rows(result):
            if self._exchange.synchronous:
                self._rests.unsafe.add(stream)
            return CommandRow._make(row)
        return None

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        self._go_on()
        added = self._pending.body(stream, digest)
        if added is not None:
            return added[0]
        (result,) = self._read(body_call(stream, digest))
        return result.get_value(0, 0) if result.ntuples else None

    def rows(self, table: str, where: Mapping[str, Column]) -> Sequence[Row]:
        """Return a table's rows with these values, by key. Raises InvalidInput.

        Who reads a table so holds back others who do, and who write a kept one.
        """
        self._go_on()
        query = self._tables.select(table, where)
        self._flush()
        calls = [*self._locks.of_table(table, where), query]
        results = self._send(calls)
        return list(rows(results[-1]))

    def add(
        self,
        events: Sequence[EventRow],
        command: CommandRow | None,
        bodies: Sequence[BodyRow] = (),
        changes: Iterable[RowChange] = (),
        erase: Sequence[str] = (),
    ) -> Sequence[int]:
        """Add one command's rows; what it erases goes first, its own bodies stay.

        Raises Conflict, RowRefused: what only the server can tell, at the commit.
        """
        self._go_on()
        pending = self._pending
        try:
            first = pending.add_events(events)
            if command is not None:
                self._tables.check_all_kept(self._name)
                pending.add_command(command)
            for stream in erase:
                pending.erase(stream)
            for body in bodies:
                pending.add_body(body)
            for change in changes:
                pending.calls.append(self._tables.change(change))
            if self._exchange.in_transaction:
                self._flush()
        except BaseException as error:
            self._over = self._over or error
            raise
        return Positions(self._first_position, first, len(events))

    def expect(self, reads: Mapping[str, int]) -> None:
        """Have it checked by the commit that these streams are at these versions."""
        self._go_on()
        for stream, version in reads.items():
            if not self._rests.expect(stream, version):
                raise self._failed(Conflict(f"{stream} has moved meanwhile."))

    def confirm(self) -> None:
        """Write a word into the log that means nothing: standbys must have it too."""
        self._go_on()
        self._confirms = True

    def commit(self) -> None:
        """Make everything durable.

        Raises Conflict, RowRefused, Contended (nothing is written), Doubtful, or a
        fault when nothing was written.
        """
        self._go_on()
        holds = self._rests.holds(self._locks)
        begins = ALONE in holds and not self._exchange.in_transaction
        calls = [*([BEGIN] if begins else []), *holds, *self._rests.checks()]
        events_at = len(calls)
        has_events = bool(self._pending.events)
        lone = not calls and not self._confirms and not self._exchange.in_transaction
        calls += self._pending.take(self._rests.heads, self._locks.line)
        if lone and calls:
            calls = self._tables.joined.of(calls)
        if self._confirms:
            calls.append(_CONFIRM)
        if begins or self._exchange.in_transaction:
            calls.append(COMMIT)
        if calls:
            results = self._send(calls, committing=True)
            if has_events and self._first is None:
                # Looked at only where somebody asks for positions.
                self._sent = calls[events_at], results[events_at]
        self._rests.committed()
        if self._exchange.synchronous and calls:
            self._made_safe()
            for stream, head in self._pending.heads.items():
                self._seen.made_safe(stream, head)
        self._over = "This unit is committed: begin another."

    def _leave(self) -> None:
        """Make sure of what was read, where nothing is committed with it."""
        exchange = self._exchange
        rests = self._rests
        calls = rests.checks() if rests.assumed or exchange.was_replaced else []
        if rests.unsafe or exchange.is_word_due:
            calls.append(WORD)
        if calls:
            if exchange.in_transaction:
                # It was begun to wait in line; what else was assumed was not asked.
                exchange.roll_back()
            self._send(calls)
            self._made_safe()

    def _made_safe(self) -> None:
        if self._exchange.unconfirmed:
            raise self._failed(Conflict("What was read is not on a standby yet."))
        self._rests.made_safe()

    def _go_on(self) -> None:
        over = self._over
        if over is not None:
            raise StoreUnavailable(over) if isinstance(over, str) else over

    def _saw(self, stream: str, head: Head) -> None:
        """Take in what was asked for. Raises Conflict if it has moved meanwhile."""
        if not self._rests.saw(stream, head, synchronous=self._exchange.synchronous):
            raise self._failed(Conflict(f"{stream} has moved meanwhile."))

    def _ask_head(self, stream: str) -> Head:
        (result,) = self._read(Call(_HEAD, [stream.encode()], [1]))
        for version, hashed in rows(result):
            assert isinstance(version, int)  # noqa: S101  its column
            assert isinstance(hashed, bytes)  # noqa: S101  its column
            return version, hashed
        return None

    def _wait_in_line(self, stream: str) -> bool:
        """Hold the stream if it is fought over; say whether it must be asked for."""
        if not self._seen.must_wait_in_line(stream):
            return False
        joining = self._locks.join_line(stream)
        if joining is not None:
            call, waits = joining
            self._flush()
            (result,) = self._send([call])
            if waits or result.get_value(0, 0) == b"\1":
                self._locks.got_in_front(stream)
        return True

    def _first_position(self) -> int:
        """Return the position of the unit's first event."""
        if self._first is None and self._sent is not None:
            self._first = _first_of(*self._sent)
        if self._first is None:
            self._go_on()
            self._flush()
            (result,) = self._send([Call(_FIRST_POSITION)])
            self._first = integer(result.get_value(0, 0))
        return self._first

    def _flush(self) -> None:
        """Send what was added, in an explicit transaction."""
        calls: list[Call] = []
        if not self._exchange.in_transaction:
            calls += [BEGIN, AS_WRITER]
        if self._pending.events or self._pending.calls:
            calls += [*self._rests.holds(self._locks), *self._rests.checks()]
            calls += self._pending.take(self._rests.heads, self._locks.line)
        if calls:
            self._send(calls)

    def _read(self, call: Call) -> list[Result]:
        try:
            return self._exchange.ask(call)
        except (Conflict, Fault, Refused) as failure:
            raise self._failed(failure) from failure.__cause__

    def _send(self, calls: list[Call], *, committing: bool = False) -> list[Result]:
        """Send the calls in one go. What the server says against it ends the unit."""
        try:
            return self._exchange.send(calls, committing=committing)
        except (Conflict, Doubtful, Fault, Refused) as failure:
            raise self._failed(failure) from failure.__cause__

    def _failed(self, failure: _E) -> _E:
        self._over = failure
        self._rests.failed(failure)
        return failure


def _first_of(call: Call, result: Result) -> int:
    """Return the position of the unit's first event, from that of any."""
    return integer(result.get_value(0, 0)) - int(call.values[0] or b"0")
