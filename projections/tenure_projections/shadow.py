"""Rows made anew from the events, in a private database of this process.

It lies in memory, beyond 64 MB on the disk, and has no name. So two rebuilds do not
meet, and one that is killed leaves nothing behind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import msgspec

from tenure_ledger.collecting import collecting_later
from tenure_ledger.errors import StoreFull, StoreUnavailable
from tenure_ledger.folds.stream import State
from tenure_ledger.lean import load
from tenure_ledger.rows import Column, EventRow, Row, Store
from tenure_projections.live import rows_of
from tenure_projections.tables.shape import Body, Key, Table
from tenure_projections.tables.stream_states import STREAM_STATES

__all__ = ["Progress", "Shadow", "fill", "upto"]

Progress = Callable[[int, int], object]
"""Takes how many events are folded, and how many there are."""

_EVENTS_BETWEEN_TELLINGS = 10_000
_SETTINGS = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536")
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[Any, ...]).decode


class Shadow:
    """The rows of some tables as some streams make them.

    ``spare``: a stream that is too new for this version gives no rows but the one that
    says so, since a newer version wrote the others.
    """

    def __init__(self, tables: Sequence[Table], *, spare: bool = False) -> None:
        self.tables = tuple(tables)
        self._spare = spare
        self._sql = {
            table.spec.name: _Statements(f"rows_{number}", table)
            for number, table in enumerate(tables)
        }
        with _told():
            self._db = sqlite3.connect(
                "", isolation_level=None, check_same_thread=False
            )
            for setting in _SETTINGS:
                self._db.execute(f"PRAGMA {setting}")
            self._db.execute("BEGIN")
            for create in _CREATE:
                self._db.execute(create)
            for sql in self._sql.values():
                for create in sql.create:
                    self._db.execute(create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop everything; a second call does nothing."""
        self._db.close()

    def name(self, streams: Iterable[str]) -> None:
        """Remember these streams."""
        with _told():
            self._db.executemany(_NAME, ((stream,) for stream in streams))

    def streams(self) -> Iterator[str]:
        """Yield the streams that are remembered, in the order of their naming."""
        with _told():
            for (stream,) in self._db.execute(_NAMED):
                yield stream

    def put(self, state: State, body: Body, *, new: bool = False) -> None:
        """Put the rows of a stream in the place of those that it has here.

        ``new``: it has none yet.
        """
        stream, spared = state.stream, self._spare and bool(state.too_new)
        with _told():
            self._db.execute(_FOLD, (stream, state.version))
            if spared:
                self._db.execute(_SPARE, (stream,))
            for table in self.tables:
                sql = self._sql[table.spec.name]
                if not new:
                    self._db.execute(sql.drop, (stream,))
                if spared and table.spec.name != STREAM_STATES.spec.name:
                    continue
                rows = rows_of(table, state, body)
                self._db.executemany(
                    sql.put,
                    [(stream, *key, *sql.packed(row)) for key, row in rows],
                )

    def is_spared(self, stream: str | None) -> bool:
        """Say whether this version does not know what rows the stream has."""
        with _told():
            return self._db.execute(_SPARED, (stream,)).fetchone() is not None

    def rows(self, table: Table) -> Iterator[tuple[Row, str]]:
        """Yield the table's rows, by key, each with the stream that makes it."""
        sql = self._sql[table.spec.name]
        last: list[object] = []
        with _told():
            for packed, taken, stream, *key in self._db.execute(sql.rows):
                if key != last:
                    yield sql.row(packed, taken), stream
                last = key

    def note(self, table: Table, keys: Iterable[tuple[Key, str | None]]) -> None:
        """Remember keys of the table, each with the stream that it is of.

        They may come from a walk through `rows`.
        """
        with _told():
            self._db.executemany(
                self._sql[table.spec.name].note,
                ((*key, stream) for key, stream in keys),
            )

    def index(self, table: Table) -> None:
        """Make ready for `noted`; until then each row costs less to put."""
        with _told():
            self._db.execute(self._sql[table.spec.name].index)

    def noted(self, table: Table) -> Iterator[tuple[Key, Row | None]]:
        """Yield what was noted, with the row of each key; not of spared streams."""
        sql = self._sql[table.spec.name]
        last: list[object] = []
        with _told():
            for packed, taken, *key in self._db.execute(sql.noted):
                if key != last:
                    row = None if packed is None else sql.row(packed, taken)
                    yield tuple(key), row
                last = key

    def versions(self, table: Table) -> dict[str, int]:
        """Return which streams, folded up to where, say what `noted` yields."""
        sql = self._sql[table.spec.name]
        with _told():
            return dict(self._db.execute(sql.versions))


def fill(
    shadow: Shadow, store: Store, position: int, progress: Progress | None = None
) -> tuple[int, int]:
    """Fold every stream up to the position; return how many, and their events."""
    with store.snapshot() as snapshot:
        shadow.name(snapshot.streams())
    count = 0 if progress is None else store.count(position)
    streams = events = told = 0
    for stream in shadow.streams():
        with collecting_later():
            rows = upto(position, store.tail(stream, 0))
            if not rows:
                continue
            shadow.put(load(State(stream), rows), store.body, new=True)
        streams, events = streams + 1, events + len(rows)
        due = events - told >= _EVENTS_BETWEEN_TELLINGS and events < count
        if progress is not None and due:
            told = events
            progress(events, count)
    if progress is not None:
        progress(events, events)
    return streams, events


def upto(position: int, rows: Sequence[EventRow]) -> Sequence[EventRow]:
    """Return those rows of a stream that are not above the position."""
    if rows and rows[-1].position > position:
        return [row for row in rows if row.position <= position]
    return rows


_CREATE = (
    "CREATE TABLE streams (name TEXT PRIMARY KEY)",
    "CREATE TABLE folded (stream TEXT PRIMARY KEY, version INTEGER) WITHOUT ROWID",
    "CREATE TABLE spared (stream TEXT PRIMARY KEY) WITHOUT ROWID",
)
_NAME = "INSERT INTO streams VALUES (?)"
_NAMED = "SELECT name FROM streams ORDER BY rowid"
_FOLD = "INSERT OR REPLACE INTO folded VALUES (?, ?)"
_SPARE = "INSERT OR IGNORE INTO spared VALUES (?)"
_SPARED = "SELECT 1 FROM spared WHERE stream = ?"


class _Statements:
    """The statements of one table: rows by key and stream, each packed.

    What two streams claim, which only an import can bring about, is shown once. A key
    is the first stream's. A unique value stays with the first key; the others show
    nothing there.
    """

    def __init__(self, name: str, table: Table) -> None:
        spec = table.spec
        keys = [f"k{number}" for number, _ in enumerate(spec.key)]
        every, taken = ", ".join(keys), "0"
        # Streams come in order, so a row is put at the end. What reads by key sorts.
        columns = f"stream, {every}, taken, packed, PRIMARY KEY (stream, {every})"
        self.create = [
            f"CREATE TABLE {name} ({columns}) WITHOUT ROWID",
            f"CREATE TABLE {name}_noted ({every}, of)",
        ]
        self._unique: int | None = None
        if table.unique is not None:
            self._unique = spec.columns.index(table.unique)
            self.create.append(f"CREATE INDEX {name}_taken ON {name} (taken)")
            others = ", ".join(f"o.{key}" for key in keys)
            own = ", ".join(f"{name}.{key}" for key in keys)
            taken = (
                f"EXISTS (SELECT 1 FROM {name} AS o "  # noqa: S608
                f"WHERE o.taken = {name}.taken "
                f"AND ({others}) < ({own}))"
            )
        row, order = f"packed, {taken}", f"ORDER BY {every}, stream"
        values = ", ".join("?" * (len(keys) + 3))
        self.put = f"INSERT INTO {name} VALUES ({values})"  # noqa: S608
        self.drop = f"DELETE FROM {name} WHERE stream = ?"  # noqa: S608
        self.rows = f"SELECT {row}, stream, {every} FROM {name} {order}"  # noqa: S608
        self.index = f"CREATE INDEX IF NOT EXISTS {name}_keys ON {name} ({every})"
        values = ", ".join("?" * (len(keys) + 1))
        self.note = f"INSERT INTO {name}_noted VALUES ({values})"  # noqa: S608
        noted = ", ".join(f"n.{key}" for key in keys)
        same = " AND ".join(f"{name}.{key} = n.{key}" for key in keys)
        self.noted = (
            f"SELECT {row}, {noted} FROM {name}_noted AS n "  # noqa: S608
            f"LEFT JOIN {name} ON {same} WHERE packed IS NOT NULL OR n.of IS NULL "
            "OR n.of NOT IN (SELECT stream FROM spared) ORDER BY n.rowid, stream"
        )
        self.versions = (
            f"SELECT said, coalesce(version, 0) FROM (SELECT of AS said "  # noqa: S608
            f"FROM {name}_noted UNION SELECT stream FROM {name}_noted AS n JOIN {name} "
            f"ON {same}) LEFT JOIN folded ON stream = said WHERE said IS NOT NULL"
        )

    def packed(self, row: Row) -> tuple[Column, bytearray]:
        """Return the row's unique value (0: the table has none), and the row packed.

        Not None, not bytes: the module would ask what to adapt them to, each time.
        """
        taken = 0 if self._unique is None else row[self._unique]
        return taken, bytearray(_pack(row))

    def row(self, packed: bytes, taken: int) -> Row:
        """Return the row; without its unique value if that is taken."""
        row: Row = _unpack(packed)
        if taken and self._unique is not None:
            return (*row[: self._unique], None, *row[self._unique + 1 :])
        return row


@contextmanager
def _told() -> Generator[None]:
    """Say what a failure of the private database means."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_FULL:
            raise StoreFull(
                "No room left for the rows that are made anew; nothing was written. "
                "Free some space, or name a folder with more in TMPDIR."
            ) from error
        raise StoreUnavailable(
            f"SQLite failed on the rows that are made anew ({error}); nothing was "
            "written. Name a folder that can be written in TMPDIR."
        ) from error
