"""Spawn, grant, revoke: a holder and its children (design sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from scenes import JOB, KID, ONE, SESSION, TWO
from tenure import (
    Authority,
    Deleted,
    Event,
    Evidence,
    First,
    InvalidInput,
    Ledger,
    NotFound,
    OwnerIsLive,
    OwnerRef,
    Quarantined,
    TooNew,
)
from tenure_ledger import events as e
from worlds import World

GRANDKID = OwnerRef("subagent", "kid_2")
BROWSER = OwnerRef("lease", "browser")
TAB = OwnerRef("lease", "tab")


def begin(world: World, agent: str = ONE) -> Authority:
    """Claim the session."""
    return world.ledger.claim(SESSION, agent, "host")


def gone(ledger: Ledger, owner: OwnerRef = SESSION) -> Evidence:
    """Say that whoever holds the owner now is gone."""
    return Evidence.gone(ledger.owner(owner))


def grants(world: World, owner: OwnerRef) -> dict[str, float | None]:
    """Return what the owner was granted, and for how many seconds from now."""
    return {
        name: None if until is None else (until - world.now).total_seconds()
        for name, until in world.ledger.owner(owner).grants
    }


def test_a_child_is_spawned_by_one_append_to_three_streams(world: World) -> None:
    held = begin(world)
    with world.writes() as lines:
        kid = world.ledger.spawn(
            held, KID, "kid/1", grants={"read", "exec"}, author="host"
        )
    assert lines == [
        "ses_1 ChildSpawned@1",
        "kid_1 OwnershipClaimed@1",
        "kid/1 AgentBound@1",
    ]
    assert len({one.command_id for one in events(world)[-3:]}) == 1
    seen = world.ledger.owner(KID)
    assert (kid.owner, kid.generation, kid.agent_id) == (KID, 1, "kid/1")
    assert (seen.parent, seen.incarnation) == (SESSION, kid.incarnation)
    assert world.ledger.owner(SESSION).children == (KID,)
    assert grants(world, KID) == {"exec": None, "read": None}


def events(world: World) -> list[Event]:
    """Return all that is on record."""
    recorded = [one.event for one in world.ledger.events()]
    return [one for one in recorded if isinstance(one, Event)]


def test_a_child_is_spawned_once(world: World) -> None:
    held = begin(world)
    world.ledger.spawn(held, KID, "kid/1", author="host")
    with world.refuses(OwnerIsLive) as refusal:
        world.ledger.spawn(held, KID, "kid/1", author="host")
    assert refusal.value.evidence["holder"] == "kid/1"


def test_a_child_that_ended_is_spawned_again_by_its_parent_only(
    world: World,
) -> None:
    held = begin(world)
    stranger = world.ledger.claim(JOB, TWO, "host")
    kid = world.ledger.spawn(held, KID, "kid/1", author="host")
    world.ledger.terminate(kid, "done", "ok")
    with world.refuses(InvalidInput):
        world.ledger.spawn(stranger, KID, "kid/2", author="host")
    with world.writes() as lines:
        again = world.ledger.spawn(held, KID, "kid/2", author="host")
    assert again.generation == 2
    assert lines == [
        "ses_1 ChildSpawned@1",
        "kid_1 RetirementCut@1 forced",
        "kid_1 GenerationAdvanced@2 reclaim",
        "kid/2 AgentBound@2",
    ]


def test_nobody_spawns_itself_or_what_is_somebody_elses(world: World) -> None:
    held = begin(world)
    other = world.ledger.claim(JOB, TWO, "host")
    world.ledger.terminate(other, "done", "ok")
    for child in (SESSION, JOB):
        with world.refuses(InvalidInput):
            world.ledger.spawn(held, child, "kid/1", author="host")


def test_a_child_gets_no_more_than_its_parent_has(world: World) -> None:
    ledger = world.ledger
    kid = ledger.spawn(begin(world), KID, "kid/1", grants=["read"], author="host")
    with world.refuses(InvalidInput):
        ledger.spawn(kid, GRANDKID, "kid/2", grants=["read", "exec"], author="kid")
    ledger.spawn(kid, GRANDKID, "kid/2", grants=["read"], author="kid")
    with world.refuses(InvalidInput):
        ledger.grant(kid, GRANDKID, ["exec"])


def test_a_child_gets_nothing_for_longer_than_its_parent_has_it(
    world: World,
) -> None:
    ledger = world.ledger
    held = begin(world)
    kid = ledger.spawn(held, KID, "kid/1", author="host")
    ledger.grant(held, KID, ["read"], until=world.now + timedelta(seconds=60))
    ledger.spawn(kid, GRANDKID, "kid/2", grants=["read"], author="kid")
    assert grants(world, GRANDKID) == {"read": 60}
    with world.refuses(InvalidInput):
        ledger.grant(kid, GRANDKID, ["read"], until=world.now + timedelta(seconds=61))
    world.pass_seconds(60)
    with world.refuses(InvalidInput):
        ledger.grant(kid, GRANDKID, ["read"])


def test_grant_and_revoke_asked_again_add_nothing(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    ledger.spawn(held, KID, "kid/1", grants=["read"], author="host")
    asks: list[tuple[Callable[[], int], dict[str, float | None]]] = [
        (lambda: ledger.grant(held, KID, ["exec", "read"]), {"exec": None}),
        (lambda: ledger.revoke(held, KID, ["exec", "none such"]), {}),
        (lambda: ledger.revoke(held, KID), {}),
    ]
    for ask, left in asks:
        at = ask()
        with world.writes() as lines:
            assert ask() == at
        assert lines == []
        assert left.items() <= grants(world, KID).items()
    assert grants(world, KID) == {}


def test_only_a_child_is_granted_and_revoked(world: World) -> None:
    held = begin(world)
    world.ledger.claim(JOB, TWO, "host")
    writes: list[Callable[[], object]] = [
        lambda: world.ledger.grant(held, JOB, ["read"]),
        lambda: world.ledger.revoke(held, KID),
    ]
    for write in writes:
        with world.refuses(NotFound) as refusal:
            write()
        assert refusal.value.kind == "child"


def test_a_child_that_nothing_may_be_written_to_keeps_its_grants(
    world: World,
) -> None:
    held = begin(world)
    world.ledger.spawn(held, KID, "kid/1", grants=["read"], author="host")
    rival = e.OwnershipClaimed(author="import", generation=1, agent_id="rival")
    world.append(KID, rival)
    writes: list[Callable[[], object]] = [
        lambda: world.ledger.grant(held, KID, ["exec"]),
        lambda: world.ledger.revoke(held, KID),
        lambda: world.ledger.spawn(held, KID, "kid/2", author="host"),
    ]
    for write in writes:
        with world.refuses(Quarantined):
            write()
    world.ledger.resolve_quarantine(KID, 1, "ann")
    world.ledger.delete_conversation(KID, "ann")
    for write in writes:
        with world.refuses(Deleted):
            write()


def test_an_agent_whose_stream_is_too_new_is_bound_by_nobody(world: World) -> None:
    world.append_unknown(f"agent:{TWO}", ignorable=False)
    with world.refuses(TooNew):
        world.ledger.claim(SESSION, TWO, "host")
    held = begin(world)
    with world.refuses(TooNew):
        world.ledger.spawn(held, KID, TWO, author="host")


def test_a_grant_outlives_the_term_and_the_next_holder_revokes_it(
    world: World,
) -> None:
    held = begin(world)
    kid = world.ledger.spawn(held, KID, "kid/1", grants=["read"], author="host")
    world.ledger.retire(held, "continue")
    world.ledger.check(kid)
    held = world.ledger.succeed(SESSION, TWO, "host")
    assert grants(world, KID) == {"read": None}
    world.ledger.revoke(held, KID)
    assert grants(world, KID) == {}


@pytest.mark.parametrize("end", ["retire", "take_over"])
def test_parentage_follows_the_session_not_the_term(world: World, end: str) -> None:
    ledger = world.ledger
    held = begin(world)
    kid = ledger.spawn(held, KID, "kid/1", author="host")
    ledger.spawn(kid, GRANDKID, "kid/2", author="kid")
    if end == "take_over":
        ledger.take_over(SESSION, TWO, "host", gone(ledger))
    else:
        ledger.retire(held, "continue")
        held = ledger.succeed(SESSION, TWO, "host", first=First("m1", "human"))
    ledger.settle(ledger_admit(ledger, kid), "report", "completed")
    assert ledger.owner(KID).parent == SESSION
    assert ledger.owner(GRANDKID).parent == KID
    assert ledger.owner(SESSION).children == (KID,)


def ledger_admit(ledger: Ledger, kid: Authority) -> Authority:
    """Give the child something to report."""
    ledger.admit(kid, "report", "runtime_recovery")
    return kid
