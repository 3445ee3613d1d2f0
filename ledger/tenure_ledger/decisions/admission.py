"""Accept and admit: how a message becomes an execution of the live term.

Source of the rules: design section 5 rule 1 and section 6.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import blocked, fence, unclaimed
from tenure_ledger.decisions.live import admitted, refuse_settled
from tenure_ledger.decisions.work import At, Context, Decided, States, Work, made
from tenure_ledger.errors import (
    AlreadyDecided,
    AlreadyStripped,
    InvalidInput,
    KeyReused,
    OwnerEnded,
    Rejection,
    refuse,
)
from tenure_ledger.folds.executions import HUMAN, Execution, conflicting
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, First, Origin, OwnerRef

__all__ = [
    "Accept",
    "Admit",
    "admit_first",
    "decide_accept",
    "decide_admit",
    "why_not_anew",
]


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
            return unclaimed(owner)
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
    accepted = made(
        e.SubmissionAccepted,
        work.by(command.author, own.generation),
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


def _used(known: Execution) -> Rejection | None:
    """Refuse what was started or settled, in whatever term."""
    if known.settled:
        return refuse_settled(known)
    if known.started:
        return refuse(
            AlreadyDecided,
            f"{known.key} was started at version {known.started}: unfinished work "
            "goes on under a new message id",
            first="started",
            version=known.started,
        )
    return None


def why_not_anew(known: Execution, digest: str | None) -> Rejection | None:
    """Return why this message cannot be admitted as new work, if so."""
    return _same_content(known, digest) or _used(known)


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
        refusal = why_not_anew(known, command.digest)
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
        accepted = made(
            e.SubmissionAccepted,
            envelope,
            key=first.message_id,
            sender=first.sender,
            content_digest=first.digest,
            vouched_human=True,
        )
        work.add(owner.stream, accepted)
    known = work.state(owner).executions.by_key.get(first.message_id)
    if known is not None and admitted(work.state(owner).ownership, known):
        return known.admitted
    event = made(
        e.ExecutionAdmitted,
        envelope,
        key=first.message_id,
        origin=first.origin,
        sender=first.sender,
        content_digest=first.digest,
        absorbed=absorbed,
    )
    return work.add(owner.stream, event)
