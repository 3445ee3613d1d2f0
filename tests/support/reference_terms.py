"""The reference, second part: how terms begin and end (design sections 5 to 7)."""

from __future__ import annotations

from reference import Holder, Message, Owner, Reference

__all__ = [
    "CANCELLING",
    "accept",
    "admit",
    "begin_term",
    "cover",
    "cut",
    "end_holding",
    "end_term",
    "restart",
    "settle",
]

HUMAN = ("human", "human_successor_root")
CANCELLING = frozenset(
    {"user_cancelled", "user_cancelled_whole_stream", "context_reset", "agent_closed"}
)


def accept(own: Owner, key: str, digest: str | None, *, human: bool) -> Message:
    """Take a message in."""
    known = own.messages.setdefault(key, Message(key))
    if not own.listed(known):
        known.bars.clear()
        known.old_bars.clear()
    if not known.accepted:
        own.taken_in += 1
        known.accepted = own.taken_in
        known.human = known.human or human
    known.digest = known.digest or digest
    return known


def admit(
    own: Owner,
    key: str,
    origin: str | None,
    digest: str | None,
    absorbed: tuple[str, ...] = (),
) -> None:
    """Make it an execution of the live term with all that it absorbs."""
    known = own.messages.setdefault(key, Message(key))
    if origin in HUMAN and not known.accepted:
        accept(own, key, digest, human=True)
    if own.running(key):
        return
    known.human = known.human or origin in HUMAN
    known.digest = known.digest or digest
    known.absorbed = absorbed
    for each in (key, *absorbed):
        one = own.messages.setdefault(each, Message(each))
        goes_on = own.listed(one)
        one.term = own.term
        one.lead = None if each == key else key
        one.holding = own.incarnation
        one.generation = own.generation
        one.old_bars.clear()
        if not goes_on:
            one.bars.clear()


def settle(own: Owner, key: str, outcome: str, version: int = 0) -> None:
    """Give an execution and all that it absorbed their first outcome."""
    for one in own.group(own.messages[key]):
        one.outcome, one.settled = outcome, version


def settle_cancelled(own: Owner, running: Message) -> None:
    """Settle what a person cancelled of a running execution by itself."""
    for one in own.group(running)[1:]:
        if one.covered & CANCELLING:
            settle(own, one.key, "cancelled")


def cover(own: Owner, key: str) -> set[str]:
    """Return every marker and bar that covers the message."""
    known, lead = own.messages[key], own.lead(key)
    if not known.open:
        return set()
    marker = {"visible_output_started"} if lead.output else set[str]()
    return known.covered | lead.covered | marker


def executions(own: Owner) -> list[Message]:
    """Return the open executions of the latest term, without what they absorbed."""
    here = [m for m in own.messages.values() if m.term == own.term and m.term]
    return [m for m in here if m.open and m.lead is None]


def root(own: Owner, known: Message) -> Message:
    """Return the running execution that took this one in, or the one itself."""
    while known.into is not None:
        known = own.lead(known.into)
    return known


def inside(own: Owner, known: Message) -> set[str]:
    """Return the one and the running executions around it."""
    around = {known.key}
    while known.into is not None:
        known = own.lead(known.into)
        around.add(known.key)
    return around


def end_term(world: Reference, own: Owner, finishes: tuple[str, ...] = ()) -> None:
    """Settle what was started, close what is open, clear the checkpoint."""
    done = {own.lead(key).key for key in finishes}
    for one in executions(own):
        if one.key in done or (one.started and root(own, one).key in done):
            settle(own, one.key, "completed")
        elif one.started:
            wanted = not one.covered & CANCELLING
            human = [m for m in own.group(one) if m.human] if wanted else []
            left = {m.key for m in human if not m.covered & CANCELLING}
            world.unfinished |= left
            if wanted:
                settle_cancelled(own, one)
            settle(own, one.key, "retired" if wanted else "cancelled")
        elif not one.accepted:
            for inner in own.group(one)[1:]:
                inner.lead = None
    _end_effects(own)
    own.checkpoint = None


def _end_effects(own: Owner) -> None:
    for call in own.calls.values():
        if not call.done and not call.closed:
            call.closed = "outcome_unknown" if call.dispatched else "never_started"
    for request in own.requests.values():
        if not (request.consumed or request.closed or request.decision == "denied"):
            request.closed = "void" if request.decision else "cut"


def _end_effects_of_settled(own: Owner) -> None:
    """Close the calls of what is settled, and the requests that were for it."""
    for (key, _), call in own.calls.items():
        if not (call.done or call.closed or own.messages[key].open):
            call.closed = "outcome_unknown" if call.dispatched else "never_started"
    for request in own.requests.values():
        if request.consumed or request.closed or request.decision == "denied":
            continue
        about = (request.call_id, request.tool, request.arguments)
        asking = [
            key
            for (key, call_id), call in own.calls.items()
            if (call_id, call.tool, call.arguments) == about
        ]
        if not asking and request.working is not None:
            asking = [request.working]
        if asking and not any(own.messages[key].open for key in asking):
            request.closed = "void" if request.decision else "cut"


def end_holding(world: Reference, own: Owner) -> None:
    """End the holdings of the things that this owner's holder uses."""
    for ref, used in own.children.items():
        thing = world.at(ref)
        if used and thing.status == "live" and thing.agent is None:
            end_term(world, thing)
            thing.status = "revoked"
            end_holding(world, thing)


def cut(world: Reference, own: Owner, finishes: tuple[str, ...] = ()) -> None:
    """End the term by a retirement cut."""
    end_term(world, own, finishes)
    end_holding(world, own)
    if own.incarnation:
        own.cut.add(own.incarnation)
    own.status = "cut"


def begin_term(world: Reference, own: Owner, incarnation: str, holder: Holder) -> None:
    """Give the owner to a new holder; what waits is carried over, then ``first``."""
    if own.status in {"live", "terminal"} or (
        own.status == "imported" and executions(own)
    ):
        cut(world, own)
    waiting = own.waiting()
    leads = {m.key for m in waiting if m.lead is None or own.lead(m.key) not in waiting}
    own.status, own.incarnation, own.agent = "live", incarnation, holder.agent
    own.generation += 1
    own.term += 1
    own.checkpoint, own.revision, own.terminal = None, -1, None
    own.stream_bars.clear()
    for known in own.messages.values():
        known.named.clear()
        known.old_bars |= known.bars
        known.bars.clear()
    for one in waiting:
        if one.key in leads:
            admit(own, one.key, None, None, tuple(m.key for m in own.group(one)[1:]))
    if holder.first is not None:
        key, origin, digest = holder.first
        carried = own.running(key) and key in leads
        admit(own, key, origin, digest)
        if carried:
            known = own.messages[key]
            known.human = known.human or origin in HUMAN
            known.digest = known.digest or digest


def restart(world: Reference, own: Owner, incarnation: str, holder: Holder) -> None:
    """Go on with the same term in a new run of the same agent (section 7.3)."""
    snapshot = own.checkpoint
    if snapshot and snapshot.keys:
        known = [own.messages.get(key) for key in snapshot.keys]
        if all(one is not None and not one.open for one in known):
            # All of its work is settled: it says nothing any more.
            snapshot = own.checkpoint = None
    reasons = forbidden(own)
    named = {own.lead(key).key for key in snapshot.keys} if snapshot else set[str]()
    for one in executions(own):
        if not one.started:
            continue
        covered = cover(own, one.key)
        resumed = not named.isdisjoint(inside(own, one))
        if covered & CANCELLING:
            settle(own, one.key, "cancelled")
            continue
        settle_cancelled(own, one)
        if covered or (reasons and resumed):
            settle(own, one.key, "closed_in_recovery")
        elif named and not reasons and not resumed:
            settle(own, one.key, "outcome_unknown")
    _end_effects_of_settled(own)
    if reasons:
        own.checkpoint = None
    end_holding(world, own)
    own.incarnation = incarnation
    own.generation += 1
    own.revision = own.checkpoint.revision if own.checkpoint else -1
    if holder.first is not None:
        key, origin, digest = holder.first
        admit(own, key, origin, digest)


def forbidden(own: Owner) -> set[str]:
    """Return why the live checkpoint must not be resumed (section 7.2)."""
    if own.checkpoint is None:
        return set()
    if own.checkpoint.keys:
        return {r for key in own.checkpoint.keys for r in cover(own, key)}
    found = set(own.stream_bars)
    for one in own.messages.values():
        if own.listed(one):
            found |= one.named
            if own.lead(one.key).output and own.running(one.key):
                found.add("visible_output_started")
    return found
