"""Heads and verification: what was edited, removed, reordered, cut off or put back.

A head is one hash over the hashes of all events in the order of the ledger. Kept
outside the store, it finds what no chain inside it can: a cut tail, a restored backup,
a fork (design sections 4 and 12).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple, Self

from tenure_ledger.codec import check_columns
from tenure_ledger.errors import Corrupt, InvalidInput
from tenure_ledger.events import Event, Unknown
from tenure_ledger.lean import parse
from tenure_ledger.rows import GENESIS, EventRow, Store, row_hash
from tenure_ledger.values import check_integer, json_fields, set_plain

__all__ = ["Head", "Problem", "ProblemKind", "Verification", "head_after", "verify"]

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")

ProblemKind = Literal[
    "edited", "removed", "reordered", "unreadable", "incomplete", "cut_tail", "fork"
]


@dataclass(frozen=True, slots=True)
class Head:
    """The state of a whole ledger in one line: export it, often."""

    position: int
    count: int
    digest: str
    """Hex sha256 over all event hashes up to ``position``."""

    def __post_init__(self) -> None:
        position = check_integer("position", self.position, 0)
        count = check_integer("count", self.count, 0)
        if not isinstance(self.digest, str) or not _DIGEST.match(self.digest):
            msg = "the digest of a head is 64 hexadecimal digits"
            raise InvalidInput(msg)
        digest = str.__str__(self.digest)
        set_plain(self, position=position, count=count, digest=digest)

    def to_json(self) -> str:
        """Return the head as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the head that `to_json` wrote; `InvalidInput` for other text."""
        try:
            data: object = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            msg = f"this is not the JSON of a Head: {error}"
            raise InvalidInput(msg) from None
        return cls(**json_fields(cls, "the JSON of a Head", data))


class Problem(NamedTuple):
    """The first thing that is wrong, and where."""

    kind: ProblemKind
    stream: str
    """Empty when the whole ledger is meant."""
    version: int
    position: int
    text: str


class Verification(NamedTuple):
    """What a verification found."""

    head: Head
    """Of what was read up to the problem, or to the end."""
    problem: Problem | None

    @property
    def ok(self) -> bool:
        """Say whether nothing is wrong."""
        return self.problem is None


EMPTY = Head(0, 0, GENESIS.hex())
_NONE_YET = (0, GENESIS)


def head_after(store: Store, since: Head | None) -> Head:
    """Return the head of what is settled, going on from an earlier one.

    What others may still commit below is not in it: it would be a fork to this head.
    Raises `InvalidInput` where the store ends before that, `Corrupt` for a hash that
    is none.
    """
    start = since or EMPTY
    digest, position, count = bytes.fromhex(start.digest), start.position, start.count
    end = store.horizon()
    for position, one in store.hashes(start.position, end):
        if type(one) is not bytes:
            msg = f"the hash at position {position} was changed: see verify()"
            raise Corrupt(msg)
        digest = hashlib.sha256(digest + one).digest()
        count += 1
    if position == start.position and end < position:
        msg = (
            f"this ledger ends at position {end}, before the head of {position} that "
            "was given: see verify(against=...)"
        )
        raise InvalidInput(msg)
    return Head(position, count, digest.hex())


@dataclass(frozen=True, slots=True)
class _Link:
    """What ties an event to its neighbours."""

    previous_hash: str
    command_id: str
    index: int
    count: int


def _link(event: Unknown) -> _Link:
    header = event.header
    return _Link(
        str(header.get("previous_hash", "")),
        str(header.get("command_id", "")),
        int(header.get("index", 0)),
        int(header.get("count", 1)),
    )


class _Chain:
    """The walk over all rows: heads of all streams, the open command, the digest."""

    def __init__(self, store: Store, against: Head | None) -> None:
        self.store = store
        self.against = against
        self.heads: dict[str, tuple[int, bytes]] = {}
        self.command: tuple[str, int, int] = ("", 0, 0)
        self.last: EventRow | None = None
        self.incomplete: Problem | None = None
        self.forked: Problem | None = None
        # The two say that something is wrong and not what: a row below may say it.
        self.digest = GENESIS
        self.position = 0
        self.count = 0

    def head(self) -> Head:
        return Head(self.position, self.count, self.digest.hex())

    def row(self, row: EventRow) -> Problem | None:
        if self.against is not None and row.position > self.against.position:
            # Whether the head that was given is one of this ledger shows here.
            self.forked, self.against = self.compare(ended=False), None
        problem = self._row(row)
        if problem is None:
            self.digest = hashlib.sha256(self.digest + row.hash).digest()
            self.position, self.count = row.position, self.count + 1
            self.last = row
        return problem

    def end(self) -> Problem | None:
        """Check, behind the last row, what only the end can show."""
        problem = self.incomplete or self.forked or self.compare(ended=True)
        _, index, count = self.command
        if problem is None and self.last is not None and index + 1 < count:
            text = f"it is event {index + 1} of {count} of its command, and the last"
            return _problem("incomplete", self.last, text)
        return problem

    def _row(self, row: EventRow) -> Problem | None:
        try:
            check_columns(row)
        except Corrupt as error:
            stream = row.stream if type(row.stream) is str else ""
            version = row.version if type(row.version) is int else 0
            return Problem("unreadable", stream, version, row.position, str(error))
        _position, stream, version, topic, state, hashed = row
        before, previous = self.heads.get(stream, _NONE_YET)
        if version != before + 1:
            return self._gap(row, before)
        if row_hash(stream, version, topic, state) != hashed:
            return _problem("edited", row, "its bytes do not match its hash")
        try:
            event = parse(row)
            link = _link(event) if isinstance(event, Unknown) else event
        except (Corrupt, ValueError, TypeError, ArithmeticError) as error:
            return _problem("unreadable", row, str(error))
        if link.previous_hash != previous.hex():
            return self._broken(row, before)
        self._whole(row, link)
        self.heads[stream] = (version, hashed)
        return None

    def _gap(self, row: EventRow, version: int) -> Problem:
        if row.version <= version:
            return _problem("reordered", row, f"it stands after version {version}")
        missing = row._replace(version=version + 1)
        text = f"version {row.version} stands in its place"
        found = self.store.tail(row.stream, missing.version)
        if found and found[0].version == missing.version:
            return _problem("reordered", missing, text)
        return _problem("removed", missing, text)

    def _broken(self, row: EventRow, version: int) -> Problem:
        text = f"version {row.version} refers to another event before it"
        return _problem("edited", row._replace(version=max(version, 1)), text)

    def _whole(self, row: EventRow, event: Event | _Link) -> None:
        """Note whether the events of a command stand together and are all there."""
        command_id, index, count = self.command
        self.command = now = (event.command_id, event.index, event.count)
        complete = index + 1 >= count
        if now[1] != 0 if complete else now != (command_id, index + 1, count):
            text = f"events of command {event.command_id or command_id} are missing"
            self.incomplete = self.incomplete or _problem("incomplete", row, text)

    def compare(self, *, ended: bool) -> Problem | None:
        """Compare the digest at the position of the head that was given.

        ``ended``: no event stands behind it. Positions may have gaps, so a ledger that
        went on without what the head has seen need not have an event at its position.
        """
        against = self.against
        if against is None:
            return None
        if (self.count, self.digest.hex()) == (against.count, against.digest):
            return None
        if ended and self.position < against.position:
            text = (
                f"the ledger ends at position {self.position}, the head says "
                f"{against.position}: its tail was cut off or a backup put back"
            )
            return Problem("cut_tail", "", 0, self.position, text)
        text = f"up to position {against.position} other events stand here"
        return Problem("fork", "", 0, against.position, text)


def _problem(kind: ProblemKind, row: EventRow, text: str) -> Problem:
    said = f"event {row.version} of {row.stream} was {kind}: {text}"
    return Problem(kind, row.stream, row.version, row.position, said)


def verify(store: Store, against: Head | None = None) -> Verification:
    """Walk all that is settled in order and return the first thing that is wrong.

    A row above may have others committed below it while one walks.
    """
    chain = _Chain(store, against)
    for row in store.events(0, store.horizon()):
        problem = chain.row(row)
        if problem is not None:
            return Verification(chain.head(), problem)
    return Verification(chain.head(), chain.end())
