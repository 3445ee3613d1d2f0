"""What a relay gate writes: strips, deliveries of notices, verdicts.

Source of the rules: design section 6. What is judged lies in the gate; here is what
the ledger takes from it, and what it never takes: the strip of a message that a person
sent, that was worked on, or that is of the live term.
"""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import fence, unclaimed, unfenced
from tenure_ledger.decisions.live import (
    admitted,
    open_execution,
    waiting_notices,
)
from tenure_ledger.decisions.work import At, Context, Decided, States, Work
from tenure_ledger.errors import (
    FencedOut,
    InvalidInput,
    OwnerEnded,
    OwnerMoved,
    Rejection,
    TermRetired,
    refuse,
)
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "DeliverNotices",
    "GiveVerdicts",
    "Strip",
    "StripRequests",
    "decide_deliver",
    "decide_strip",
    "decide_verdicts",
]


class Strip(NamedTuple):
    """One leftover: its message id, what the gate found, and the latest cut."""

    key: str
    verdict: e.StripVerdict
    cut: int


class StripRequests(NamedTuple):
    """Keep leftovers out, for ever; unfenced, at the version they were judged at."""

    owner: OwnerRef
    strips: tuple[Strip, ...]
    author: str
    version: int


class DeliverNotices(NamedTuple):
    """Give every notice that waits to this request; fenced where there is an authority.

    A host without one has its gate deliver under the gate's name.
    """

    owner: OwnerRef
    message_id: str
    author: str
    authority: Authority | None


class GiveVerdicts(NamedTuple):
    """Keep verdicts on record, where the host asked for that."""

    authority: Authority
    verdicts: tuple[tuple[str, str], ...]
    """Message id and verdict."""

    @property
    def owner(self) -> OwnerRef:
        """The owner whose requests were judged."""
        return self.authority.owner


def decide_strip(
    states: States, command: StripRequests, context: Context
) -> Decided | Rejection:
    """Strip what is not yet stripped; what was admitted meanwhile won, and stays."""
    owner = command.owner
    state = states[owner.stream]
    refusal = unfenced(state, owner)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    wanted = [one for one in command.strips if not _decided(state, one.key)]
    if wanted:
        refusal = _nobody_holds(state, owner) or _moved(state, command)
        for one in wanted:
            refusal = refusal or _no_leftover(state, one)
        if refusal is not None:
            return refusal
    for number, one in enumerate(wanted):
        _strip(work, command, one, f"{context.new_id}.{number}")
    after = work.state(owner).executions.by_key
    found = [_where(after[one.key]) for one in command.strips]
    return work.decided(At(max(found, default=state.version)))


def _decided(state: State, key: str) -> bool:
    """Say whether it was stripped, or is of the live term: the first of both stands."""
    known = state.executions.by_key.get(key)
    if known is None:
        return False
    return known.stripped > 0 or admitted(state.ownership, known)


def _where(known: Execution) -> int:
    return known.stripped or known.admitted


def _nobody_holds(state: State, owner: OwnerRef) -> Rejection | None:
    """Refuse while no holding is live: the next term may still take everything."""
    own = state.ownership
    if own.live:
        return None
    at = own.ended
    if own.status == "absent":
        return unclaimed(owner)
    kind = {"cut": TermRetired, "revoked": FencedOut}.get(own.status, OwnerEnded)
    return refuse(
        kind,
        f"nobody holds {owner} since version {at}: nothing is stripped until the next "
        "term has begun",
        version=at,
        generation=own.generation,
        cut=own.cut.version if own.cut else 0,
        holder=None,
    )


def _moved(state: State, command: StripRequests) -> Rejection | None:
    if command.version == state.version:
        return None
    return refuse(
        OwnerMoved,
        f"{command.owner} stands at version {state.version}, and you judged version "
        f"{command.version}: read it and judge again",
        version=state.version,
    )


def _no_leftover(state: State, one: Strip) -> Rejection | None:
    """Refuse to strip what the ledger knows to be none."""
    cut = state.ownership.cut.version if state.ownership.cut else 0
    known = state.executions.by_key.get(one.key)
    if not cut:
        why = "no term was cut, so nothing is left over"
    elif one.cut != cut:
        why = f"the latest cut is at version {cut}, not {one.cut}"
    elif known is None:
        if one.verdict == "stale_unadmitted":
            return None
        why = "nothing on record admitted it: it is stale_unadmitted"
    elif known.accepted or known.started or known.settled:
        at = known.accepted or known.started or known.settled
        why = f"it was accepted, started or settled at version {at}"
    elif one.verdict == "stale_admitted":
        return None
    else:
        why = f"it was admitted at version {known.admitted}: it is stale_admitted"
    return refuse(InvalidInput, f"{one.key} is not stripped: {why}", key=one.key)


def _strip(work: Work, command: StripRequests, one: Strip, interrupt_id: str) -> None:
    state = work.state(command.owner)
    known = state.executions.by_key.get(one.key)
    generation = known.generation if known else state.ownership.generation
    envelope = work.by(command.author, generation)
    if known is not None:
        settled = e.ExecutionSettled(**envelope, key=one.key, outcome="stripped")
        work.add(command.owner.stream, settled)
    stripped = e.StaleRequestStripped(
        **envelope,
        key=one.key,
        verdict=one.verdict,
        cut=one.cut,
        interrupt_id=interrupt_id,
    )
    work.add(command.owner.stream, stripped)


def decide_deliver(
    states: States, command: DeliverNotices, context: Context
) -> Decided | Rejection:
    """Deliver what waits to the execution that this message is, or is part of.

    What was given to one that ended with its term, and was never settled, waits again.
    """
    owner = command.owner
    state = states[owner.stream]
    if command.authority is not None:
        refusal = fence(state, command.authority)
    else:
        refusal = unfenced(state, owner)
    known = refusal or open_execution(state, command.message_id)
    if isinstance(known, Rejection):
        return known
    work = Work(states, context)
    key = known.absorbed_by or known.key
    envelope = work.by_holder(owner)
    if command.authority is None:
        envelope = work.by(command.author, state.ownership.generation)
    told = [one.delivered for one in state.notices.listed() if one.key == key]
    at = max(known.admitted, *told) if told else known.admitted
    for notice in waiting_notices(state):
        event = e.NoticeDelivered(**envelope, notice=notice.notice, key=key)
        at = work.add(owner.stream, event)
    return work.decided(At(at))


def decide_verdicts(
    states: States, command: GiveVerdicts, context: Context
) -> Decided | Rejection:
    """Record each verdict that is not the one given last, by the latest cut."""
    owner = command.owner
    state = states[owner.stream]
    refusal = fence(state, command.authority)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    cut = state.ownership.cut.version if state.ownership.cut else 0
    for key, verdict in command.verdicts:
        given = work.state(owner).relay.given.get(key)
        if given is None or (given.verdict, given.cut) != (verdict, cut):
            event = e.VerdictGiven(
                **work.by_holder(owner), key=key, verdict=verdict, cut=cut
            )
            work.add(owner.stream, event)
    after = work.state(owner).relay.given
    found = [after[key].version for key, _ in command.verdicts]
    return work.decided(At(max(found, default=state.version)))
