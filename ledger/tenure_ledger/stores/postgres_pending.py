"""What a unit will send, and what it has added already: readable before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import BodyRow, CommandRow, Conflict, EventRow
from tenure_ledger.stores.postgres_columns import encode
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_wire import Call

__all__ = [
    "INSERT_BODY",
    "INSERT_COMMAND",
    "INSERT_EVENTS",
    "ORDINALS_MAX",
    "Pending",
    "Positions",
]

ORDINALS_MAX = 1 << 16
"""So many events have a position in one transaction."""

_LINES_MAX = 1000
"""Events in one transaction beyond which it does not look who waits in line: the server
has room for so many locks only, and who overtakes once starves nobody."""

_INSERT_EVENT = sql("insert_event")
_INSERT_NEXT_EVENT = sql("insert_next_event")
INSERT_COMMAND = sql("insert_command")
INSERT_BODY = sql("insert_body")
INSERT_EVENTS = _INSERT_EVENT, _INSERT_NEXT_EVENT
_ERASE_BODIES = sql("erase_bodies")

_EVENT_FORMATS = (0, 1, 0, 1, 1, 1, 0)
_NEXT_EVENT_FORMATS = (*_EVENT_FORMATS, 1)


class Pending:
    """The rows of one unit, in the order in which they were added."""

    def __init__(self) -> None:
        self.events: list[tuple[int, EventRow]] = []
        """Those not sent yet, each with its place in the transaction."""
        self.calls: list[Call] = []
        """What else is not sent yet, in order."""
        self.count = 0
        """How many events were added."""
        self.heads: dict[str, tuple[int, bytes]] = {}
        self.commands: dict[tuple[str, str], CommandRow] = {}
        self.first: dict[str, int] = {}
        """Of streams of which nothing was sent yet, the first version added."""
        self._versions: set[tuple[str, int]] = set()
        self._bodies: dict[tuple[str, str], bytes] = {}
        self._erased: set[str] = set()

    def add_events(self, rows: Sequence[EventRow]) -> int:
        """Add events; return the place of the first. Raises Conflict, InvalidInput."""
        first = self.count
        for row in rows:
            key = row.stream, row.version
            if key in self._versions:
                raise Conflict(f"Version {row.version} of {row.stream} exists.")
            self._versions.add(key)
            self.events.append((self.count, row))
            self.count += 1
            if row.stream not in self.heads:
                self.first[row.stream] = row.version
            head = self.heads.get(row.stream)
            if head is None or head[0] < row.version:
                self.heads[row.stream] = (row.version, row.hash)
        if self.count > ORDINALS_MAX:
            # Of several commands each is tried alone then.
            raise InvalidInput(
                f"PostgreSQL has places for {ORDINALS_MAX} events in one transaction, "
                f"and this is number {self.count}; nothing was written. Ask for less "
                "at once, or keep this ledger in SQLite."
            )
        return first

    def add_command(self, row: CommandRow) -> None:
        """Add a command. Raises Conflict."""
        key = row.stream, row.command_id
        if key in self.commands:
            raise Conflict(f"Command {row.command_id} exists.")
        self.commands[key] = row
        values = [
            row.stream.encode(),
            row.command_id.encode(),
            row.digest,
            b"%d" % row.first_version,
            row.outcome,
        ]
        self.calls.append(Call(INSERT_COMMAND, values, (1, 1, 1, 0, 1)))

    def erase(self, stream: str) -> None:
        """Erase the stream's bodies."""
        self._erased.add(stream)
        for key in [key for key in self._bodies if key[0] == stream]:
            del self._bodies[key]
        self.calls.append(Call(_ERASE_BODIES, [stream.encode()], [1]))

    def add_body(self, row: BodyRow) -> None:
        """Add a body, unless there is one."""
        self._bodies.setdefault((row.stream, row.digest), row.body)
        key_id, form = encode(row.key_id)
        values = [row.digest.encode(), row.stream.encode(), row.body, key_id]
        self.calls.append(Call(INSERT_BODY, values, (1, 1, 1, form)))

    def body(self, stream: str, digest: str) -> tuple[bytes | None] | None:
        """Return the body, or that it is erased, in a tuple; None: not known here."""
        found = self._bodies.get((stream, digest))
        if found is not None:
            return (found,)
        return (None,) if stream in self._erased else None

    def take(
        self,
        heads: dict[str, tuple[int, bytes] | None],
        line: Callable[[str], bytes | None],
    ) -> list[Call]:
        """Return what is to be sent, events first, and forget it.

        Events are in the order of streams, so that two do not wait for one another.
        ``heads``: those that the unit has read; the row behind a head is inserted only
        if that is still there. ``line`` gives the lock in which one waits for a stream.
        """
        calls: list[Call] = []
        events = self.events
        looks = self.count <= _LINES_MAX
        if len(events) > 1:
            events = sorted(events, key=lambda one: one[1][1:3])
        for place, row in events:
            values = [
                b"%d" % place,
                row.stream.encode(),
                b"%d" % row.version,
                row.topic.encode(),
                row.state,
                row.hash,
                line(row.stream) if looks else None,
            ]
            head = heads.get(row.stream)
            if head is not None and head[0] + 1 == row.version:
                values.append(head[1])
                calls.append(Call(_INSERT_NEXT_EVENT, values, _NEXT_EVENT_FORMATS))
            else:
                calls.append(Call(_INSERT_EVENT, values, _EVENT_FORMATS))
        calls += self.calls
        self.first.clear()
        self.events, self.calls = [], []
        return calls


class Positions(Sequence[int]):
    """The positions of some events: given when the transaction is, which may be later.

    Looking at one before the commit begins the transaction.
    """

    def __init__(self, first: Callable[[], int], start: int, count: int) -> None:
        self._first = first
        self._start = start
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...

    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        start = self._first() + self._start
        return range(start, start + self._count)[at]

    def __iter__(self) -> Iterator[int]:
        if not self._count:
            return iter(())
        start = self._first() + self._start
        return iter(range(start, start + self._count))

    def __repr__(self) -> str:
        return f"<positions of {self._count} events>"
