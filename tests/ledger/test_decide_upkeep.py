"""Delete a conversation, resolve a quarantine (design sections 4 and 5)."""

from __future__ import annotations

import pytest

from scenes import JOB, KID, LOOP, ONE, SESSION, TWO
from tenure import (
    Authority,
    Deleted,
    First,
    InvalidInput,
    NotFound,
    OwnerRef,
    Quarantined,
    TooNew,
    UnknownOwner,
)
from tenure_ledger import events as e
from worlds import World

GRANDKID = OwnerRef("subagent", "kid_2")
BROWSER = OwnerRef("lease", "browser")


def family(world: World) -> Authority:
    """Give a session with a child, a grandchild, a thing, and bodies."""
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    ledger.start(held, "m1")
    ledger.begin_tool_call(held, "m1", "c1", "mail", {"to": "bob"})
    ledger.save_checkpoint(held, LOOP)
    kid = ledger.spawn(held, KID, "kid/1", author="host")
    ledger.admit(kid, "task", "assistant_run")
    ledger.intend_tool_call(kid, "task", "c1", "read", {"path": "a.txt"})
    ledger.spawn(kid, GRANDKID, "kid/2", author="kid")
    ledger.spawn(held, BROWSER, author="host")
    return held


def bodies(world: World, owner: OwnerRef) -> list[object]:
    """Return every body that the owner's events refer to."""
    found: list[object] = []
    for one in world.ledger.history(owner):
        for name in ("arguments", "payload", "handover", "result"):
            digest = getattr(one.event, name, None)
            if digest is not None:
                found.append(world.ledger.body(owner, digest))
    return found


def test_deletion_ends_the_whole_family_in_one_step(world: World) -> None:
    family(world)
    with world.writes() as lines:
        at = world.ledger.delete_conversation(SESSION, "ann")
    assert lines == [
        "kid_2 ConversationDeleted@1",
        "kid_2 BodiesErased@1 conversation_deleted",
        "kid/2 AgentReleased@1",
        "browser ConversationDeleted@1",
        "browser BodiesErased@1 conversation_deleted",
        "kid_1 ToolCallClosed@1 task c1 never_started",
        "kid_1 ReplayBarred@1 successor_accepted",
        "kid_1 ConversationDeleted@1",
        "kid_1 BodiesErased@1 conversation_deleted",
        "kid/1 AgentReleased@1",
        "ses_1 ExecutionSettled@1 m1 retired",
        "ses_1 ToolCallClosed@1 m1 c1 outcome_unknown",
        "ses_1 CheckpointCleared@1 term_ended",
        "ses_1 ReplayBarred@1 successor_accepted",
        "ses_1 ConversationDeleted@1",
        "ses_1 BodiesErased@1 conversation_deleted",
        "manager/1 AgentReleased@1",
    ]
    history = world.ledger.history(SESSION)
    assert isinstance(history[at - 1].event, e.ConversationDeleted)


def test_bodies_are_erased_and_the_chain_stands(world: World) -> None:
    family(world)
    stranger = world.ledger.claim(JOB, TWO, "host", first=First("m1", "human"))
    world.ledger.begin_tool_call(stranger, "m1", "c1", "mail", {"to": "bob"})
    assert all(bodies(world, SESSION) + bodies(world, KID))
    world.ledger.delete_conversation(SESSION, "ann")
    assert bodies(world, SESSION) == [None, None]
    assert bodies(world, KID) == [None]
    assert bodies(world, JOB) == [{"to": "bob"}]
    assert world.ledger.verify().ok


def test_deletion_asked_again_adds_nothing(world: World) -> None:
    family(world)
    at = world.ledger.delete_conversation(SESSION, "ann")
    with world.writes() as lines:
        assert world.ledger.delete_conversation(SESSION, "bob") == at
        world.ledger.delete_conversation(KID, "bob")
    assert lines == []


def test_nothing_comes_back_from_deletion(world: World) -> None:
    held = family(world)
    world.ledger.delete_conversation(SESSION, "ann")
    for owner in (SESSION, KID, GRANDKID, BROWSER):
        assert world.ledger.owner(owner).status == "deleted"
        with world.refuses(Deleted):
            world.ledger.claim(owner, TWO, "host")
        with world.refuses(Deleted):
            world.ledger.accept(owner, "m2", "gateway")
    with world.refuses(Deleted):
        world.ledger.check(held)
    for agent in (ONE, "kid/1", "kid/2"):
        world.ledger.claim(OwnerRef("job", agent), agent, "host")


@pytest.mark.parametrize("state", ["waiting only", "cut", "terminal"])
def test_a_session_is_deleted_in_whatever_state_it_is(world: World, state: str) -> None:
    if state == "waiting only":
        world.ledger.accept(SESSION, "m1", "gateway")
    else:
        held = family(world)
        if state == "cut":
            world.ledger.retire(held, "continue", "hand-over")
        else:
            world.ledger.terminate(held, "done", "ok")
    with world.writes() as lines:
        world.ledger.delete_conversation(SESSION, "ann")
    generation = 0 if state == "waiting only" else 1
    assert [one for one in lines if one.startswith("ses_1")] == [
        f"ses_1 ConversationDeleted@{generation}",
        f"ses_1 BodiesErased@{generation} conversation_deleted",
    ]
    assert not any(bodies(world, SESSION))


def test_what_is_unknown_is_not_deleted(world: World) -> None:
    with world.refuses(UnknownOwner):
        world.ledger.delete_conversation(SESSION, "ann")


def test_a_family_with_a_member_that_cannot_be_read_is_not_deleted_in_part(
    world: World,
) -> None:
    family(world)
    world.append_unknown(GRANDKID, ignorable=False)
    with world.refuses(TooNew):
        world.ledger.delete_conversation(SESSION, "ann")


def contradict(world: World) -> tuple[Authority, int]:
    """Give generation 1 to two agents, then let a message in."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    rival = e.OwnershipClaimed(author="import", generation=1, agent_id="rival")
    own = e.ExecutionAdmitted(
        author="rival", generation=1, fenced=True, key="own", origin="tool_probe"
    )
    world.append(SESSION, rival, own)
    world.ledger.accept(SESSION, "m2", "gateway")
    return held, 4


def test_a_quarantine_names_both_positions_and_leaves_the_others_alone(
    world: World,
) -> None:
    contradict(world)
    seen = world.ledger.owner(SESSION)
    assert (seen.status, seen.positions) == ("quarantined", (1, 4))
    other = world.ledger.claim(JOB, TWO, "host")
    world.ledger.check(other)


def test_keeping_the_earlier_event_lets_its_holder_go_on(world: World) -> None:
    held, _ = contradict(world)
    with world.writes() as lines:
        world.ledger.resolve_quarantine(SESSION, 1, "ann")
    assert lines == ["ses_1 QuarantineResolved@1"]
    seen = world.ledger.owner(SESSION)
    assert (seen.status, seen.agent_id, seen.waiting) == ("live", ONE, ("m1", "m2"))
    world.ledger.settle(held, "m1", "completed")
    assert world.ledger.verify().ok


def test_keeping_the_later_event_takes_it_as_true(world: World) -> None:
    held, later = contradict(world)
    world.ledger.resolve_quarantine(SESSION, later, "ann")
    seen = world.ledger.owner(SESSION)
    assert (seen.status, seen.agent_id, seen.granted) == ("live", "rival", later)
    assert seen.incarnation is not None
    rival = Authority(SESSION, 1, seen.incarnation, "rival")
    world.ledger.check(rival)
    with pytest.raises(Exception, match="rival"):
        world.ledger.check(held)
    world.ledger.start(rival, "own")
    cold = world.open("p2").owner(SESSION)
    assert cold == world.ledger.owner(SESSION)


def test_a_contradiction_behind_the_first_is_a_quarantine_of_its_own(
    world: World,
) -> None:
    held, later = contradict(world)
    started = e.ExecutionStarted(author="rival", generation=1, fenced=True, key="m1")
    world.append(SESSION, started)
    world.ledger.resolve_quarantine(SESSION, later, "ann")
    assert world.ledger.owner(SESSION).positions == (3, 7)
    with world.refuses(Quarantined):
        world.ledger.check(held)
    world.ledger.resolve_quarantine(SESSION, 3, "ann")
    assert world.ledger.owner(SESSION).agent_id == "rival"


def test_resolving_says_one_of_the_two_positions_and_once(world: World) -> None:
    contradict(world)
    for keep in (0, 2, 5):
        with world.refuses(InvalidInput):
            world.ledger.resolve_quarantine(SESSION, keep, "ann")
    with world.refuses(Quarantined):
        world.ledger.delete_conversation(SESSION, "ann")
    world.ledger.resolve_quarantine(SESSION, 1, "ann")
    with world.refuses(NotFound) as refusal:
        world.ledger.resolve_quarantine(SESSION, 4, "ann")
    assert refusal.value.kind == "quarantine"


def test_what_is_too_new_is_resolved_by_nobody(world: World) -> None:
    contradict(world)
    world.append_unknown(SESSION, ignorable=False)
    with world.refuses(TooNew):
        world.ledger.resolve_quarantine(SESSION, 1, "ann")


@pytest.mark.parametrize("status", ["done", "given up"])
def test_an_end_that_a_newer_version_wrote_on_is_not_spoken_of(
    world: World, status: str
) -> None:
    """What it wrote may have begun the next generation."""
    held = world.ledger.claim(SESSION, ONE, "host")
    world.ledger.terminate(held, "closed", "done")
    world.append_unknown(SESSION, ignorable=False)
    with world.refuses(TooNew):
        world.open("p2").terminate(held, "closed", status)


def test_an_unknown_event_that_may_be_ignored_changes_nothing(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    world.append_unknown(SESSION, ignorable=True)
    world.ledger.check(held)
    world.ledger.retire(held, "accepted")
    assert world.open("p2").owner(SESSION).status == "cut"
