"""A ledger for tests, on each store: other processes, moved time, written histories.

A `World` is one store. ``world.ledger`` is the ledger of process ``p1``; `World.open`
gives that of another process on the same store. `World.writes` and `World.refuses` say
what a call appended, as short lines: ``ses_1 ExecutionSettled@2 m1 completed``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pytest
from eventsourcing.persistence import StoredEvent

import postgres
import schemas
from tenure import Event, Ledger, OwnerRef, Recorded, Refused, open_ledger
from tenure_ledger.codec import encode
from tenure_ledger.opening import open_shell
from tenure_ledger.rows import GENESIS, CommandRow
from tenure_ledger.shell import Shell
from tenure_ledger.stores import MemoryStore, SQLiteStore
from tenure_ledger.stores.postgres import PostgresStore
from tenure_projections.live import LiveTables

__all__ = ["START", "STORES", "World", "line"]

STORES = ("memory", "sqlite", "postgres")
"""The stores that the tests run on; see `pytest_collection_modifyitems`."""
START = datetime(2026, 1, 1, tzinfo=UTC)
DETAILS = (
    "reason",
    "key",
    "into",
    "call_id",
    "outcome",
    "decision",
    "event_type",
    "ends_holding",
)
"""What a line says of an event, where the event has it."""

R = TypeVar("R", bound=Refused)


def line(recorded: Recorded) -> str:
    """Say in a few words what is recorded: id, event, generation, details."""
    event = recorded.event
    name = recorded.stream.split(":", 1)[1].split(":", 1)[-1]
    if recorded.stream.startswith("agent:"):
        name = recorded.stream.removeprefix("agent:")
    if not isinstance(event, Event):
        return f"{name} {event.topic}"
    words = [name, f"{type(event).__name__}@{event.generation}"]
    for detail in DETAILS:
        value = getattr(event, detail, None)
        if value:
            words.append(detail if value is True else str(value))
    several: tuple[str, ...] = getattr(event, "absorbed", ())
    if several:
        words.append("with " + "+".join(several))
    return " ".join(words)


class World:
    """One store, its clock, and the ledgers of the processes that share it."""

    def __init__(
        self, kind: str, folder: Path, options: str = "", *, bare: bool = False
    ) -> None:
        self.kind = kind
        self.url = "memory://"
        if kind == "sqlite":
            self.url = f"sqlite:///{folder}/relay.db{options}"
        elif kind == "postgres":
            # Who opens it with tables of another kind needs one that has none yet.
            self.url = postgres.new_url() if bare else schemas.lend(LiveTables.specs)
            # No test of a world is one of durability.
            self.url += "&durability=normal"
        self.now = START
        self._opened: list[Ledger] = []
        self.ledger = self.open("p1")

    def open(self, process: str = "p1") -> Ledger:
        """Open the store again, as the process of that name, with a cold cache."""
        if self.kind == "memory" and self._opened:
            shell = self._shell
            ledger = Ledger(
                Shell(
                    shell.store,
                    clock=lambda: self.now,
                    process=lambda: process,
                    deadline_seconds=shell.deadline_seconds,
                    tables=shell._tables,  # pyright: ignore[reportPrivateUsage]
                )
            )
        else:
            ledger = open_ledger(self.url, process=process, clock=lambda: self.now)
        self._opened.append(ledger)
        return ledger

    def plain(self) -> Ledger:
        """Open the store's file as a ledger without any tables beside its events."""
        shell = open_shell(self.url, process="p1", clock=lambda: self.now)
        ledger = Ledger(shell)
        self._opened.append(ledger)
        return ledger

    def close(self) -> None:
        """Close every ledger."""
        for ledger in self._opened:
            ledger.close()
        schemas.give_back(self.url.removesuffix("&durability=normal"))

    def pass_seconds(self, seconds: float) -> None:
        """Move the clock of every ledger of this world."""
        self.now += timedelta(seconds=seconds)

    @property
    def _shell(self) -> Shell:
        return self._opened[0]._shell  # pyright: ignore[reportPrivateUsage]

    def store(self) -> MemoryStore | SQLiteStore | PostgresStore:
        """Return the store itself, for what no public method does."""
        store = self._shell.store
        assert isinstance(store, MemoryStore | SQLiteStore | PostgresStore)
        return store

    def append(self, stream: OwnerRef | str, *events: Event) -> list[str]:
        """Write a history through the recorder, chained; return the event ids."""
        sealed: list[str] = []
        for event in events:
            whole = event.model_copy(
                update={
                    "event_id": event.event_id or str(uuid4()),
                    "command_id": str(uuid4()),
                    "recorded_at": self.now,
                    "previous_hash": self._head(stream).hex(),
                }
            )
            self._insert(stream, event.topic, encode(whole))
            sealed.append(whole.event_id)
        return sealed

    def append_unknown(self, stream: OwnerRef | str, *, ignorable: bool) -> None:
        """Write an event of a version to come."""
        text = '{"ignorable": %s, "previous_hash": "%s"}'
        state = text % (str(ignorable).lower(), self._head(stream).hex())
        self._insert(stream, "moon-phase-noted.v7", state.encode())

    def _head(self, stream: OwnerRef | str) -> bytes:
        name = stream if isinstance(stream, str) else stream.stream
        rows = self.store().tail(name, 0)
        return rows[-1].hash if rows else GENESIS

    def _insert(self, stream: OwnerRef | str, topic: str, state: bytes) -> None:
        name = stream if isinstance(stream, str) else stream.stream
        version = len(self.store().tail(name, 0)) + 1
        self.store().recorder.insert_events([StoredEvent(name, version, topic, state)])

    def command(self, owner: OwnerRef, command_id: str) -> CommandRow | None:
        """Return what the table of commands keeps under this id."""
        with self.store().write(10.0) as unit:
            return unit.command(owner.stream, command_id)

    def story(self, after: int = 0) -> list[str]:
        """Return all that was appended above a position, a line each."""
        return [line(one) for one in self.ledger.events(after)]

    @contextmanager
    def writes(self) -> Generator[list[str]]:
        """Fill the list with a line for each event that the block appended."""
        before = self.ledger.head().position
        lines: list[str] = []
        yield lines
        lines.extend(self.story(before))

    @contextmanager
    def refuses(
        self, kind: type[R], *but_writes: str
    ) -> Generator[pytest.ExceptionInfo[R]]:
        """Hold that the block is refused with exactly this kind, and writes nothing.

        ``but_writes``: the lines of what it stores all the same.
        """
        with self.writes() as lines, pytest.raises(kind) as refusal:
            yield refusal
        assert refusal.type is kind
        assert refusal.value.code == kind.code
        assert lines == list(but_writes)
