"""The reference, third part: what must come of each call that moves an owner."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from reference import Holder, Owner, Plan, Reference, codes, no, run
from reference_terms import begin_term, cut, end_holding, end_term, restart
from tenure import Authority, Evidence, First, OwnerRef

__all__ = [
    "advance",
    "claim",
    "delete_conversation",
    "grant",
    "retire",
    "revoke",
    "spawn",
    "succeed",
    "take_over",
    "terminate",
]

NOT_NEW = {"live": "owner_is_live", "cut": "term_retired", "revoked": "owner_ended"}


def _first(own: Owner, first: First | None) -> str | None:
    known = own.messages.get(first.message_id) if first else None
    if first is None or known is None:
        return None
    if known.stripped:
        return "already_stripped"
    if first.digest and known.digest and first.digest != known.digest:
        return "key_reused"
    return "already_decided" if known.started or known.outcome else None


def _to(agent: str | None, first: First | None) -> Holder:
    if first is None:
        return Holder(agent)
    return Holder(agent, (first.message_id, first.origin, first.digest))


def _give(
    world: Reference,
    own: Owner,
    agent: str | None,
    first: First | None = None,
    *also: str | None,
) -> Plan:
    def then(outcome: object) -> None:
        assert isinstance(outcome, Authority)
        if own.status == "live" and agent == own.agent:
            restart(world, own, outcome.incarnation, _to(agent, first))
        else:
            begin_term(world, own, outcome.incarnation, _to(agent, first))

    bound = world.bound_elsewhere(agent, own.ref)
    refused = codes(*also, bound, _first(own, first))
    return no(*refused) if refused else Plan(then=then)


def claim(world: Reference, ref: OwnerRef, agent: str, first: First | None) -> Plan:
    """Take an owner that nobody holds."""
    own = world.at(ref)
    if own.status == "deleted":
        return no("deleted")
    if own.status in NOT_NEW:
        return no(NOT_NEW[own.status])
    if own.status == "terminal" and own.parent and own.agent is None:
        return no("owner_ended")
    return _give(world, own, agent, first)


def succeed(world: Reference, ref: OwnerRef, agent: str, first: First | None) -> Plan:
    """Go on after a cut."""
    own = world.at(ref)
    if own.status == "cut":
        return _give(world, own, agent, first)
    refused = {
        "absent": "unknown_owner",
        "deleted": "deleted",
        "live": "owner_is_live",
    }
    return no(refused.get(own.status, "owner_ended"))


def take_over(
    world: Reference,
    ref: OwnerRef,
    agent: str | None,
    evidence: Evidence | None,
    first: First | None,
    *,
    override: bool,
) -> Plan:
    """End a holding by evidence; take a used thing without."""
    own = world.at(ref)
    parent = world.at(own.parent) if own.parent else None
    match own.status:
        case "absent":
            return no("unknown_owner")
        case "deleted":
            return no("deleted")
        case "cut":
            return no("term_retired")
        case "terminal":
            return no("owner_ended")
        case "imported":
            return _give(world, own, agent, first, None if agent else "invalid_input")
        case "revoked":
            refused = None if parent and parent.status == "live" else "owner_ended"
            refused = refused or _used_by(parent, agent)
            return _give(world, own, None, first, refused)
        case "live":
            refused = world.evidence(own, evidence, override=override)
            if own.agent is None:
                refused = refused or _used_by(parent, agent)
                return _give(world, own, None, first, refused)
            missing = None if agent else "invalid_input"
            return _give(world, own, agent, first, refused or missing)


def _used_by(parent: Owner | None, agent: str | None) -> str | None:
    """Return the code for whoever is not the parent's holder."""
    return None if parent and agent in {None, parent.agent} else "fenced_out"


def advance(
    world: Reference, authority: Authority, reason: str, agent: str | None
) -> Plan:
    """Renew the lease, or migrate."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused:
        return no(refused)
    other = agent is not None and agent != own.agent
    if other and (reason == "lease_renewal" or own.agent is None):
        return no("invalid_input")
    if other:
        return _give(world, own, agent)

    def then(outcome: object) -> None:
        assert isinstance(outcome, Authority)
        own.generation += 1
        own.incarnation = outcome.incarnation
        if reason == "migration":
            own.revision = own.checkpoint.revision if own.checkpoint else -1
            end_holding(world, own)

    return Plan(then=then)


def _above(world: Reference, own: Owner) -> list[Owner]:
    """Return the owner, its parent, and so on: none may hand on more than it has."""
    found = [own]
    while found[-1].parent is not None:
        found.append(world.at(found[-1].parent))
    return found


def _within(
    world: Reference, own: Owner, names: Iterable[str], until: datetime | None
) -> str | None:
    """Refuse to hand on what a child itself does not have (rule 5); a root has all."""
    for one in _above(world, own):
        for name in names if one.parent else ():
            limit = one.grants.get(name, world.now)
            if limit is not None and (world.now >= limit or (until or limit) > limit):
                return "invalid_input"
            if limit is not None and until is None:
                return "invalid_input"
    return None


def _limit(world: Reference, own: Owner, names: Iterable[str]) -> datetime | None:
    times = [one.grants.get(name) for one in _above(world, own) for name in names]
    return min((time for time in times if time), default=None)


def spawn(
    world: Reference,
    authority: Authority,
    child: OwnerRef,
    agent: str | None,
    grants: tuple[str, ...],
) -> Plan:
    """Create a child, or start an ended one again."""
    refused = world.fence(authority)
    if refused:
        return no(refused)
    own, new = world.at(authority.owner), world.at(child)
    if new.status == "deleted":
        return no("deleted")
    strange = new.status != "absent" and child not in own.children
    other = new.parent is not None and new.parent != own.ref
    until = _limit(world, own, grants)
    found = codes(
        NOT_NEW.get(new.status),
        "invalid_input" if strange or other or child == own.ref else None,
        _within(world, own, grants, until),
        world.bound_elsewhere(agent, child),
    )

    def then(outcome: object) -> None:
        assert isinstance(outcome, Authority)
        own.children[child] = agent is None
        new.parent = own.ref
        begin_term(world, new, outcome.incarnation, Holder(agent))
        new.grants = dict.fromkeys(grants, until)

    return no(*found) if found else Plan(then=then)


def _child(world: Reference, authority: Authority, child: OwnerRef) -> str | None:
    refused = world.fence(authority)
    if refused:
        return refused
    if world.at(child).status == "deleted":
        return "deleted"
    return None if child in world.at(authority.owner).children else "not_found"


def grant(
    world: Reference,
    authority: Authority,
    child: OwnerRef,
    names: tuple[str, ...],
    until: datetime | None,
) -> Plan:
    """Grant a child more; what it has costs nothing."""
    own, held = world.at(authority.owner), world.at(child).grants
    refused = _child(world, authority, child)
    until = until or _limit(world, own, names)
    refused = refused or _within(world, own, names, until)
    if refused:
        return no(refused)
    new = dict.fromkeys(names, until)
    changes = any(n not in held or held[n] != until for n in names)
    return Plan(then=run(lambda: held.update(new)), writes=changes)


def revoke(
    world: Reference, authority: Authority, child: OwnerRef, names: tuple[str, ...]
) -> Plan:
    """Take grants back; none costs nothing."""
    refused = _child(world, authority, child)
    if refused:
        return no(refused)
    held = world.at(child).grants
    taken = [name for name in names if name in held]

    def then(_: object) -> None:
        for name in taken:
            del held[name]

    return Plan(then=then, writes=bool(taken))


def retire(world: Reference, authority: Authority, finishes: tuple[str, ...]) -> Plan:
    """Cut the term."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused:
        return no(refused)
    thing = codes(None if own.agent else "invalid_input")
    if not all(own.running(key) for key in finishes):
        return no("not_admitted", "already_decided", *thing)
    if any(own.messages[k].outcome not in {None, "completed"} for k in finishes):
        return no("already_decided", *thing)
    if thing:
        return no(*thing)
    return Plan(then=run(lambda: cut(world, own, finishes)))


def terminate(
    world: Reference, authority: Authority, event_type: str, status: str
) -> Plan:
    """End the owner; the same end by the same holding is the first outcome."""
    own = world.at(authority.owner)
    if own.status == "terminal" and authority.incarnation == own.incarnation:
        same = own.terminal == (event_type, status)
        return Plan(writes=False) if same else no("already_decided")
    refused = world.fence(authority)
    if refused:
        return no(refused)

    def then(_: object) -> None:
        end_term(world, own)
        own.status, own.terminal = "terminal", (event_type, status)
        end_holding(world, own)

    return Plan(then=then)


def delete_conversation(world: Reference, ref: OwnerRef) -> Plan:
    """Delete it and all that hangs on it."""
    own = world.at(ref)
    if own.status == "deleted":
        return Plan(writes=False)
    if not own.written:
        return no("unknown_owner")

    def then(_: object) -> None:
        everyone = [own]
        for one in everyone:
            everyone += [world.at(ref) for ref in one.children]
        for one in everyone:
            if one.status == "live":
                end_term(world, one)
            one.status = "deleted"
        world.unfinished.clear()

    return Plan(then=then)
