"""Write valid, chained ledger rows by hand: big stores in seconds, and raw commands.

The bytes are those of the ledger itself: each kind of event is encoded once by it and
then filled with ids and hashes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from plain import open_plain

from tenure import Authority, OwnerRef
from tenure_ledger import events as e
from tenure_ledger.codec import encode
from tenure_ledger.rows import GENESIS, CommandRow, EventRow, row_hash
from tenure_ledger.values import agent_stream

__all__ = ["INSERT_COMMAND", "INSERT_EVENT", "Session", "build", "connect"]

INSERT_EVENT = (
    "INSERT INTO stored_events (position, originator_id, originator_version, topic, "
    "state, hash) VALUES (?, ?, ?, ?, ?, ?)"
)
INSERT_COMMAND = (
    "INSERT INTO commands (stream, command_id, digest, first_version, outcome) "
    "VALUES (?, ?, ?, ?, ?)"
)
_NOW = datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
_IDS = ("EVENT-" + "e" * 30, "COMMAND-" + "c" * 28, "PREVIOUS" + "p" * 56, "KEY-" * 3)


class _Envelope(TypedDict):
    command_id: str
    author: str
    generation: int
    recorded_at: datetime
    previous_hash: str


class _Fenced(_Envelope):
    event_id: str
    fenced: bool


Step = Callable[[_Fenced], e.Event]


def _admitted(envelope: _Fenced) -> e.Event:
    return e.ExecutionAdmitted(key=_IDS[3], origin="assistant_run", **envelope)


def _started(envelope: _Fenced) -> e.Event:
    return e.ExecutionStarted(key=_IDS[3], **envelope)


def _settled(envelope: _Fenced) -> e.Event:
    return e.ExecutionSettled(key=_IDS[3], outcome="completed", **envelope)


_STEPS: tuple[Step, ...] = (_admitted, _started, _settled)
"""The life of one message: three commands of one event each."""


class Session:
    """One session with a live holder, and the rows of its next commands."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.owner = OwnerRef("session", f"ses_{number:06d}")
        self.agent_id = f"manager/{self.owner.owner_id}/1"
        digits = sha256(self.agent_id.encode()).hexdigest()
        self.incarnation, self._claim_id = _id(digits[:32]), _id(digits[32:])
        self.version = 0
        self.hash = GENESIS
        self._templates = [self._template(step) for step in _STEPS]

    @property
    def authority(self) -> Authority:
        """What the holder writes with."""
        return Authority(self.owner, 1, self.incarnation, self.agent_id)

    def claim(self) -> Iterator[tuple[EventRow, CommandRow | None]]:
        """Yield the rows by which the holder got the session."""
        command_id = self._claim_id
        envelope: _Envelope = {
            "command_id": command_id,
            "author": "host",
            "generation": 1,
            "recorded_at": _NOW,
            "previous_hash": GENESIS.hex(),
        }
        claimed = e.OwnershipClaimed(
            event_id=self.incarnation,
            agent_id=self.agent_id,
            process="bench",
            count=2,
            **envelope,
        )
        bound = e.AgentBound(
            event_id=_id(self.incarnation[::-1].replace("-", "")),
            owner=self.owner,
            index=1,
            count=2,
            **envelope,
        )
        row = self._next(claimed.topic, encode(claimed))
        yield row, self._command(command_id, b'{"at":1}')
        stream, state = agent_stream(self.agent_id), encode(bound)
        hashed = row_hash(stream, 1, bound.topic, state)
        yield EventRow(0, stream, 1, bound.topic, state, hashed), None

    def step(self) -> tuple[EventRow, CommandRow]:
        """Return the rows of the next command: admit, start or settle a message."""
        number = self.version - 1
        topic, template = self._templates[number % 3]
        before = self.hash.hex()
        # Ids that look like a UUID4, in no order, as real ones are.
        event_id, command_id = _id(before[:32]), _id(before[32:])
        key = b"msg_%08d" % (number // 3)
        state = template % (
            event_id.encode(),
            command_id.encode(),
            before.encode(),
            key,
        )
        row = self._next(topic, state)
        return row, self._command(command_id, b'{"at":%d}' % self.version)

    def _next(self, topic: str, state: bytes) -> EventRow:
        self.version += 1
        stream = self.owner.stream
        self.hash = row_hash(stream, self.version, topic, state)
        return EventRow(0, stream, self.version, topic, state, self.hash)

    def _command(self, command_id: str, outcome: bytes) -> CommandRow:
        # The digest has the length of a digest; nothing here asks it again.
        return CommandRow(
            self.owner.stream, command_id, self.hash, self.version, outcome
        )

    def _template(self, step: Step) -> tuple[str, bytes]:
        event_id, command_id, previous, key = _IDS
        envelope: _Fenced = {
            "event_id": event_id,
            "command_id": command_id,
            "author": self.agent_id,
            "generation": 1,
            "fenced": True,
            "recorded_at": _NOW,
            "previous_hash": previous,
        }
        event = step(envelope)
        state = encode(event).replace(b"%", b"%%")
        for text in (event_id, command_id, previous, key):
            state = state.replace(text.encode(), b"%b")
        return event.topic, state


def _id(digits: str) -> str:
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
    )


def connect(path: Path) -> sqlite3.Connection:
    """Open the file as somebody would who writes the transaction by hand."""
    db = sqlite3.connect(path, isolation_level=None, cached_statements=128)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    return db


def build(path: Path, streams: int, events: int) -> list[Session]:
    """Make a ledger of about ``events`` events in ``streams`` sessions."""
    with open_plain(f"sqlite:///{path}") as ledger:
        ledger.setup()
    sessions = [Session(number) for number in range(streams)]
    each = max(0, events // streams - 2)
    with closing(connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN IMMEDIATE")
        for session in sessions:
            _insert(db, [*session.claim(), *(session.step() for _ in range(each))])
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sessions


def _insert(
    db: sqlite3.Connection, rows: list[tuple[EventRow, CommandRow | None]]
) -> None:
    db.executemany(INSERT_EVENT, [(None, *event[1:]) for event, _ in rows])
    commands = [command for _, command in rows if command is not None]
    db.executemany(INSERT_COMMAND, commands)
