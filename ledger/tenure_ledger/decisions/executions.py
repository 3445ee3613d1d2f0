"""Accept, admit, start, settle: how a message becomes an execution and ends.

Source of the rules: design section 5 rule 1 and section 6.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec.structs import replace

from tenure_ledger import events as e
from tenure_ledger.decisions.work import (
    At,
    Context,
    Decided,
    States,
    Work,
    blocked,
    fence,
)
from tenure_ledger.errors import (
    AlreadyDecided,
    AlreadyStripped,
    FencedOut,
    InvalidInput,
    KeyReused,
    NotAdmitted,
    OwnerEnded,
    Rejection,
    UnknownOwner,
    refuse,
)
from tenure_ledger.folds.executions import HUMAN, Execution, conflicting
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, First, Origin, OwnerRef

__all__ = [
    "Accept",
    "Admit",
    "HostOutcome",
    "Settle",
    "Start",
    "admit_first",
    "admitted",
    "carry_over",
    "check_first",
    "decide_accept",
    "decide_admit",
    "decide_settle",
    "decide_start",
    "late",
    "start",
]

HostOutcome = Literal["completed", "failed", "cancelled"]
"""How a holder may settle; the other outcomes are the ledger's own words."""


class Accept(NamedTuple):
    """Take a message in; unfenced."""

    owner: OwnerRef
    message_id: str
    author: str
    sender: str | None = None
    digest: str | None = None
    human: bool = False


class Admit(NamedTuple):
    """Make a message an execution of the live term."""

    authority: Authority
    message_id: str
    origin: Origin
    sender: str | None = None
    digest: str | None = None
    absorbed: tuple[str, ...] = ()

    @property
    def owner(self) -> OwnerRef:
        """The owner whose holding admits."""
        return self.authority.owner


class Start(NamedTuple):
    """Say that work on the message begins."""

    authority: Authority
    message_id: str
    into: str | None = None

    @property
    def owner(self) -> OwnerRef:
        """The owner whose holding starts."""
        return self.authority.owner


class Settle(NamedTuple):
    """Say how the execution ended."""

    authority: Authority
    message_id: str
    outcome: HostOutcome

    @property
    def owner(self) -> OwnerRef:
        """The owner whose holding settles."""
        return self.authority.owner


def decide_accept(
    states: States, command: Accept, context: Context
) -> Decided | Rejection:
    """Take a message in, in any state of a session but deleted and too new."""
    owner = command.owner
    state = states[owner.stream]
    own = state.ownership
    # A quarantine holds up everything but what people send.
    refusal = blocked(replace(state, quarantine=None), owner)
    if refusal is not None:
        return refusal
    if owner.recovery_class != "session":
        if own.status == "absent":
            return refuse(UnknownOwner, f"nobody ever claimed {owner}: claim it first")
        if own.status == "terminal":
            return refuse(
                OwnerEnded,
                f"{owner} ended at version {own.ended}: send it to its parent",
                version=own.ended,
            )
    work = Work(states, context)
    known = state.executions.by_key.get(command.message_id)
    if known is not None:
        refusal = _same_content(known, command.digest)
        if refusal is not None:
            return refusal
        if known.accepted or known.started or known.settled:
            return work.decided(At(known.accepted or known.admitted or known.settled))
    return work.decided(At(_accept(work, command)))


def _accept(work: Work, command: Accept) -> int:
    own = work.state(command.owner).ownership
    accepted = e.SubmissionAccepted(
        **work.by(command.author, own.generation),
        key=command.message_id,
        sender=command.sender,
        content_digest=command.digest,
        vouched_human=command.human,
    )
    return work.add(command.owner.stream, accepted)


def _same_content(known: Execution, digest: str | None) -> Rejection | None:
    if known.stripped:
        return refuse(
            AlreadyStripped,
            f"{known.key} was stripped at version {known.stripped}: send it again "
            "under a new id",
            version=known.stripped,
            verdict=known.verdict,
        )
    if conflicting(known.digest, digest):
        return refuse(
            KeyReused,
            f"{known.key} is on record at version {known.known} with other content: "
            "give the new content a new id",
            version=known.known,
            digest=known.digest,
        )
    return None


def admitted(own: Ownership, known: Execution | None) -> bool:
    """Say whether the message is an execution of the live term."""
    return (
        own.live
        and known is not None
        and known.admitted > 0
        and known.term == own.term
        and not known.stripped
    )


def _used(known: Execution) -> Rejection | None:
    """Refuse what was started or settled, in whatever term."""
    if known.settled:
        return refuse(
            AlreadyDecided,
            f"{known.key} was settled {known.outcome} at version {known.settled}: "
            "unfinished work goes on under a new message id",
            first=known.outcome,
            version=known.settled,
        )
    if known.started:
        return refuse(
            AlreadyDecided,
            f"{known.key} was started at version {known.started}: unfinished work "
            "goes on under a new message id",
            first="started",
            version=known.started,
        )
    return None


def decide_admit(
    states: States, command: Admit, context: Context
) -> Decided | Rejection:
    """Admit a message to the live term, with all that it absorbed, or none of it."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    own = state.ownership
    known = state.executions.by_key.get(command.message_id)
    if known is not None:
        refusal = _same_content(known, command.digest) or _used(known)
        if refusal is not None:
            return refusal
    for key in command.absorbed:
        refusal = _absorbable(state, command, key)
        if refusal is not None:
            return refusal
    work = Work(states, context)
    if known is not None and admitted(own, known):
        if command.absorbed and command.absorbed != known.absorbed:
            return refuse(
                KeyReused,
                f"{known.key} was admitted at version {known.admitted} with "
                f"absorbed={known.absorbed}: admit the merged queue under a new id",
                version=known.admitted,
            )
        if not (command.origin in HUMAN and not known.accepted):
            return work.decided(At(known.admitted))
    first = First(command.message_id, command.origin, command.sender, command.digest)
    return work.decided(At(admit_first(work, owner, first, command.absorbed)))


def _absorbable(state: State, command: Admit, key: str) -> Rejection | None:
    known = state.executions.by_key.get(key)
    if key == command.message_id:
        return refuse(InvalidInput, f"{key} cannot absorb itself: leave it out")
    if known is None:
        return None
    refusal = _same_content(known, None)
    lead = known.absorbed_by
    if lead == command.message_id and admitted(state.ownership, known):
        return refusal
    refusal = refusal or _used(known)
    if refusal is None and admitted(state.ownership, known) and lead is not None:
        return refuse(
            AlreadyDecided,
            f"{key} was absorbed by {lead} at version {known.admitted}",
            first=lead,
            version=known.admitted,
        )
    if refusal is None and admitted(state.ownership, known) and known.absorbed:
        return refuse(
            InvalidInput,
            f"{key} absorbed {', '.join(known.absorbed)} itself: name those instead",
        )
    return refusal


def admit_first(
    work: Work, owner: OwnerRef, first: First, absorbed: tuple[str, ...] = ()
) -> int:
    """Append the admission, and the acceptance where a person sent it."""
    envelope = work.by_holder(owner)
    known = work.state(owner).executions.by_key.get(first.message_id)
    if first.origin in HUMAN and not (known is not None and known.accepted):
        accepted = e.SubmissionAccepted(
            **envelope,
            key=first.message_id,
            sender=first.sender,
            content_digest=first.digest,
            vouched_human=True,
        )
        work.add(owner.stream, accepted)
    known = work.state(owner).executions.by_key.get(first.message_id)
    if known is not None and admitted(work.state(owner).ownership, known):
        return known.admitted
    event = e.ExecutionAdmitted(
        **envelope,
        key=first.message_id,
        origin=first.origin,
        sender=first.sender,
        content_digest=first.digest,
        absorbed=absorbed,
    )
    return work.add(owner.stream, event)


def check_first(state: State, first: First | None) -> Rejection | None:
    """Return why a term cannot begin with this request, if so."""
    known = state.executions.by_key.get(first.message_id) if first else None
    if first is None or known is None:
        return None
    return _same_content(known, first.digest) or _used(known)


def carry_over(work: Work, owner: OwnerRef, first: First | None) -> None:
    """Admit what was accepted and not started, in stream order, then ``first``."""
    executions = work.state(owner).executions
    waiting = [one for one in executions.listed() if one.accepted and not one.started]
    waiting.sort(key=lambda one: one.accepted)
    keys = {one.key for one in waiting}
    envelope = work.by_holder(owner)
    placed = False
    for one in waiting:
        if one.absorbed_by is not None and one.absorbed_by in keys:
            continue
        absorbed = tuple(
            key
            for key in one.absorbed
            if (inner := executions.by_key[key]).absorbed_by == one.key and inner.open
        )
        origin = one.origin or ("human" if one.human else "continue_relay")
        sender, digest = one.sender, one.digest
        if first is not None and first.message_id == one.key:
            origin, placed = first.origin, True
            sender = first.sender if sender is None else sender
            digest = first.digest if digest is None else digest
        carried = e.ExecutionAdmitted(
            **envelope,
            key=one.key,
            origin=origin,
            sender=sender,
            content_digest=digest,
            absorbed=absorbed,
            carried_from=one.accepted,
        )
        work.add(owner.stream, carried)
    if first is not None and not placed:
        admit_first(work, owner, first)


def decide_start(
    states: States, command: Start, context: Context
) -> Decided | Rejection:
    """Record that work on an admitted message begins."""
    state = states[command.owner.stream]
    refusal = fence(state, command.authority) or _admitted_here(
        state, command.message_id
    )
    if refusal is not None:
        return refusal
    known = state.executions.by_key[command.message_id]
    work = Work(states, context)
    if known.settled:
        refusal = _used(known)
        if refusal is not None:
            return refusal
    if known.started:
        return work.decided(At(known.started))
    if command.into is not None:
        refusal = _running(state, command)
        if refusal is not None:
            return refusal
    into = command.into
    if into is not None:
        into = state.executions.by_key[into].absorbed_by or into
    return work.decided(At(start(work, command.owner, known, into)))


def start(
    work: Work, owner: OwnerRef, known: Execution, into: str | None = None
) -> int:
    """Append the start of the execution that this message is, or is part of."""
    key = known.absorbed_by or known.key
    started = e.ExecutionStarted(**work.by_holder(owner), key=key, into=into)
    return work.add(owner.stream, started)


def _running(state: State, command: Start) -> Rejection | None:
    into = state.executions.by_key.get(command.into or "")
    if command.into == command.message_id:
        return refuse(InvalidInput, "a message cannot be started into itself")
    if into is None or not admitted(state.ownership, into) or not into.started:
        return refuse(
            NotAdmitted,
            f"{command.into} is not running in the live term: start it first",
            key=command.into,
        )
    return _used(into) if into.settled else None


def _admitted_here(state: State, message_id: str) -> Rejection | None:
    known = state.executions.by_key.get(message_id)
    if admitted(state.ownership, known):
        return None
    what = "admit it first"
    if known is not None and not known.open:
        what = (
            f"it was settled {known.outcome} in an earlier one; unfinished work goes "
            "on under a new message id"
        )
    return refuse(
        NotAdmitted,
        f"{message_id} is no execution of the live term: {what}",
        key=message_id,
        generation=state.ownership.generation,
        cut=state.ownership.cut.version if state.ownership.cut else 0,
    )


def decide_settle(
    states: States, command: Settle, context: Context
) -> Decided | Rejection:
    """Record the first outcome, for what was absorbed or taken in as well."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    known = state.executions.by_key.get(command.message_id)
    if refusal is not None:
        told = (command.authority, command.outcome)
        return late(Work(states, context), owner, refusal, known, told)
    if known is None or not admitted(state.ownership, known):
        return _admitted_here(state, command.message_id) or refuse(
            NotAdmitted, f"{command.message_id} is not admitted: admit it first"
        )
    work = Work(states, context)
    if known.settled:
        if known.outcome == command.outcome:
            return work.decided(At(known.settled))
        return _used(known) or work.decided(At(known.settled))
    key = known.absorbed_by or known.key
    at = work.state(owner).version + 1
    for one in (key, *_taken_in(state, key)):
        settled = e.ExecutionSettled(
            **work.by_holder(owner), key=one, outcome=command.outcome
        )
        work.add(owner.stream, settled)
    return work.decided(At(at))


def _taken_in(state: State, key: str) -> list[str]:
    """Return the open messages that were started into it, or into one of these."""
    found: list[str] = []
    inside = [key]
    for at in inside:
        for one in state.executions.taken.get(at, ()):
            known = state.executions.by_key[one]
            if one not in inside and known.open and known.absorbed_by is None:
                found.append(one)
                inside.append(one)
    return found


def late(
    work: Work,
    owner: OwnerRef,
    refusal: Rejection,
    known: Execution | None,
    told: tuple[Authority, str],
) -> Decided | Rejection:
    """Store what became known after the holding ended, then refuse all the same.

    ``told`` is the ended holding, and the outcome that it tells. The first stands.
    """
    authority, outcome = told
    author = authority.agent_id or owner.owner_id
    ended = issubclass(refusal.kind, (FencedOut, OwnerEnded))
    if known is None or not ended or not known.admitted:
        return refusal
    if known.outcome in {"completed", "failed"}:
        return refusal
    if (
        admitted(work.state(owner).ownership, known)
        and known.incarnation != authority.incarnation
    ):
        # It is the live term's own work now.
        return refusal
    at = known.late
    if not at:
        event = e.LateResult(
            **work.by(author, known.generation), key=known.key, outcome=outcome
        )
        at = work.add(owner.stream, event)
    refusal = refusal._replace(evidence={**refusal.evidence, "late": at})
    return work.decided(At(at), refusal=refusal) if work.drafts else refusal
