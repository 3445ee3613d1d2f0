"""One transaction in memory: collected first, then made visible at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from eventsourcing.persistence import IntegrityError

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import (
    BodyRow,
    Column,
    CommandRow,
    Conflict,
    EventRow,
    Row,
    RowChange,
)
from tenure_ledger.stores.fair_lock import FairLock, overdue
from tenure_ledger.stores.memory_contents import Contents, apply, selected

__all__ = ["MemoryUnit"]


class MemoryUnit:
    """Collect rows; `commit` stores them all under one lock, or none of them.

    What fails ends the unit: nothing of it can be committed any more.
    """

    def __init__(
        self,
        contents: Contents,
        turn: FairLock,
        check: Callable[[], None],
        deadline_seconds: float,
    ) -> None:
        self._contents = contents
        self._turn = turn
        self._check = check
        self._deadline_seconds = deadline_seconds
        self._token = object()
        self._begun = False
        self._over: BaseException | None = StoreUnavailable("This unit is not begun.")
        self._events: list[EventRow] = []
        self._versions: set[tuple[str, int]] = set()
        self._commands: dict[tuple[str, str], CommandRow] = {}
        self._bodies: dict[str, dict[str, BodyRow]] = {}
        self._changes: list[RowChange] = []
        self._erased: set[str] = set()

    def __enter__(self) -> Self:
        self._begun = True
        try:
            if not self._turn.acquire(self._token, self._deadline_seconds):
                raise overdue("this ledger")  # noqa: TRY301  undone just below
            self._check()
        except BaseException:
            self._turn.release(self._token)
            raise
        self._over = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over = self._over or StoreUnavailable("This unit is over: begin another.")
        self._turn.release(self._token)
        self._begun = False

    def __del__(self) -> None:
        # A signal between two lines of `with` can leave a unit that nobody exits.
        if self._begun:
            self._turn.release(self._token)

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Return the stream's rows with a version >= ``version``, in order."""
        self._go_on()
        rows = self._contents.recorder.tail(stream, version)
        rows += [r for r in self._events if r.stream == stream and r.version >= version]
        return sorted(rows, key=lambda row: row.version)

    def head(self, stream: str) -> tuple[int, bytes] | None:
        """Return version and hash of the stream's last row, None when it has none."""
        self._go_on()
        rows = self._contents.recorder.last(stream)
        rows += [row for row in self._events if row.stream == stream]
        return max(((row.version, row.hash) for row in rows), default=None)

    def command(self, stream: str, command_id: str) -> CommandRow | None:
        """Return the accepted command of that id, in this unit or before it."""
        self._go_on()
        key = stream, command_id
        return self._commands.get(key) or self._contents.commands.get(key)

    def body(self, stream: str, digest: str) -> bytes | None:
        """Return the stored body, None when it was erased or never stored."""
        self._go_on()
        added = self._bodies.get(stream, {}).get(digest)
        if added is not None:
            return added.body
        return None if stream in self._erased else self._contents.body(stream, digest)

    def rows(self, table: str, where: Mapping[str, Column]) -> Sequence[Row]:
        """Return a table's rows with these values, by key. Raises InvalidInput."""
        self._go_on()
        spec = self._contents.spec(table)
        if {*where} == {*spec.key}:
            return self._row(table, tuple([where[column] for column in spec.key]))
        stored = self._contents.table(table)
        for change in self._changes:
            if change.table == table:
                apply(stored, spec, change)
        return selected(stored, spec, where)

    def _row(self, table: str, key: Row) -> Sequence[Row]:
        row = self._contents.row(table, key)
        for change in self._changes:
            if change.table == table and change.key == key:
                row = change.row
        return [] if row is None else [row]

    def add(
        self,
        events: Sequence[EventRow],
        command: CommandRow | None,
        bodies: Sequence[BodyRow] = (),
        changes: Iterable[RowChange] = (),
        erase: Sequence[str] = (),
    ) -> Sequence[int]:
        """Add one command's rows; what it erases goes first, its own bodies stay.

        Raises Conflict when a version or the command exists already.
        """
        self._go_on()
        try:
            positions = self._add_events(events)
            if command is not None:
                self._add_command(command)
            for stream in erase:
                self._erased.add(stream)
                self._bodies.pop(stream, None)
            for body in bodies:
                if self.body(body.stream, body.digest) is None:
                    self._bodies.setdefault(body.stream, {})[body.digest] = body
            for change in changes:
                self._contents.spec(change.table)
                self._changes.append(change)
        except BaseException as error:
            self._over = error
            raise
        return positions

    def expect(self, reads: Mapping[str, int]) -> None:
        """Do nothing: nobody else writes while the unit is open."""

    def confirm(self) -> None:
        """Do nothing more: what can be read here is as durable as it gets."""
        self._go_on()

    def commit(self) -> None:
        """Store everything. Raises Conflict, then nothing is stored."""
        self._go_on()
        stored = self._contents
        with stored.recorder.lock:
            try:
                stored.recorder.append(self._events)
            except IntegrityError as error:
                self._over = Conflict(f"Somebody else wrote it first ({error}).")
                raise self._over from error
            stored.commands.update(self._commands)
            for stream in self._erased:
                stored.bodies.pop(stream, None)
            for stream, bodies in self._bodies.items():
                stored.bodies.setdefault(stream, {}).update(bodies)
            stored.change(self._changes)
        self._over = StoreUnavailable("This unit is committed: begin another.")

    def _go_on(self) -> None:
        if self._over is not None:
            raise self._over

    def _add_events(self, events: Sequence[EventRow]) -> Sequence[int]:
        head = self._contents.recorder.max_notification_id() or 0
        first = head + len(self._events) + 1
        for position, row in enumerate(events, first):
            key = row.stream, row.version
            if key in self._versions or self._contents.recorder.has(*key):
                raise Conflict(f"Version {row.version} of {row.stream} exists.")
            self._versions.add(key)
            self._events.append(row._replace(position=position))
        return range(first, first + len(events))

    def _add_command(self, command: CommandRow) -> None:
        if self.command(command.stream, command.command_id) is not None:
            raise Conflict(f"Command {command.command_id} exists.")
        self._commands[command.stream, command.command_id] = command
