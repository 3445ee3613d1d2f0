"""The reference, fourth part: what must come of each call about a message."""

from __future__ import annotations

from reference import Message, Owner, Plan, Reference, no, run
from reference_terms import CANCELLING, accept, admit, settle
from tenure import Authority, OwnerRef

__all__ = [
    "ENDED",
    "accept_message",
    "admit_message",
    "bar",
    "history_rewritten",
    "settle_interrupt",
    "settle_message",
    "start",
]

ENDED = {"fenced_out", "term_retired", "owner_ended"}


def _content(known: Message, digest: str | None) -> str | None:
    if known.stripped:
        return "already_stripped"
    clash = digest and known.digest and digest != known.digest
    return "key_reused" if clash else None


def _used(known: Message) -> str | None:
    return "already_decided" if known.started or known.outcome else None


def accept_message(
    world: Reference, ref: OwnerRef, key: str, digest: str | None, *, human: bool
) -> Plan:
    """Take a message in, whatever the owner does now."""
    own = world.at(ref)
    if own.status == "deleted":
        return no("deleted")
    if not own.session and own.status in {"absent", "terminal"}:
        return no("unknown_owner" if own.status == "absent" else "owner_ended")
    known = own.messages.get(key)
    refused = _content(known, digest) if known else None
    if refused:
        return no(refused)
    if known and (known.accepted or known.started or known.outcome):
        return Plan(writes=False)
    return Plan(then=run(lambda: accept(own, key, digest, human=human)))


def admit_message(
    world: Reference,
    authority: Authority,
    key: str,
    origin: str,
    digest: str | None,
    absorbed: tuple[str, ...],
) -> Plan:
    """Admit it with all that it absorbs, or none of it."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    known = own.messages.get(key)
    if known and not refused:
        refused = _content(known, digest) or _used(known)
    for inner in absorbed:
        refused = refused or _absorbed(own, key, inner)
    if refused:
        return no(refused)
    running = own.running(key)
    if known and running and absorbed and absorbed != known.absorbed:
        return no("key_reused")
    human = origin in {"human", "human_successor_root"}
    new = not running or (human and not (known and known.accepted))
    return Plan(then=run(lambda: admit(own, key, origin, digest, absorbed)), writes=new)


def _absorbed(own: Owner, key: str, inner: str) -> str | None:
    known = own.messages.get(inner)
    if inner == key:
        return "invalid_input"
    if known is None:
        return None
    refused = _content(known, None)
    if own.running(inner) and known.lead == key:
        return refused
    refused = refused or _used(known)
    if not refused and own.running(inner):
        if known.lead:
            return "already_decided"
        return "invalid_input" if known.absorbed else None
    return refused


def start(world: Reference, authority: Authority, key: str, into: str | None) -> Plan:
    """Begin work on it, by itself or within a running one."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused or not own.running(key):
        return no(refused or "not_admitted")
    known = own.messages[key]
    if known.outcome:
        return no("already_decided")
    if known.started:
        return Plan(writes=False, same=known.started)
    if into == key:
        return no("invalid_input")
    if into is not None:
        if not own.running(into) or not own.messages[into].started:
            return no("not_admitted")
        if own.messages[into].outcome:
            return no("already_decided")

    def then(outcome: object) -> None:
        assert isinstance(outcome, int)
        for one in own.group(own.lead(key)):
            one.started, one.into, one.by = outcome, into, own.incarnation

    return Plan(then=then)


def settle_message(
    world: Reference, authority: Authority, key: str, outcome: str
) -> Plan:
    """Give it its first outcome; a late one is stored and refused all the same."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    known = own.messages.get(key)
    if refused:
        final = {"completed", "failed"}
        late = refused in ENDED and known is not None and known.term
        if known is None or not late or known.late or known.outcome in final:
            return no(refused)
        begun_since = known.by is not None and known.by == own.incarnation
        if own.running(key) and (_carried(known, authority) or begun_since):
            return no(refused)
        return Plan(frozenset({refused}), run(lambda: setattr(known, "late", True)))
    if known is None or not own.running(key):
        return no("not_admitted")
    if known.outcome:
        if known.outcome == outcome:
            return Plan(writes=False, same=known.settled)
        return no("already_decided")
    lead = own.lead(key)

    def then(version: object) -> None:
        assert isinstance(version, int)
        taken = [m for m in own.messages.values() if m.open and m.lead is None]
        taken = [m for m in taken if _inside(own, m, lead)]
        settle(own, lead.key, outcome, version)
        for one in taken:
            settle(own, one.key, outcome)

    return Plan(then=then)


def _carried(known: Message, authority: Authority) -> bool:
    """Say whether it was admitted to the term after this holding had ended."""
    own = known.holding == authority.incarnation
    return not own and authority.generation < known.generation


def _inside(own: Owner, one: Message, lead: Message) -> bool:
    """Say whether the one was started into the lead, directly or not."""
    while one.into is not None:
        one = own.lead(one.into)
        if one is lead:
            return True
    return False


def bar(
    world: Reference, ref: OwnerRef, reason: str, keys: tuple[str, ...] | None
) -> Plan:
    """Bar what is known; what a person cancelled and nobody started is settled."""
    own = world.at(ref)
    if own.status == "deleted":
        return no("deleted")
    if not own.written:
        return no("unknown_owner")
    if own.status == "terminal" and not own.waiting():
        return no("owner_ended")
    if any(key not in own.messages for key in keys or ()):
        return no("not_found")
    down = reason in {"user_cancelled_whole_stream", "agent_closed"}

    def then(_: object) -> None:
        _bar(own, reason, keys)
        below = [world.at(child) for child in own.children] if down else []
        for one in below:
            below += [world.at(child) for child in one.children]
            if one.status not in {"terminal", "deleted"}:
                _bar(one, reason, None)

    return Plan(then=then, writes=None)


def _bar(own: Owner, reason: str, keys: tuple[str, ...] | None) -> None:
    if keys is None:
        own.stream_bars.add(reason)
    for known in list(own.messages.values()):
        listed = own.listed(known)
        if not known.open or (keys is not None and known.key not in keys):
            continue
        known.bars.add(reason)
        if keys is not None:
            known.named.add(reason)
        if listed and reason in CANCELLING and not known.started:
            shared = own.group(known) if known.lead is None else [known]
            for one in shared:
                one.outcome = "cancelled"


def history_rewritten(
    world: Reference, authority: Authority, generation: int, floor: str | None
) -> Plan:
    """Only a higher rewrite generation replaces the one on record."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused:
        return no(refused)
    before = own.rewrite
    if before and (generation, floor) == before:
        return Plan(writes=False)
    if before and generation <= int(str(before[0])):
        return no("stale_checkpoint")
    return Plan(then=run(lambda: setattr(own, "rewrite", (generation, floor))))


def settle_interrupt(
    world: Reference, ref: OwnerRef, interrupt_id: str, outcome: str
) -> Plan:
    """Give an interrupt up once."""
    own = world.at(ref)
    if own.status == "deleted":
        return no("deleted")
    if not own.written:
        return no("unknown_owner")
    if interrupt_id not in own.interrupts:
        return no("not_found")
    before = own.interrupts[interrupt_id]
    if before:
        return Plan(writes=False) if before == outcome else no("already_decided")
    return Plan(then=run(lambda: own.interrupts.update({interrupt_id: outcome})))
