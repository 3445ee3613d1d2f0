"""Spawn, grant, revoke: a holder and its children (design sections 2 and 3)."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.fence import blocked, fence
from tenure_ledger.decisions.grants import (
    Grant,
    check_grant,
    give,
    new_reason,
    next_generation,
    refuse_live,
    why_not_new,
)
from tenure_ledger.decisions.lineage import known_line
from tenure_ledger.decisions.work import At, Context, Decided, States, Work
from tenure_ledger.errors import InvalidInput, NotFound, Rejection, refuse
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.stream import State
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "GrantMore",
    "Revoke",
    "Spawn",
    "ancestors",
    "decide_grant",
    "decide_revoke",
    "decide_spawn",
]


class Spawn(NamedTuple):
    """Create a child, in one append to the parent, the child and the child's agent."""

    authority: Authority
    child: OwnerRef
    agent_id: str | None
    grants: tuple[str, ...]
    author: str
    lease_seconds: float | None = None

    @property
    def owner(self) -> OwnerRef:
        """The parent."""
        return self.authority.owner


class GrantMore(NamedTuple):
    """Grant a child more of what the parent has."""

    authority: Authority
    child: OwnerRef
    grants: tuple[str, ...]
    until: datetime | None = None

    @property
    def owner(self) -> OwnerRef:
        """The parent."""
        return self.authority.owner


class Revoke(NamedTuple):
    """Take grants of a child back; None: all of them."""

    authority: Authority
    child: OwnerRef
    grants: tuple[str, ...] | None = None

    @property
    def owner(self) -> OwnerRef:
        """The parent."""
        return self.authority.owner


def decide_spawn(
    states: States, command: Spawn, context: Context
) -> Decided | Rejection:
    """Give the child its first holding, with no more than the parent has."""
    parent, child = states[command.owner.stream], states[command.child.stream]
    refusal = (
        fence(parent, command.authority)
        or blocked(child, command.child)
        or _new_child(parent, child, command)
    )
    if refusal is not None:
        return refusal
    above = [one.ownership for one in ancestors(states, command.owner)]
    until = _limit(above, command.grants)
    refusal = _within(above, command.grants, until, context.now)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    grant = Grant(
        owner=command.child,
        agent_id=command.agent_id,
        author=command.author,
        reason=new_reason(child.ownership),
        lease_seconds=command.lease_seconds,
        parent=command.owner,
        grants=command.grants,
        grants_until=until,
    )
    refusal = check_grant(work, grant)
    if refusal is not None:
        return refusal
    spawned = e.ChildSpawned(
        **work.by_holder(command.owner),
        child=command.child,
        agent_id=command.agent_id,
        child_generation=next_generation(work, child.ownership)[0],
    )
    work.add(command.owner.stream, spawned)
    return work.decided(give(work, grant))


def _new_child(parent: State, child: State, command: Spawn) -> Rejection | None:
    if command.child == command.owner:
        return refuse(InvalidInput, f"{command.child} cannot be its own child")
    own = child.ownership
    if own.live:
        return refuse_live(own, command.child)
    if own.parent is not None and own.parent != command.owner:
        return refuse(
            InvalidInput,
            f"{command.child} is a child of {own.parent}: give the new one a new id",
        )
    if own.status != "absent" and command.child.stream not in parent.ownership.children:
        return refuse(
            InvalidInput,
            f"{command.child} is on record and no child of {command.owner}: claim it, "
            "or give the child a new id",
        )
    known = parent.ownership.children.get(command.child.stream)
    if known is not None and known.generation > own.generation:
        return refuse(
            InvalidInput,
            f"{command.owner} spawned generation {known.generation} of "
            f"{command.child}, which is not on record: give the child a new id",
        )
    return why_not_new(own, command.child)


def ancestors(states: States, owner: OwnerRef) -> list[State]:
    """Return the owner, its parent and so on, as far as ``states`` holds them."""
    return [state for _, state in known_line(states, owner)]


def _limit(above: list[Ownership], grants: tuple[str, ...]) -> datetime | None:
    """Return until when all of them have all of these grants."""
    times = [
        until for own in above for name in grants if (until := own.grants.get(name))
    ]
    return min(times, default=None)


def _within(
    above: list[Ownership],
    grants: tuple[str, ...],
    until: datetime | None,
    now: datetime,
) -> Rejection | None:
    """Refuse what the parent or one above it does not have; a root has everything."""
    for own in above:
        refusal = None if own.parent is None else _lacking(own, grants, until, now)
        if refusal is not None:
            return refusal
    return None


def _lacking(
    own: Ownership, grants: tuple[str, ...], until: datetime | None, now: datetime
) -> Rejection | None:
    for name in grants:
        if not own.granted(name, now):
            return refuse(
                InvalidInput,
                f"the parent, or one above it, has no grant {name!r}: it cannot be "
                "given",
            )
        limit = own.grants.get(name)
        if limit is not None and (until is None or until > limit):
            return refuse(
                InvalidInput,
                f"the parent, or one above it, has {name!r} until {limit.isoformat()} "
                "only: grant it no longer",
            )
    return None


def _child_of(states: States, owner: OwnerRef, child: OwnerRef) -> Rejection | None:
    refusal = blocked(states[child.stream], child)
    if refusal is not None:
        return refusal
    if child.stream not in states[owner.stream].ownership.children:
        return refuse(
            NotFound,
            f"{owner} spawned no {child}: spawn it first",
            kind="child",
            id=str(child),
        )
    return None


def decide_grant(
    states: States, command: GrantMore, context: Context
) -> Decided | Rejection:
    """Grant the child more; what it has already costs no event."""
    refusal = fence(states[command.owner.stream], command.authority) or _child_of(
        states, command.owner, command.child
    )
    if refusal is not None:
        return refusal
    above = [one.ownership for one in ancestors(states, command.owner)]
    until = command.until or _limit(above, command.grants)
    refusal = _within(above, command.grants, until, context.now)
    if refusal is not None:
        return refusal
    work = Work(states, context)
    child = work.state(command.child)
    held = child.ownership.grants
    if any(name not in held or held[name] != until for name in command.grants):
        author = work.state(command.owner).ownership.holder
        envelope = work.by(author, child.ownership.generation)
        event = e.AuthorityGranted(**envelope, grants=command.grants, until=until)
        work.add(command.child.stream, event)
    return work.decided(At(work.state(command.child).version))


def decide_revoke(
    states: States, command: Revoke, context: Context
) -> Decided | Rejection:
    """Take back what the child has of these grants; none of them costs no event."""
    refusal = fence(states[command.owner.stream], command.authority) or _child_of(
        states, command.owner, command.child
    )
    if refusal is not None:
        return refusal
    work = Work(states, context)
    child = work.state(command.child)
    held = child.ownership.grants
    wanted = sorted(held) if command.grants is None else command.grants
    taken = tuple(name for name in wanted if name in held)
    if taken:
        author = work.state(command.owner).ownership.holder
        envelope = work.by(author, child.ownership.generation)
        event = e.AuthorityRevoked(**envelope, grants=taken)
        work.add(command.child.stream, event)
    return work.decided(At(work.state(command.child).version))
