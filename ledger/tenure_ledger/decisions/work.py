"""What every decision shares: its inputs, its fence, and the events it drafts.

A decision is ``decide(states, command, context) -> Decided | Rejection``: pure and
total. `Work` collects its events and folds each one at once, so that a later step of
the same decision sees what an earlier one did.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from tenure_ledger.errors import (
    Deleted,
    FencedOut,
    InvalidInput,
    OwnerEnded,
    Quarantined,
    Rejection,
    TermRetired,
    TooNew,
    UnknownOwner,
    refuse,
)
from tenure_ledger.events import Event
from tenure_ledger.folds.stream import State, follow
from tenure_ledger.values import RESTORED, Authority, OwnerRef

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
    "blocked",
    "fence",
    "made",
    "newer",
    "stopped",
    "unclaimed",
    "unfenced",
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


def blocked(state: State, owner: OwnerRef) -> Rejection | None:
    """Return why no command at all may act on this owner, if so."""
    if owner == RESTORED:
        return refuse(InvalidInput, f"{owner} is the ledger's own: use another owner")
    return stopped(state, owner)


def stopped(state: State, owner: OwnerRef) -> Rejection | None:
    """Return why nothing can be decided on this stream, if so."""
    if state.too_new:
        return newer(state, owner)
    if state.quarantine is not None:
        later, earlier = state.quarantine.version, state.quarantine.against
        return refuse(
            Quarantined,
            f"events {earlier} and {later} of {owner} contradict each other: "
            "say with resolve_quarantine which one stands",
            positions=(earlier, later),
        )
    if state.ownership.status == "deleted":
        return refuse(
            Deleted,
            f"{owner} was deleted at version {state.ownership.ended}: use a new id",
            version=state.ownership.ended,
        )
    return None


def newer(state: State, owner: OwnerRef) -> Rejection:
    """Refuse because the stream holds an event that this version cannot read."""
    return refuse(
        TooNew,
        f"{owner} holds an event of a newer version at {state.too_new}: "
        "upgrade this process",
        version=state.too_new,
    )


def unclaimed(owner: OwnerRef) -> Rejection:
    """Refuse because the owner never had a holder."""
    return refuse(UnknownOwner, f"nobody ever claimed {owner}: claim it first")


def unfenced(state: State, owner: OwnerRef) -> Rejection | None:
    """Return why what needs no authority may not be written now, if so."""
    refusal = blocked(state, owner)
    if refusal is None and not state.version:
        refusal = refuse(
            UnknownOwner,
            f"nothing is on record for {owner}: check the id, or claim it first",
        )
    return refusal


def fence(state: State, authority: Authority) -> Rejection | None:
    """Return why this authority may not write now, None if it may (section 2)."""
    owner = authority.owner
    refusal = blocked(state, owner)
    if refusal is not None:
        return refusal
    own = state.ownership
    holding = own.holding
    if own.status == "absent" or holding is None:
        return unclaimed(owner)
    if own.status in {"terminal", "imported"}:
        return refuse(
            OwnerEnded,
            f"{owner} ended at version {own.ended}: stop; claim starts it again",
            version=own.ended,
            generation=own.generation,
        )
    if (
        own.live
        and authority.incarnation == holding.incarnation
        and authority.generation <= own.generation
    ):
        return None
    holder = holding.agent_id if own.live else None
    now = f"{holder} holds it at" if holder else "it stands at"
    if authority.incarnation in own.retired or own.status == "cut":
        at = own.retired.get(authority.incarnation, own.ended)
        return refuse(
            TermRetired,
            f"your term of {owner} ended by the cut at version {at}; {now} "
            f"generation {own.generation}: stop working"
            + ("" if holder else "; succeed begins the next term"),
            holder=holder,
            generation=own.generation,
            cut=at,
        )
    return refuse(
        FencedOut,
        f"your holding of {owner} (generation {authority.generation}) ended; {now} "
        f"generation {own.generation}: stop working",
        holder=holder,
        generation=own.generation,
        granted=holding.granted,
    )
