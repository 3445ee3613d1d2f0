"""Delete a conversation, resolve a quarantine (design sections 4 and 5)."""

from __future__ import annotations

from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions.ending import close_term, release
from tenure_ledger.decisions.fence import blocked, newer, unfenced
from tenure_ledger.decisions.grants import bindable
from tenure_ledger.decisions.work import At, Context, Decided, States, Work
from tenure_ledger.errors import (
    InvalidInput,
    NotFound,
    Rejection,
    refuse,
)
from tenure_ledger.folds.ownership import Child
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef, agent_stream

__all__ = [
    "DeleteConversation",
    "ResolveQuarantine",
    "decide_delete",
    "decide_resolve",
    "descendants",
    "disputed_agents",
]


class DeleteConversation(NamedTuple):
    """Delete the owner and all its descendants; unfenced."""

    owner: OwnerRef
    author: str


class ResolveQuarantine(NamedTuple):
    """Say which of two contradicting events stands; unfenced."""

    owner: OwnerRef
    keep: int
    author: str


def descendants(states: States, owner: OwnerRef) -> list[OwnerRef]:
    """Return all children, grandchildren and so on, parents first."""
    found: list[OwnerRef] = []
    seen = {owner.stream}
    waiting = _children(states, owner)
    while waiting:
        child = waiting.pop(0)
        if child.ref.stream in seen:
            continue
        seen.add(child.ref.stream)
        found.append(child.ref)
        waiting.extend(_children(states, child.ref))
    return found


def _children(states: States, owner: OwnerRef) -> list[Child]:
    children = states[owner.stream].ownership.children.values()
    return sorted(children, key=lambda child: (child.version, child.ref.stream))


def decide_delete(
    states: States, command: DeleteConversation, context: Context
) -> Decided | Rejection:
    """Delete the conversation, its descendants and all their bodies, in one step."""
    owner = command.owner
    state = states[owner.stream]
    work = Work(states, context)
    if state.ownership.status == "deleted" and not state.quarantine:
        return work.decided(At(state.ownership.ended))
    refusal = unfenced(state, owner)
    if refusal is not None:
        return refusal
    everyone = [owner, *descendants(states, owner)]
    for one in everyone[1:]:
        refusal = blocked(states[one.stream], one)
        if refusal is not None and states[one.stream].ownership.status != "deleted":
            return refusal
    erased: list[str] = []
    for one in reversed(everyone):
        if work.state(one).ownership.status != "deleted":
            _delete(work, one, command.author)
            erased.append(one.stream)
    at = work.state(owner).ownership.ended
    return work.decided(At(at), erase=tuple(erased))


def _delete(work: Work, owner: OwnerRef, author: str) -> None:
    own = work.state(owner).ownership
    envelope = work.by(author, own.generation)
    if own.running:
        close_term(work, owner, envelope)
    work.add(owner.stream, e.ConversationDeleted(**envelope))
    work.add(owner.stream, e.BodiesErased(**envelope, reason="conversation_deleted"))
    release(work, owner, author, own)


def decide_resolve(
    states: States, command: ResolveQuarantine, context: Context
) -> Decided | Rejection:
    """End a quarantine: the event at ``keep`` stands, the other does not."""
    owner = command.owner
    state = states[owner.stream]
    stopped = state.quarantine
    if state.too_new:
        return newer(state, owner)
    if stopped is None:
        return refuse(
            NotFound,
            f"{owner} is not quarantined: there is nothing to resolve",
            kind="quarantine",
            id=str(owner),
        )
    positions = (stopped.against, stopped.version)
    if command.keep not in positions:
        return refuse(
            InvalidInput,
            f"keep must be one of the two positions {positions}, not {command.keep}",
        )
    drop = stopped.against if command.keep == stopped.version else stopped.version
    work = Work(states, context)
    event = e.QuarantineResolved(
        **work.by(command.author, state.ownership.generation),
        keep=command.keep,
        drop=drop,
    )
    at = work.add(owner.stream, event)
    return _rebind(work, owner, command.author, state) or work.decided(At(at))


def disputed_agents(state: State) -> set[str]:
    """Return the agents that a quarantined owner may turn out to be held by, or not."""
    stopped = state.quarantine
    if stopped is None:
        return set()
    events = (stopped.event, *stopped.held.values())
    named = {getattr(event, "agent_id", None) for event in events}
    named |= {getattr(event, "previous_agent_id", None) for event in events}
    return {one for one in (*named, state.ownership.agent_id) if one is not None}


def _rebind(
    work: Work, owner: OwnerRef, author: str, before: State
) -> Rejection | None:
    """Bind the agent that holds the owner now, and release those that do not.

    What wrote the dropped event may have bound its agent; an import binds none. An
    agent whose own stream cannot be read is left as it is.
    """
    own = work.state(owner).ownership
    envelope = work.by(author, own.generation)
    readable = {
        agent: state
        for agent in sorted(disputed_agents(before))
        if not blocked(state := work.states[agent_stream(agent)], owner)
    }
    for agent, state in readable.items():
        if agent != own.agent_id and state.agent.owner == owner:
            work.add(state.stream, e.AgentReleased(**envelope, owner=owner))
    name = own.agent_id
    if name is None or name == before.ownership.agent_id or name not in readable:
        return None
    holder = readable[name]
    if holder.agent.owner is None:
        work.add(holder.stream, e.AgentBound(**envelope, owner=owner))
    return bindable(holder, name, owner)
