"""What a memory store holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tenure_ledger.columns import (
    check_columns,
    sql_order,
    taken_table,
    unknown_table,
    without_unique,
)
from tenure_ledger.rows import (
    BodyRow,
    Column,
    CommandRow,
    EventRow,
    Row,
    RowChange,
    TableSpec,
)
from tenure_ledger.stores.memory_recorder import Recorder

__all__ = ["Contents", "MemorySnapshot", "apply", "selected"]

_Rows = dict[Row, Row]
_Bodies = Mapping[str, Mapping[str, BodyRow]]


class Contents:
    """What a memory store holds; everything in it changes under the recorder's lock."""

    def __init__(self, recorder: Recorder, specs: Sequence[TableSpec]) -> None:
        self.recorder = recorder
        self.commands: dict[tuple[str, str], CommandRow] = {}
        self.bodies: dict[str, dict[str, BodyRow]] = {}
        self.commits = 0
        self._specs: dict[str, TableSpec] = {}
        self._tables: dict[str, _Rows] = {}
        self.define(specs)

    def define(self, specs: Sequence[TableSpec]) -> None:
        """Make further tables. Raises InvalidInput for a name that is taken."""
        with self.recorder.lock:
            for spec in specs:
                if self._specs.setdefault(spec.name, spec) != spec:
                    raise taken_table(spec.name)
                self._tables.setdefault(spec.name, {})

    def lacking(self, specs: Sequence[TableSpec]) -> frozenset[str]:
        """Return the names of those tables that are not there."""
        return frozenset(spec.name for spec in specs) - self._specs.keys()

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        with self.recorder.lock:
            return _body(self.bodies, stream, digest)

    def spec(self, table: str) -> TableSpec:
        """Return what a table is. Raises InvalidInput when there is none."""
        if table not in self._specs:
            raise unknown_table(table)
        return self._specs[table]

    def table(self, table: str) -> _Rows:
        """Return a copy of a table: row by key. Raises InvalidInput."""
        self.spec(table)
        with self.recorder.lock:
            return dict(self._tables[table])

    def row(self, table: str, key: Row) -> Row | None:
        """Return the row with this key, None if there is none."""
        with self.recorder.lock:
            return self._tables[table].get(key)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Put and delete rows, and count the commit that does it."""
        for change in changes:
            apply(self._tables[change.table], self._specs[change.table], change)
        self.commits += 1

    def snapshot(self) -> MemorySnapshot:
        """Return all that is there now."""
        with self.recorder.lock:
            tables = {name: dict(rows) for name, rows in self._tables.items()}
            return MemorySnapshot(self.recorder, dict(self._specs), tables, self.bodies)


class MemorySnapshot:
    """All that a memory store held at one moment."""

    def __init__(
        self,
        recorder: Recorder,
        specs: Mapping[str, TableSpec],
        tables: Mapping[str, _Rows],
        bodies: _Bodies,
    ) -> None:
        self.position = recorder.max_notification_id() or 0
        self._recorder = recorder
        self._specs = specs
        self._tables = tables
        # Erasing takes a whole stream out; what else changes is only added to.
        self._bodies = dict(bodies)

    def streams(self) -> Iterator[str]:
        """Yield the name of every stream, in order of their UTF-8 bytes."""
        names = self._recorder.streams()
        for stream in sorted(names, key=str.encode):
            if self.tail(stream, 1):
                yield stream

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        rows = self._recorder.tail(stream, version)
        return [row for row in rows if row.position <= self.position]

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        return _body(self._bodies, stream, digest)

    def rows(
        self, table: str, where: Mapping[str, Column] | None = None
    ) -> Iterator[Row]:
        """Yield a table's rows by key. Raises InvalidInput."""
        if table not in self._specs:
            raise unknown_table(table)
        yield from selected(self._tables[table], self._specs[table], where or {})


def apply(rows: _Rows, spec: TableSpec, change: RowChange) -> None:
    """Put or delete one row."""
    if change.row is None:
        rows.pop(change.key, None)
        return
    named = dict(zip(spec.columns, change.row, strict=True))
    key = tuple(named[column] for column in spec.key)
    row = change.row
    if spec.unique is not None and (value := named[spec.unique]) is not None:
        place = spec.columns.index(spec.unique)
        if any(other[place] == value for at, other in rows.items() if at != key):
            row = without_unique(spec, row)
    rows[key] = row


def selected(rows: _Rows, spec: TableSpec, where: Mapping[str, Column]) -> list[Row]:
    """Return the rows with these values, by key. Raises InvalidInput."""
    check_columns(spec, where)
    places = [(spec.columns.index(column), value) for column, value in where.items()]
    found = [
        (key, row)
        for key, row in rows.items()
        if all(row[place] == value for place, value in places)
    ]
    found.sort(key=lambda item: [sql_order(column) for column in item[0]])
    return [row for _, row in found]


def _body(bodies: _Bodies, stream: str, digest: str) -> bytes | None:
    found = bodies.get(stream, {}).get(digest)
    return None if found is None else found.body
