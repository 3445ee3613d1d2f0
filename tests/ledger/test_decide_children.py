"""Spawn, grant, revoke, and the things that an agent uses (design sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from scenes import JOB, KID, ONE, SESSION, TWO
from worlds import World

from tenure import (
    Authority,
    Evidence,
    FencedOut,
    First,
    InvalidInput,
    Ledger,
    NotFound,
    OwnerEnded,
    OwnerIsLive,
    OwnerRef,
)
from tenure_ledger import events as e

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
    assert len({one.event.command_id for one in events(world)[-3:]}) == 1
    seen = world.ledger.owner(KID)
    assert (kid.owner, kid.generation, kid.agent_id) == (KID, 1, "kid/1")
    assert (seen.parent, seen.incarnation) == (SESSION, kid.incarnation)
    assert world.ledger.owner(SESSION).children == (KID,)
    assert grants(world, KID) == {"exec": None, "read": None}


def events(world: World) -> list[e.Recorded]:
    """Return all that is on record."""
    return list(world.ledger.events())


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
        ledger.grant(
            kid, GRANDKID, ["read"], until=world.now + timedelta(seconds=61)
        )
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
    for write in (
        lambda: world.ledger.grant(held, JOB, ["read"]),
        lambda: world.ledger.revoke(held, KID),
    ):
        with world.refuses(NotFound) as refusal:
            write()
        assert refusal.value.kind == "child"


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


HOLDS: dict[str, Callable[[Ledger, Authority], object]] = {
    "retire": lambda on, by: on.retire(by, "continue"),
    "terminate": lambda on, by: on.terminate(by, "done", "ok"),
    "take_over": lambda on, _: on.take_over(SESSION, TWO, "host", gone(on)),
    "migration": lambda on, by: on.advance(by, "migration"),
    "to another agent": lambda on, by: on.advance(by, "migration", TWO),
    "instance_restart": lambda on, _: on.take_over(SESSION, ONE, "host", gone(on)),
}


@pytest.mark.parametrize("end", HOLDS)
def test_what_ends_the_parents_holding_ends_that_of_its_things(
    world: World, end: str
) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    tab = ledger.spawn(lease, TAB, author="host")
    ledger.admit(lease, "page", "tool_probe")
    ledger.start(lease, "page")
    with world.writes() as lines:
        HOLDS[end](ledger, held)
    assert [one for one in lines if one.startswith(("browser", "tab"))] == [
        "browser ExecutionSettled@1 page retired",
        "browser ReplayBarred@1 successor_accepted",
        "browser AuthorityRevoked@1 ends_holding",
        "tab AuthorityRevoked@1 ends_holding",
    ]
    for authority in (lease, tab):
        with world.refuses(FencedOut):
            ledger.check(authority)


def test_a_renewed_lease_keeps_the_things(world: World) -> None:
    held = begin(world)
    lease = world.ledger.spawn(held, BROWSER, author="host")
    world.ledger.advance(held, "lease_renewal")
    world.ledger.check(lease)


def test_the_next_holder_takes_a_thing_without_evidence(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    ledger.retire(held, "continue")
    for agent in (None, ONE):
        with world.refuses(OwnerEnded):
            ledger.take_over(BROWSER, agent, "host")
    with world.refuses(OwnerEnded):
        ledger.claim(BROWSER, "somebody", "host")
    ledger.succeed(SESSION, TWO, "host")
    for agent in (ONE, "somebody"):
        with world.refuses(FencedOut) as refusal:
            ledger.take_over(BROWSER, agent, "host")
        assert refusal.value.holder == TWO
    with world.writes() as lines:
        taken = ledger.take_over(BROWSER, TWO, "host")
    assert lines == ["browser GenerationAdvanced@2 takeover"]
    assert (taken.generation, taken.agent_id) == (2, None)
    with world.refuses(FencedOut):
        ledger.check(lease)
    with world.refuses(OwnerIsLive):
        ledger.take_over(BROWSER, None, "host")


def test_a_live_thing_is_taken_by_nobody_but_the_holder_of_its_parent(
    world: World,
) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    with world.refuses(FencedOut):
        ledger.take_over(BROWSER, "somebody", "host", gone(ledger, BROWSER))
    ledger.check(lease)
    with world.writes() as lines:
        ledger.take_over(BROWSER, None, "host", gone(ledger, BROWSER))
        ledger.take_over(BROWSER, ONE, "host", gone(ledger, BROWSER))
    assert lines == [
        "browser GenerationAdvanced@2 instance_restart",
        "browser GenerationAdvanced@3 instance_restart",
    ]


def test_a_thing_that_an_agent_reclaimed_is_an_owner_of_its_own(
    world: World,
) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    ledger.terminate(lease, "closed", "ok")
    own = ledger.claim(BROWSER, "somebody", "host")
    ledger.retire(held, "continue")
    ledger.check(own)
    ledger.retire(own, "continue")
    ledger.claim(JOB, "somebody", "host")


def test_a_thing_has_no_checkpoint_and_no_agent(world: World) -> None:
    held = begin(world)
    lease = world.ledger.spawn(held, BROWSER, author="host")
    with world.refuses(InvalidInput):
        world.ledger.advance(lease, "migration", "somebody")
    with world.refuses(InvalidInput):
        world.ledger.spawn(held, SESSION, author="host")


@pytest.mark.parametrize("end", ["retire", "take_over"])
def test_parentage_follows_the_session_not_the_term(world: World, end: str) -> None:
    ledger = world.ledger
    held = begin(world)
    kid = ledger.spawn(held, KID, "kid/1", author="host")
    ledger.spawn(kid, GRANDKID, "kid/2", author="kid")
    HOLDS[end](ledger, held)
    if end == "retire":
        held = ledger.succeed(SESSION, TWO, "host", first=First("m1", "human"))
    ledger.settle(ledger_admit(ledger, kid), "report", "completed")
    assert ledger.owner(KID).parent == SESSION
    assert ledger.owner(GRANDKID).parent == KID
    assert ledger.owner(SESSION).children == (KID,)


def ledger_admit(ledger: Ledger, kid: Authority) -> Authority:
    """Give the child something to report."""
    ledger.admit(kid, "report", "runtime_recovery")
    return kid
