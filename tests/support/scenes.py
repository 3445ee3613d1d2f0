"""The rows of the table in design section 5, and the writes that need an authority."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tenure import (
    Authority,
    Event,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    arguments_digest,
)
from tenure_ledger import events as e
from worlds import World

__all__ = [
    "JOB",
    "KID",
    "LOOP",
    "NEXT",
    "ONE",
    "SCENES",
    "SESSION",
    "TWO",
    "WRITES",
    "Scene",
    "version_of",
]

SESSION = OwnerRef("session", "ses_1")
JOB = OwnerRef("job", "job_1")
KID = OwnerRef("subagent", "kid_1")
ONE, TWO, NEXT = "manager/1", "manager/2", "manager/3"
LOOP = RuntimeRestartReactionLoopState(consecutive_batches=1)
ARGUMENTS = {"path": "a.txt"}


class Scene(NamedTuple):
    """An owner in one state: the authority its last holder kept, and what is on record.

    ``evidence`` is what a refusal must say about this state.
    """

    authority: Authority
    evidence: Mapping[str, object]


def version_of(ledger: Ledger, owner: OwnerRef, kind: type[Event]) -> int:
    """Return the version of the owner's latest event of this kind."""
    return [
        one.version for one in ledger.history(owner) if isinstance(one.event, kind)
    ][-1]


def absent(_: World, owner: OwnerRef) -> Scene:
    """Nothing is on record; the authority is made up."""
    return Scene(Authority(owner, 1, "never given", ONE), {})


def live(world: World, owner: OwnerRef) -> Scene:
    """``m1`` runs and has called ``c1``, ``m2`` waits, a child lives."""
    ledger = world.ledger
    held = ledger.claim(owner, ONE, "host", first=First("m1", "human"))
    ledger.start(held, "m1")
    ledger.begin_tool_call(held, "m1", "c1", "read", ARGUMENTS)
    ledger.admit(held, "m2", "human")
    ledger.spawn(held, KID, "kid/1", grants=["read"], author="host")
    evidence = {
        "holder": ONE,
        "generation": 1,
        "incarnation": held.incarnation,
        "process": "p1",
    }
    return Scene(held, evidence)


def cut(world: World, owner: OwnerRef) -> Scene:
    """The term ended by a cut; a successor is waited for."""
    held = live(world, owner).authority
    at = world.ledger.retire(held, "continue", "Done: A. Next: B.")
    return Scene(held, {"generation": 1, "cut": at})


def terminal(world: World, owner: OwnerRef) -> Scene:
    """The owner ended."""
    held = live(world, owner).authority
    at = world.ledger.terminate(held, "done", "All done.")
    return Scene(held, {"version": at})


def imported_at_zero(world: World, owner: OwnerRef) -> Scene:
    """An older version's history: generation 0, a checkpoint, no agent."""
    given, *_ = world.append(
        owner,
        e.OwnershipClaimed(author="import", generation=0),
        e.CheckpointSaved(
            author="import",
            generation=0,
            keys=(),
            revision=4,
            mode="reaction_loop",
            payload="digest of a body that was not imported",
        ),
    )
    return Scene(Authority(owner, 1, given), {"version": 1, "generation": 0})


def imported_without_agent(world: World, owner: OwnerRef) -> Scene:
    """An older version's history that ends at a grant without an agent."""
    *_, given = world.append(
        owner,
        e.OwnershipClaimed(author="import", generation=1, agent_id="ancient"),
        e.GenerationAdvanced(author="import", generation=2, reason="takeover"),
    )
    return Scene(Authority(owner, 2, given), {"version": 2, "generation": 2})


def deleted(world: World, owner: OwnerRef) -> Scene:
    """The conversation is gone."""
    held = live(world, owner).authority
    world.ledger.delete_conversation(owner, "a person")
    at = version_of(world.ledger, owner, e.ConversationDeleted)
    return Scene(held, {"version": at})


def quarantined(world: World, owner: OwnerRef) -> Scene:
    """Two events give generation 1 to two agents."""
    held = live(world, owner).authority
    rival = e.OwnershipClaimed(author="import", generation=1, agent_id="rival")
    world.append(owner, rival)
    at = len(world.ledger.history(owner))
    return Scene(held, {"positions": (1, at)})


def too_new(world: World, owner: OwnerRef) -> Scene:
    """A newer version wrote what this one does not know."""
    held = live(world, owner).authority
    world.append_unknown(owner, ignorable=False)
    return Scene(held, {"version": len(world.ledger.history(owner))})


SCENES: Mapping[str, Callable[[World, OwnerRef], Scene]] = {
    scene.__name__: scene
    for scene in (
        absent,
        live,
        cut,
        terminal,
        imported_at_zero,
        imported_without_agent,
        deleted,
        quarantined,
        too_new,
    )
}

WRITES: Mapping[str, Callable[[Ledger, Authority], object]] = {
    "advance: renew": lambda on, by: on.advance(by, "lease_renewal", lease_seconds=60),
    "advance: migrate": lambda on, by: on.advance(by, "migration"),
    "advance: to another agent": lambda on, by: on.advance(by, "migration", NEXT),
    "spawn": lambda on, by: on.spawn(
        by, OwnerRef("subagent", "kid_2"), "kid/2", author="host"
    ),
    "grant": lambda on, by: on.grant(by, KID, ["write"]),
    "revoke": lambda on, by: on.revoke(by, KID),
    "terminate": lambda on, by: on.terminate(by, "closed", "Closed by the host."),
    "admit": lambda on, by: on.admit(by, "m3", "human"),
    "start": lambda on, by: on.start(by, "m2"),
    "settle": lambda on, by: on.settle(by, "m1", "completed"),
    "retire": lambda on, by: on.retire(by, "accepted"),
    "history_rewritten": lambda on, by: on.history_rewritten(by, 1, "m1"),
    "save_checkpoint": lambda on, by: on.save_checkpoint(by, LOOP),
    "clear_checkpoint": lambda on, by: on.clear_checkpoint(by),
    "mark_output_started": lambda on, by: on.mark_output_started(by, "m1"),
    "record_verdicts": lambda on, by: on.record_verdicts(by, {"m1": "current"}),
    "request_approval": lambda on, by: on.request_approval(
        by, "c2", "write", arguments_digest(ARGUMENTS), "policy 1"
    ),
    "close_approval": lambda on, by: on.close_approval(
        by,
        on.request_approval(
            by, "c2", "write", arguments_digest(ARGUMENTS), "policy 1"
        ).request_id,
    ),
    "intend_tool_call": lambda on, by: on.intend_tool_call(
        by, "m1", "c2", "write", ARGUMENTS
    ),
    "begin_tool_call": lambda on, by: on.begin_tool_call(
        by, "m1", "c2", "write", ARGUMENTS
    ),
    "complete_tool_call": lambda on, by: on.complete_tool_call(
        by, ("m1", "c1"), "the text"
    ),
}
"""Every method that takes an authority and writes; they make sense in scene `live`."""
