"""What a store keeps, and the port that every store offers: `Store` and its `Unit`.

Pure shapes, no I/O. A store keeps four things: events, the commands that wrote them,
bodies by digest, and the rows of whatever tables it was opened with. All of one unit of
work is one transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from tenure_ledger.errors import Corrupt, StoreUnavailable

__all__ = [
    "GENESIS",
    "LEDGER_TABLES",
    "SETUP_SECONDS",
    "BodyRow",
    "Column",
    "CommandRow",
    "Conflict",
    "Doubtful",
    "EventRow",
    "Fill",
    "Interrupted",
    "Row",
    "RowChange",
    "RowRefused",
    "Snapshot",
    "Store",
    "TableSpec",
    "Unit",
    "row_hash",
    "sha256",
]

GENESIS = bytes(32)
"""The hash before the first event of a stream, and the head of an empty ledger."""

LEDGER_TABLES = frozenset({"stored_events", "commands", "payloads", "kept_tables"})
"""The tables of a ledger in a database; a table that it is opened with is none."""

SETUP_SECONDS = 30.0
"""How long one waits for others before tables are made, if nothing else is said."""

Column = str | int | float | bytes | None
Row = tuple[Column, ...]
"""A row of a table: all its columns, in order."""


class EventRow(NamedTuple):
    """One stored event: (stream, version) is the fence, position orders the ledger."""

    position: int
    """>= 1, rising; 0 in a row that is not stored yet."""
    stream: str
    version: int
    topic: str
    state: bytes
    hash: bytes
    """`row_hash` of the other columns: 32 bytes."""


class CommandRow(NamedTuple):
    """One accepted command, kept for ever (design section 5, rule 1)."""

    stream: str
    command_id: str
    digest: bytes
    first_version: int
    """Version of its first event in ``stream``; the version seen if it wrote none."""
    outcome: bytes
    """JSON of what the method returned."""


class BodyRow(NamedTuple):
    """What a person may have written, apart from the chain so that it can be erased."""

    digest: str
    stream: str
    body: bytes
    key_id: str | None = None


class TableSpec(NamedTuple):
    """A table that is written in the same transaction as the events."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The primary key: some of ``columns``."""
    create: Mapping[str, str]
    """By dialect (``sqlite``, ``postgres``) one statement with ``IF NOT EXISTS``; on
    PostgreSQL further ones may follow, such as its comments."""
    unique: str | None = None
    """A column in which no two rows have one value. A value that another row has, which
    only an import can bring about, is put as NULL: the first row keeps it."""
    apart: str | None = None
    """A column by which writers are told apart: whoever reads, in a unit, the rows with
    one value holds back those who read or write these, and who read all; nobody else.
    """


class RowChange(NamedTuple):
    """Put one row, or delete it (``row`` is None)."""

    table: str
    key: tuple[Column, ...]
    row: Row | None


class Snapshot(Protocol):
    """All that is durable at one moment, whatever is written meanwhile."""

    @property
    def position(self) -> int:
        """The highest position in it, 0 when the ledger is empty."""
        ...

    def streams(self) -> Iterator[str]:
        """Yield the name of every stream, in order of their UTF-8 bytes."""
        ...

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        ...

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        ...

    def rows(
        self, table: str, where: Mapping[str, Column] | None = None
    ) -> Iterator[Row]:
        """Yield a table's rows by key, those that match ``where`` if it is given.

        Raises `InvalidInput` when the store was not opened with this table.
        """
        ...


Fill = Callable[[Snapshot, Sequence[str]], Iterable[RowChange]]
"""Returns the rows of new tables, by their names, in a ledger that has events."""


class Unit(Protocol):
    """One transaction: read what is durable, add to it, commit once.

    Leaving the context without `commit`, or by an exception, changes nothing. A store
    that answers from what it saw last looks whether it is still so: `commit`, or the
    end of a unit that is left without, raises `Conflict` if not.
    """

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        ...

    def head(self, stream: str) -> tuple[int, bytes] | None:
        """Return version and hash of the stream's last row, None when it has none."""
        ...

    def command(self, stream: str, command_id: str) -> CommandRow | None:
        """Return the accepted command of that id, in this unit or before it."""
        ...

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        ...

    def rows(self, table: str, where: Mapping[str, Column]) -> Sequence[Row]:
        """Return a table's rows with these values, by key, as this unit sees them.

        What was read stays so until `commit`; a store that cannot hold others back
        raises `Conflict` there. Raises `InvalidInput` when the store was not opened
        with this table.
        """
        ...

    def add(
        self,
        events: Sequence[EventRow],
        command: CommandRow | None,
        bodies: Sequence[BodyRow] = (),
        changes: Iterable[RowChange] = (),
        erase: Sequence[str] = (),
    ) -> Sequence[int]:
        """Add one command's rows (and erase all bodies of some streams).

        Return the positions given to ``events``, in their order. Versions were read in
        this unit; a store that cannot hold them still raises `Conflict`. What is erased
        goes before ``bodies`` are added, so the command's own stay. ``changes`` is lazy
        and consumed last, one by one: making one may read, by `body`, what this call
        has added. A row that its table refuses raises `RowRefused`, here or at the
        commit (here, once the unit has asked for rows), and the unit is over; the
        memory store runs no statements, so none of its tables refuses one.
        """
        ...

    def expect(self, reads: Mapping[str, int]) -> None:
        """Say at which versions streams were read that the unit's decisions rest on.

        `commit` raises `Conflict` if one has moved, whether or not the unit writes to
        it (design section 3). Where nobody else can write during a unit, it holds.
        """
        ...

    def confirm(self) -> None:
        """Write something that changes nothing.

        So that the commit proves durable what was found after a doubtful commit: what
        can be read may not be on the disk yet (design section 12).
        """
        ...

    def commit(self) -> None:
        """Make everything durable.

        Raises `Conflict` (nothing written), `Doubtful` (not known) or a fault that
        says that nothing was written.
        """
        ...


class RowRefused(Corrupt):
    """A table refused a row, of which `Unit.add` was told; nothing was written.

    To whoever calls the ledger it is a `Corrupt` like any other.
    """


class Conflict(Exception):  # noqa: N818  never leaves the shell
    """Somebody else wrote one of the versions first: load and decide again."""


class Interrupted(StoreUnavailable):
    """The connection was lost before a commit was sent: nothing was written."""


class Doubtful(Exception):  # noqa: N818  never leaves the shell
    """A commit was sent and its outcome is not known: look for the command id."""


class Store(Protocol):
    """Where a ledger lives. Opening does no I/O; the first use does."""

    def write(self, deadline_seconds: float) -> AbstractContextManager[Unit]:
        """Return a unit that may write; wait for other writers up to the deadline."""
        ...

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's durable rows with a version >= ``version``."""
        ...

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        ...

    def events(self, after: int, upto: int | None = None) -> Iterator[EventRow]:
        """Yield rows with ``after`` < position (<= ``upto``), in order, by pages.

        Memory stays bounded; no lock is held between two pages.
        """
        ...

    def hashes(
        self, after: int, upto: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (position, hash) with ``after`` < position (<= ``upto``), in order."""
        ...

    def head_position(self) -> int:
        """Return the highest position, 0 when the ledger is empty."""
        ...

    def count(self, upto: int) -> int:
        """Return how many events there are with a position <= ``upto``."""
        ...

    def horizon(self) -> int:
        """Return a position up to which nothing can appear any more.

        All that was or will be committed up to there is there; a hole below it stays
        one. It may lag behind the head, so it decides nothing (design section 12).
        """
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return what is durable now, to be read at leisure; no writer waits for it."""
        ...

    def pulse(self) -> object:
        """Return a value that is another one after every commit of events by anybody.

        Asked before a read, and the same again later, it says that nothing was missed.
        """
        ...

    def define(
        self, specs: Sequence[TableSpec], deadline_seconds: float = SETUP_SECONDS
    ) -> None:
        """Create further tables, which only their own writer keeps, if missing.

        Nobody else makes them again, since only their writer knows their rows.
        """
        ...

    def lacking(self, specs: Sequence[TableSpec]) -> frozenset[str]:
        """Return the names of those tables that are not there."""
        ...

    def setup(self, deadline_seconds: float = SETUP_SECONDS) -> None:
        """Create or migrate what is missing; safe to call again and at once.

        Others who do, or who write, are waited for up to the deadline.
        """
        ...

    def missing(self) -> str:
        """Return the SQL that `setup` would run, empty where it has nothing to do.

        Nothing is made. Raises what `setup` raises of a place that is not a ledger's.
        """
        ...

    def grants(self) -> str:
        """Return what roles of the store need, as comments of SQL; empty: no roles."""
        ...

    def restoring(self) -> AbstractContextManager[None]:
        """Let this process write to a copy of a ledger, which others may only read.

        Left without an exception, the copy is the ledger from now on. Where the store
        cannot tell a copy, it does nothing.
        """
        ...

    def close(self) -> None:
        """Release connections; a second call does nothing."""
        ...


def row_hash(stream: str, version: int, topic: str, state: bytes) -> bytes:
    """Return the 32 bytes that the next event of the stream will refer to.

    Stream names and topics hold no NUL, so the parts cannot run into each other.
    """
    return sha256(f"{stream}\0{version}\0{topic}\0".encode() + state)


_begun = hashlib.sha256()


def sha256(data: bytes) -> bytes:
    """Return the digest; a copy of a begun one spares OpenSSL the look-up by name."""
    hashing = _begun.copy()
    hashing.update(data)
    return hashing.digest()
