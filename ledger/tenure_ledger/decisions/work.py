"""What every decision shares: its inputs, and the events it drafts.

A decision is ``decide(states, command, context) -> Decided | Rejection``: pure and
total. `Work` collects its events and folds each one at once, so that a later step of
the same decision sees what an earlier one did.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from tenure_ledger.errors import Rejection
from tenure_ledger.events import Event
from tenure_ledger.folds.stream import State, follow
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "Asked",
    "At",
    "Body",
    "Called",
    "Command",
    "Context",
    "Decided",
    "Draft",
    "Envelope",
    "Granted",
    "Outcome",
    "Recovered",
    "States",
    "Work",
    "made",
]

E = TypeVar("E", bound=Event)

States = Mapping[str, State]
"""The state of every stream that the decision reads, by name."""


Envelope = dict[str, Any]
"""The part of an event's envelope that a decision fills, as keyword arguments."""


class Context(Struct, frozen=True):
    """What a decision takes from outside: time, the caller's process, a new id."""

    now: datetime
    process: str
    new_id: str
    """A UUID4 for the one thing that a command may create: a holding, a request."""


class Command(Protocol):
    """What a public method asks for. ``owner`` is the first-named owner."""

    @property
    def owner(self) -> OwnerRef:
        """The owner whose stream keeps the command id."""
        ...


class Granted(NamedTuple):
    """The command gave an authority to this process."""

    authority: Authority
    process: str


class At(Struct, frozen=True):
    """The fact is on record at this version of the first-named owner's stream."""

    version: int


class Called(NamedTuple):
    """A tool call; ``fresh`` is True for the one answer that says: run it."""

    key: str
    call_id: str
    fresh: bool = False


class Asked(NamedTuple):
    """An approval request."""

    request_id: str


class Recovered(NamedTuple):
    """What a recovery run or a reaper did to one owner, and why."""

    disposition: Literal["resumed", "closed", "discarded", "unchanged"]
    version: int
    """The version of the owner's stream after it."""
    assertion: str | None = None
    detail: str = ""
    reasons: tuple[str, ...] = ()
    discarded: str | None = None
    """Why a leftover checkpoint was cleared, whatever else was done."""
    told: OwnerRef | None = None
    """In whose stream the notice waits."""
    grants: tuple[str, ...] | None = None
    """What an owner that is resumed may do now; None: everything."""
    authority: Authority | None = None
    """Of an owner that is resumed, for ``process``."""
    process: str | None = None


Outcome = Granted | At | Called | Asked | Recovered


class Body(NamedTuple):
    """The digest and the bytes of a body; equal when the digests are."""

    digest: str
    data: bytes

    def __repr__(self) -> str:
        return f"Body({self.digest})"


class Draft(Struct, frozen=True):
    """One event to append, sealed but for ids and hash, and the bodies it refers to."""

    stream: str
    version: int
    event: Event
    body: Body | None = None


class Decided(Struct, frozen=True):
    """The events of one command, in order, and what its method returns."""

    drafts: tuple[Draft, ...]
    outcome: Outcome
    states: States
    """The states after the events; their hashes are the shell's to fill in."""
    erase: tuple[str, ...] = ()
    """Streams whose bodies are erased in the same transaction."""
    refusal: Rejection | None = None
    """Raised after the events are stored: the one refusal that stores something."""


class Work:
    """The events of one decision so far, and the states they lead to."""

    def __init__(self, states: States, context: Context) -> None:
        self.context = context
        self.states = dict(states)
        self.drafts: list[Draft] = []

    def state(self, owner: OwnerRef) -> State:
        """Return the owner's state after the events so far."""
        return self.states[owner.stream]

    def by_holder(self, owner: OwnerRef) -> Envelope:
        """Return the envelope of an event that the owner's live holding writes."""
        own = self.states[owner.stream].ownership
        return self.by(own.holder, own.generation, fenced=True)

    def by(self, author: str, generation: int, *, fenced: bool = False) -> Envelope:
        """Return the envelope of an event under a named author."""
        return {
            "author": author,
            "generation": generation,
            "fenced": fenced,
            "recorded_at": self.context.now,
        }

    def add(self, stream: str, event: Event, body: Body | None = None) -> int:
        """Append the event to the draft and return its version in ``stream``."""
        state = self.states[stream]
        version = state.version + 1
        self.states[stream] = follow(state, version, state.hash, event)
        self.drafts.append(Draft(stream, version, event, body))
        return version

    def decided(
        self,
        outcome: Outcome,
        *,
        erase: tuple[str, ...] = (),
        refusal: Rejection | None = None,
    ) -> Decided:
        """Close the decision."""
        return Decided(tuple(self.drafts), outcome, self.states, erase, refusal)


def made(kind: type[E], envelope: Envelope, /, **fields: object) -> E:
    """Return the event that ``kind(**envelope, **fields)`` is, checked like it.

    For the frequent ones: the constructor would spend as long again on the way to its
    own validator.
    """
    event: E = kind.__pydantic_validator__.validate_python(envelope | fields)
    return event
