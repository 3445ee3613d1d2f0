"""What a marker or a bar covers, and what it does not: the edges of section 7.2."""

from __future__ import annotations

import pytest

from recovering import KID, PAYLOADS, SESSION, begin, restart, the
from tenure import Authority, ChatExecutionKey, Closed, Resumed
from tenure_ledger import events as e
from worlds import World

LOOP = PAYLOADS["reaction_loop"]


def bare(world: World) -> Authority:
    """A term whose checkpoint names nothing: it stands for its owner."""
    held = world.ledger.claim(SESSION, "manager/1", "host")
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.admit(held, "m1", "human")
    world.ledger.start(held, "m1")
    return held


@pytest.mark.parametrize(
    "reason", ["visible_output_started", "model_switch", "runtime_work_reap"]
)
@pytest.mark.parametrize("keys", [None, ["m1"]])
def test_a_checkpoint_that_names_nothing_is_covered_by_each_marker_and_bar(
    world: World, reason: str, keys: list[str] | None
) -> None:
    held = bare(world)
    if reason == "visible_output_started":
        world.ledger.mark_output_started(held, "m1")
    elif reason == "model_switch":
        world.ledger.bar_replay(SESSION, "model_switch", "host", keys)
    else:
        world.ledger.bar_replay(SESSION, "runtime_work_reap", "host", keys)
    assert the(restart(world), Closed).reasons == (reason,)


def test_what_is_settled_forbids_nothing_of_what_goes_on_beside_it(
    world: World,
) -> None:
    """Both are named by one checkpoint; the output and the bar were of the other."""
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    world.ledger.save_checkpoint(held, LOOP, keys=["m1", "m2"])
    world.ledger.mark_output_started(held, "m1")
    world.ledger.bar_replay(SESSION, "model_switch", "host", ["m1"])
    world.ledger.settle(held, "m1", "completed")
    assert the(restart(world), Resumed).plan.keys == ("m2",)


@pytest.mark.parametrize("named", ["m1", "m2"])
@pytest.mark.parametrize("barred", ["m1", "m2"])
def test_what_is_merged_is_covered_with_what_it_is_merged_into(
    world: World, named: str, barred: str
) -> None:
    """A bar over a part that was merged is one over that part alone."""
    ledger = world.ledger
    held = ledger.claim(SESSION, "manager/1", "host")
    ledger.accept(SESSION, "m2", "inbox", human=True)
    ledger.admit(held, "m1", "human", absorbed=["m2"])
    ledger.start(held, "m1")
    ledger.save_checkpoint(held, LOOP, keys=[named])
    ledger.bar_replay(SESSION, "model_switch", "host", [barred])
    report = restart(world)
    if barred == "m1" or named == "m2":
        assert the(report, Closed).reasons == ("model_switch",)
    else:
        assert the(report, Resumed).plan.keys == ("m1",)


def test_a_parent_on_record_that_spawned_no_such_child_is_none(world: World) -> None:
    """A history from elsewhere; the session that it names is alive and well."""
    begin(world.open("host"))
    claimed = e.OwnershipClaimed(
        author="import", generation=1, agent_id="kid/1", process="p1", parent=SESSION
    )
    world.append(KID, claimed)
    world.append("agent:kid/1", e.AgentBound(author="import", generation=1, owner=KID))
    given = world.ledger.owner(KID).incarnation
    assert given is not None
    kid = Authority(KID, 1, given, "kid/1")
    world.ledger.admit(kid, "t1", "assistant_run")
    closed = the(restart(world, "host"), Closed)
    assert closed.assertion == "invalid_structural_owner_identity"
    assert closed.detail == f"{SESSION} spawned no {KID}"
    known = world.ledger.execution(ChatExecutionKey("kid_1", "t1"), "subagent")
    assert known is not None
