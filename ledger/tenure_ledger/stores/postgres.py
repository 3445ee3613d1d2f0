"""The ledger in one schema of a PostgreSQL database."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from tenure_ledger.errors import Contended, StoreUnavailable
from tenure_ledger.rows import SETUP_SECONDS, EventRow, Fill, Row, TableSpec
from tenure_ledger.stores.copies import of_a_copy
from tenure_ledger.stores.postgres_columns import event_rows, integer, rows, tail_rows
from tenure_ledger.stores.postgres_connect import Connector, sql
from tenure_ledger.stores.postgres_exchange import Exchange
from tenure_ledger.stores.postgres_faults import translate
from tenure_ledger.stores.postgres_place import place_of
from tenure_ledger.stores.postgres_pool import Pool
from tenure_ledger.stores.postgres_pulse import Pulse
from tenure_ledger.stores.postgres_reading import (
    HEAD_POSITION,
    READ_SECONDS,
    Reading,
    begin_reading,
    body_call,
    tail_call,
)
from tenure_ledger.stores.postgres_recorder import Recorder
from tenure_ledger.stores.postgres_schema import (
    Identity,
    adopt,
    check_may_adopt,
    exists,
    found_call,
    go_above,
    grants,
    lacking,
    look_again,
    missing,
    prepare,
)
from tenure_ledger.stores.postgres_seen import Seen
from tenure_ledger.stores.postgres_tables import Tables
from tenure_ledger.stores.postgres_unit import PostgresUnit
from tenure_ledger.stores.postgres_wire import (
    Call,
    ConnectionLost,
    NoAnswer,
    Result,
    ServerError,
    Wire,
)
from tenure_ledger.stores.postgres_word import answered, confirm

__all__ = ["PostgresStore"]

_EVENTS_PAGE = sql("events_page")
_HASHES_PAGE = sql("hashes_page")
_COUNT = sql("count")
_SETTLED = sql("settled")
_HORIZON = sql("horizon")
_SETTLED_HEAD = sql("settled_head")

_PAGE_ROWS = 2000
_POSITION_MAX = 2**63 - 1

T = TypeVar("T")


class PostgresStore:
    """Keep a ledger in one schema, for any number of threads, processes and machines.

    Nothing is opened before the first use, which makes the tables if need be. No writer
    waits for another, unless they write to the same stream.
    """

    def __init__(
        self,
        url: str,
        *,
        tables: Sequence[TableSpec] = (),
        fill: Fill | None = None,
    ) -> None:
        self._place = place_of(url)
        self._tables = Tables(tables, fill)
        self._connector = Connector(self._place)
        self._pool = Pool(self._connector, self._check_new)
        self._seen = Seen()
        self._pulse = Pulse(self._run, lambda: self._pool.opened)
        self._setup_lock = threading.Lock()
        self._prepared = False
        self._opened: Identity | None = None
        """The ledger that was found at first, and that it is from then on."""
        self._copied = False
        self._restoring = False
        self._closed = False
        self._pid = os.getpid()
        self.recorder = Recorder(lambda: self.write(SETUP_SECONDS), self._ask)

    @property
    def path(self) -> str:
        """What messages call the place; without a password."""
        return self._place.name

    def exists(self) -> bool:
        """Say whether there is such a ledger; nothing is made."""
        self._check()
        with self._lent() as wire:
            return exists(wire, self._place, monotonic() + READ_SECONDS)

    def write(self, deadline_seconds: float) -> PostgresUnit:
        """Return a unit that may write; it waits for others up to the deadline."""
        self._ready(deadline_seconds)
        if not self._restoring and self._is_copy():
            raise of_a_copy(self.path)
        exchange = Exchange(self._pool, self._place)
        return PostgresUnit(
            exchange, self._tables, self._seen, self._place, deadline_seconds
        )

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's durable rows with a version >= ``version``."""
        call = tail_call(stream, version)
        found = self._with_wire(lambda wire: self._safe_tail(wire, stream, call))
        head = (found[-1].version, found[-1].hash) if found else None
        if head is not None or version <= 1:
            self._seen.saw(stream, head)
        return found

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        (result,) = self._run([body_call(stream, digest)])
        return result.get_value(0, 0) if result.ntuples else None

    def events(self, after: int, upto: int | None = None) -> Iterator[EventRow]:
        """Yield rows with ``after`` < position (<= ``upto``), in order, by pages."""
        last = _POSITION_MAX if upto is None else upto
        while True:
            values = [b"%d" % after, b"%d" % last, b"%d" % _PAGE_ROWS]
            (result,) = self._run([Call(_EVENTS_PAGE, values, (0, 0, 0))])
            page = event_rows(result)
            yield from page
            if len(page) < _PAGE_ROWS:
                return
            after = page[-1].position

    def hashes(
        self, after: int, upto: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (position, hash) with ``after`` < position (<= ``upto``), in order."""
        last = _POSITION_MAX if upto is None else upto
        while True:
            values = [b"%d" % after, b"%d" % last, b"%d" % _PAGE_ROWS]
            (result,) = self._run([Call(_HASHES_PAGE, values, (0, 0, 0))])
            count = result.ntuples
            for at in range(count):
                after = integer(result.get_value(at, 0))
                yield after, result.get_value(at, 1) or b""
            if count < _PAGE_ROWS:
                return

    def head_position(self) -> int:
        """Return the highest position, 0 when the ledger is empty."""
        (result,) = self._run([HEAD_POSITION])
        return integer(result.get_value(0, 0))

    def count(self, upto: int) -> int:
        """Return how many events there are with a position <= ``upto``."""
        (result,) = self._run([Call(_COUNT, [b"%d" % upto], (0,))])
        return integer(result.get_value(0, 0))

    def horizon(self) -> int:
        """Return the highest position below which nothing can appear any more.

        Only writers of this ledger hold it back, not what else runs on the server.
        """
        self._ready(SETUP_SECONDS)
        if self._copied:
            # Nobody writes to it but who makes it the ledger, one after the other.
            head = self.head_position()
            if self._is_copy():
                return head
        (result,) = self._run([Call(_SETTLED)])
        head = integer(result.get_value(0, 0))
        if head < integer(result.get_value(0, 1)):
            return head
        (result,) = self._run([Call(_HORIZON)])
        values = [b"%d" % integer(result.get_value(0, 0))]
        # Another statement: it sees what those left who had ended by then.
        (result,) = self._run([Call(_SETTLED_HEAD, values, (0,))])
        return integer(result.get_value(0, 0))

    @contextmanager
    def snapshot(self) -> Generator[Reading]:
        """Return what is durable now, to be read at leisure; no writer waits for it."""
        wire = self._with_wire(begin_reading, lends=True)
        try:
            yield Reading(wire, self._tables, self._place.name)
        finally:
            with self._given_back(wire):
                if not wire.broken:
                    wire.run([Call("ROLLBACK")], monotonic() + READ_SECONDS)
                    wire.in_transaction = False

    def pulse(self) -> object:
        """Return a value that is another one after every commit of events."""
        return self._pulse.read()

    def define(
        self, specs: Sequence[TableSpec], deadline_seconds: float = SETUP_SECONDS
    ) -> None:
        """Create further tables, which only their own writer keeps, if missing."""
        self._check()
        with self._tables.defining(specs):
            self._prepare(deadline_seconds)

    def lacking(self, specs: Sequence[TableSpec]) -> frozenset[str]:
        """Return the names of those tables that are not there."""
        (result,) = self._run([found_call(self._place)])
        return lacking(result, specs)

    def setup(self, deadline_seconds: float = SETUP_SECONDS) -> None:
        """Create or migrate what is missing; safe to call again and at once."""
        self._check()
        self._prepare(deadline_seconds)

    def missing(self) -> str:
        """Return the SQL that `setup` would run, empty where it has nothing to do."""
        self._check()
        with self._lent() as wire:
            deadline = monotonic() + READ_SECONDS
            return missing(wire, self._place, self._tables, deadline)

    def grants(self) -> str:
        """Return what a writer and a reader need, as comments of SQL."""
        return grants(self._place, self._tables)

    @contextmanager
    def restoring(self) -> Generator[None]:
        """Write to a copy; left without an exception it is the ledger from now on."""
        self._ready(SETUP_SECONDS)
        if self._copied:
            with self._lent() as wire:
                deadline = monotonic() + READ_SECONDS
                check_may_adopt(wire, self._place, deadline)
                go_above(wire, self._place, deadline)
        self._restoring = True
        try:
            yield
            if self._copied:
                with self._lent() as wire:
                    adopt(wire, self._place, monotonic() + READ_SECONDS)
                self._copied = False
        finally:
            self._restoring = False

    def close(self) -> None:
        """Release connections; a second call does nothing.

        A unit that is running in another thread can still commit; its connection is
        closed when it ends.
        """
        self._closed = True
        self._pool.close()

    def _safe_tail(self, wire: Wire, stream: str, call: Call) -> Sequence[EventRow]:
        """Read rows, and make sure, once, that standbys have what a verdict rests on.

        A commit can be read before they do, and a transaction that writes nothing does
        not wait for them (design section 12). The same server must say both.
        """
        (result,) = answered(wire, [call], self.path, READ_SECONDS)
        found = tail_rows(result, stream)
        if found and wire.synchronous:
            head = (found[-1].version, found[-1].hash)
            if not self._seen.is_safe(stream, head):
                confirm(wire, self.path)
                self._seen.made_safe(stream, head)
        return found

    def _ask(self, call: Call) -> list[Row]:
        (result,) = self._run([call])
        return list(rows(result))

    def _run(self, calls: list[Call]) -> list[Result]:
        """Run calls that only read."""
        return self._with_wire(
            lambda wire: answered(wire, calls, self.path, READ_SECONDS)
        )

    def _with_wire(self, read: Callable[[Wire], T], *, lends: bool = False) -> T:
        """Read on one connection; from the beginning on another if it was cut.

        ``lends``: what was read goes on with the connection, and gives it back.
        """
        self._ready(SETUP_SECONDS)
        deadline = monotonic() + READ_SECONDS
        while True:
            wire, lent = self._pool.take(deadline), False
            try:
                answer = read(wire)
            except (ServerError, ConnectionLost) as error:
                silent = isinstance(error, NoAnswer)
                if silent or not wire.broken or monotonic() >= deadline:
                    raise translate(error, self._place.name) from error
            else:
                lent = lends
                return answer
            finally:
                if not lent:
                    self._pool.give(wire)

    @contextmanager
    def _lent(self) -> Generator[Wire]:
        """Lend a connection; one that something went wrong with is closed."""
        wire = self._pool.take(monotonic() + READ_SECONDS)
        with self._given_back(wire):
            yield wire

    @contextmanager
    def _given_back(self, wire: Wire) -> Generator[None]:
        try:
            yield
        except (ServerError, ConnectionLost) as error:
            raise translate(error, self._place.name) from error
        finally:
            self._pool.give(wire)

    def _check(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._setup_lock = threading.Lock()
            self._pool.forget()
            self._pulse.forget()
        if self._closed:
            raise StoreUnavailable("The store is closed: open another.")

    def _ready(self, deadline_seconds: float) -> None:
        """Make the schema ready on first use."""
        self._check()
        if not self._prepared:
            self._prepare(max(deadline_seconds, 5.0))

    def _is_copy(self) -> bool:
        """Say whether it is a copy still: whoever may makes it the ledger."""
        if self._copied:
            self._prepare(SETUP_SECONDS)
        return self._copied

    def _check_new(self, wire: Wire, deadline: float) -> None:
        """See that a connection made later still leads to the same ledger."""
        if self._opened is None or not self._prepared:
            return
        above = look_again(wire, self._place, self._opened, deadline)
        if not above and not self._copied:
            self._prepared = False
            raise StoreUnavailable(
                f"The transaction ids of {self._place.name} were set back while it was "
                "open. Nothing was written; call again."
            )

    def _prepare(self, deadline_seconds: float) -> None:
        deadline = monotonic() + deadline_seconds
        if not self._setup_lock.acquire(timeout=max(deadline_seconds, 0)):
            raise Contended("Another thread is still opening the store: call again.")
        try:
            wire = self._pool.take(deadline)
            try:
                found = prepare(wire, self._place, self._tables, deadline, self._opened)
            except ConnectionLost as error:
                raise translate(error, self._place.name) from error
            finally:
                self._pool.give(wire)
            self._copied, self._opened = found.copied, found.identity
            if found.identity is not None:
                self._pool.guard(found.identity.same)
            self._prepared = True
        finally:
            self._setup_lock.release()
