"""Giving a holding: the part that claim, succeed, take over, migrate and spawn share.

Source of the rules: design sections 2, 3, 5 and the table of section 5.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from tenure_ledger import events as e
from tenure_ledger.decisions import notices
from tenure_ledger.decisions.carry_over import carry_over, check_first
from tenure_ledger.decisions.ending import (
    Ending,
    clear_checkpoint,
    close_term,
    end_things,
    release,
)
from tenure_ledger.decisions.fence import blocked
from tenure_ledger.decisions.live import live_executions
from tenure_ledger.decisions.work import Decided, Granted, Work
from tenure_ledger.errors import (
    AgentIsBound,
    InvalidInput,
    OwnerEnded,
    OwnerIsLive,
    Rejection,
    TermRetired,
    refuse,
)
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.stream import State
from tenure_ledger.values import (
    RESTORED,
    Authority,
    Evidence,
    First,
    OwnerRef,
    agent_stream,
)

__all__ = [
    "Grant",
    "append_grant",
    "bindable",
    "check_grant",
    "forced_cut",
    "give",
    "give_checked",
    "new_reason",
    "next_generation",
    "refuse_live",
    "why_not_new",
]


class Grant(NamedTuple):
    """One grant of ownership, as its event will say it."""

    owner: OwnerRef
    agent_id: str | None
    author: str
    reason: e.AdvanceReason | None
    """None: the first grant, generation 1."""
    first: First | None = None
    lease_seconds: float | None = None
    evidence: Evidence | None = None
    override: bool = False
    parent: OwnerRef | None = None
    grants: tuple[str, ...] = ()
    grants_until: datetime | None = None
    fenced: bool = False
    """Written by the present holding: a renewal, a migration."""


def bindable(state: State, agent_id: str, owner: OwnerRef) -> Rejection | None:
    """Return why the agent whose stream this is cannot take ``owner``, if so."""
    refusal = blocked(state, owner)
    if refusal is not None and (state.too_new or state.quarantine is not None):
        # It is the agent's record that stands in the way, and no owner's.
        text = f"what is on record of {agent_id} cannot be read: use another agent id"
        return refusal._replace(text=text)
    bound = state.agent.owner
    if refusal is None and bound is not None and bound != owner:
        return refuse(
            AgentIsBound,
            f"{agent_id} holds {bound} since generation {state.agent.generation}: "
            "one agent is one owner; use another agent id",
            owner=bound,
            generation=state.agent.generation,
        )
    return refusal


def refuse_live(own: Ownership, owner: OwnerRef) -> Rejection:
    """Refuse because somebody holds the owner."""
    holding = own.holding
    return refuse(
        OwnerIsLive,
        f"{own.agent_id or 'a holder'} holds {owner} at generation {own.generation}: "
        "let it retire, or take over with evidence that it is gone",
        holder=own.agent_id,
        generation=own.generation,
        incarnation=holding.incarnation if holding else None,
        process=holding.process if holding else None,
    )


def why_not_new(own: Ownership, owner: OwnerRef) -> Rejection | None:
    """Return why a claim of this owner is refused, if so."""
    if own.status == "live":
        return refuse_live(own, owner)
    if own.status == "cut":
        return refuse(
            TermRetired,
            f"{owner} waits for a successor since the cut at version {own.ended}: "
            "use succeed",
            generation=own.generation,
            cut=own.ended,
        )
    if own.status == "revoked":
        return refuse(
            OwnerEnded,
            f"{owner} is used by {own.parent} and has no holder: use take_over",
            generation=own.generation,
        )
    return None


def new_reason(own: Ownership) -> e.AdvanceReason | None:
    """Return the reason of a grant to a new holder where nobody holds the owner."""
    if own.status == "terminal":
        return "reclaim"
    return "adopted" if own.status == "imported" else None


def next_generation(work: Work, own: Ownership) -> tuple[int, int]:
    """Return the owner's next generation, and the floor if that is why it is so high.

    What a restored backup lost may have given out the ones in between.
    """
    restored = work.states.get(RESTORED.stream)
    floor = restored.ownership.generation if restored is not None else 0
    if floor > own.generation:
        return floor + 1, floor
    return own.generation + 1, 0


def check_grant(work: Work, grant: Grant) -> Rejection | None:
    """Return why the agent or the first request rules this grant out, if so."""
    state = work.state(grant.owner)
    if next_generation(work, state.ownership)[0] > 2**63 - 1:
        return refuse(InvalidInput, f"the generations of {grant.owner} are used up")
    if grant.agent_id is not None:
        agent = work.states[agent_stream(grant.agent_id)]
        refusal = bindable(agent, grant.agent_id, grant.owner)
        if refusal is not None:
            return refusal
    root = grant.parent is None and state.ownership.parent is None
    if grant.agent_id is None and root:
        return refuse(InvalidInput, "agent_id is missing: name the running agent")
    return check_first(state, grant.first)


def forced_cut(work: Work, owner: OwnerRef, author: str) -> Ending:
    """End the live term by a forced cut: closings, cut, releases."""
    own = work.state(owner).ownership
    envelope = work.by(author, own.generation)
    ending = close_term(work, owner, envelope)
    cut = e.RetirementCut(**envelope, outcome="forced")
    work.add(owner.stream, cut)
    return ending._replace(things=release(work, owner, author, own))


def give(work: Work, grant: Grant) -> Granted:
    """Append the grant and all that goes with it; the caller checked that it may.

    Order: (closings and forced cut of the term before,) grant, binding, carry-over,
    ``first``, notice.
    """
    owner, reason = grant.owner, grant.reason
    before = work.state(owner).ownership
    same_agent = before.live and before.agent_id == grant.agent_id
    goes_on = same_agent and reason in {"instance_restart", "migration"}
    ending: Ending | None = None
    if _needs_cut(work, grant, goes_on=goes_on):
        ending = forced_cut(work, owner, grant.author)
    elif goes_on:
        ending = Ending((), things=end_things(work, owner, grant.author, before))
    elif before.status == "imported":
        clear_checkpoint(work, owner, work.by(grant.author, before.generation))
        ending = Ending((), things=release(work, owner, grant.author, before))
    authority = append_grant(work, grant, before)
    if grant.agent_id is not None and not goes_on:
        stream = agent_stream(grant.agent_id)
        envelope = work.by(grant.author, authority.generation)
        work.add(stream, e.AgentBound(**envelope, owner=owner))
    if not goes_on:
        carry_over(work, owner, grant.first)
    if ending is not None:
        notices.tell(work, owner, grant.author, ending, "retirement_cut")
    return Granted(authority, work.context.process)


def give_checked(work: Work, grant: Grant) -> Decided | Rejection:
    """Give what was asked, unless the agent or the first request rules it out."""
    return check_grant(work, grant) or work.decided(give(work, grant))


def _needs_cut(work: Work, grant: Grant, *, goes_on: bool) -> bool:
    """Say whether a cut comes first: at a change of agent, or over adopted work."""
    state = work.state(grant.owner)
    own = state.ownership
    if own.status == "live":
        return not goes_on
    if own.status == "terminal":
        return True
    changes = own.agent_id is not None and own.agent_id != grant.agent_id
    return own.status == "imported" and (changes or bool(live_executions(state)))


def append_grant(work: Work, grant: Grant, before: Ownership) -> Authority:
    """Append the event that gives or renews the holding; return its authority."""
    context = work.context
    until = None
    if grant.lease_seconds is not None:
        until = context.now + timedelta(seconds=grant.lease_seconds)
    generation, floor = next_generation(work, before)
    shared: dict[str, object] = {
        **work.by(grant.author, generation, fenced=grant.fenced),
        "event_id": context.new_id,
        "agent_id": grant.agent_id,
        "process": context.process,
        "lease_until": until,
        "parent": grant.parent,
        "grants": grant.grants,
        "grants_until": grant.grants_until,
        "floor": floor,
    }
    if grant.reason is None:
        work.add(grant.owner.stream, e.OwnershipClaimed.model_validate(shared))
    else:
        shared |= {
            "reason": grant.reason,
            "previous_agent_id": before.agent_id,
            "evidence": grant.evidence,
            "override": grant.override,
        }
        work.add(grant.owner.stream, e.GenerationAdvanced.model_validate(shared))
    own = work.state(grant.owner).ownership
    incarnation = own.holding.incarnation if own.holding else context.new_id
    return Authority(grant.owner, own.generation, incarnation, grant.agent_id)
