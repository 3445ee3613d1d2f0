"""A second process of a world whose commands wait inside their transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Event, Thread
from typing import Generic, TypeVar

import pytest

from tenure import Ledger, OwnerRef
from tenure_ledger.events import StripVerdict
from tenure_ledger.hook import Change
from tenure_ledger.opening import open_shell
from tenure_ledger.rows import (
    BodyRow,
    CommandRow,
    EventRow,
    RowChange,
    Snapshot,
    TableSpec,
)
from tenure_ledger.shell import Shell
from tenure_ledger.stores.postgres import PostgresStore
from tenure_ledger.stores.postgres_unit import PostgresUnit
from tenure_projections.live import LiveTables
from together import WAIT_SECONDS, Hook, HookError
from worlds import World

__all__ = ["Answer", "HeldTables", "HeldUp", "in_thread", "seen_stripping"]

T = TypeVar("T")


class Answer(Generic[T]):
    """What a call in another thread comes to."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._came: list[T] = []
        self._problem: BaseException | None = None
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._came.append(self._call())
        except BaseException as problem:  # noqa: BLE001  the caller gets it
            self._problem = problem

    def get(self) -> T:
        """Wait for it; raise what it raised."""
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()
        if self._problem is not None:
            raise self._problem
        return self._came[0]


def in_thread(call: Callable[[], T]) -> Answer[T]:
    """Begin a call in a thread of its own."""
    return Answer(call)


def seen_stripping(ledger: Ledger, patch: pytest.MonkeyPatch) -> Event:
    """Return what is set once a gate goes to write a strip into this ledger."""
    reached, strip = Event(), ledger.strip_requests

    def strip_requests(
        owner: OwnerRef,
        strips: Iterable[tuple[str, StripVerdict, int]],
        author: str,
        version: int,
    ) -> int:
        reached.set()
        return strip(owner, strips, author, version)

    patch.setattr(ledger, "strip_requests", strip_requests)
    return reached


class HeldTables:
    """The real tables, with a hook that holds a command up in its transaction."""

    def __init__(self) -> None:
        self._live = LiveTables()
        self.hook = Hook()

    @property
    def specs(self) -> Sequence[TableSpec]:
        """The real ones."""
        return self._live.specs

    def fill(self, snapshot: Snapshot, names: Sequence[str]) -> Iterable[RowChange]:
        """Return the real rows."""
        return self._live.fill(snapshot, names)

    def changes(
        self, changes: Sequence[Change], body: Callable[[str, str], bytes | None], /
    ) -> Iterable[RowChange]:
        """Wait, once the events are in the transaction, then yield the real changes."""
        self.hook.changes(changes, body)
        yield from self._live.changes(changes, body)


def send_at_once(store: PostgresStore) -> None:
    """Let each unit send its events before it asks for the rows that go with them.

    It would hold them back until it commits: then nobody could meet them.
    """
    write = store.write

    def eager(deadline_seconds: float) -> PostgresUnit:
        unit = write(deadline_seconds)
        add = unit.add

        def sent(changes: Iterable[RowChange]) -> Iterable[RowChange]:
            unit._flush()  # pyright: ignore[reportPrivateUsage]
            yield from changes

        def add_and_send(
            events: Sequence[EventRow],
            command: CommandRow | None,
            bodies: Sequence[BodyRow] = (),
            changes: Iterable[RowChange] = (),
            erase: Sequence[str] = (),
        ) -> Sequence[int]:
            return add(events, command, bodies, sent(changes), erase)

        setattr(unit, "add", add_and_send)  # noqa: B010  mypy forbids a method
        return unit

    setattr(store, "write", eager)  # noqa: B010  mypy forbids a method


class HeldUp:
    """Commands that are written and not committed until the test says so."""

    def __init__(self, world: World) -> None:
        tables = HeldTables()
        self.hook = tables.hook
        if world.kind == "memory":
            shell = Shell(
                world.store(),
                clock=lambda: world.now,
                process=lambda: "p2",
                deadline_seconds=30.0,
                tables=tables,
            )
        else:
            shell = open_shell(world.url, process="p2", tables=tables)
            if isinstance(shell.store, PostgresStore):
                send_at_once(shell.store)
        self.ledger = Ledger(shell)
        self._waiting: list[Answer[object]] = []

    def begin(self, call: Callable[[Ledger], object]) -> None:
        """Let the call come as far as its own transaction."""
        self.hook.hold()
        self._waiting.append(in_thread(lambda: call(self.ledger)))
        assert self.hook.entered.wait(WAIT_SECONDS)

    def end(self, *, commits: bool) -> None:
        """Let it commit, or fail and be rolled back."""
        self.hook.fails = lambda _: not commits
        self.hook.go_on.set()
        answer = self._waiting.pop()
        if commits:
            answer.get()
        else:
            with pytest.raises(HookError):
                answer.get()
