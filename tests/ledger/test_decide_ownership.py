"""Claim, succeed, advance: who holds an owner (design sections 2, 3 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from scenes import JOB, KID, NEXT, ONE, SESSION, TWO
from tenure import (
    AgentIsBound,
    AlreadyDecided,
    AlreadyStripped,
    Authority,
    Evidence,
    FencedOut,
    First,
    InvalidInput,
    KeyReused,
    Ledger,
    OwnerIsLive,
    Refused,
    TermRetired,
)
from tenure_ledger import events as e
from worlds import World


def test_an_authority_names_the_event_that_gave_the_holding(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host", lease_seconds=90)
    grant = world.ledger.history(SESSION)[0].event
    assert isinstance(grant, e.OwnershipClaimed)
    assert held == Authority(SESSION, 1, grant.event_id, ONE)
    assert (grant.author, grant.process) == ("host", "p1")
    assert grant.lease_until == world.now + timedelta(seconds=90)


def test_a_second_claim_finds_the_owner_live_and_adds_nothing(world: World) -> None:
    world.ledger.claim(SESSION, ONE, "host")
    for agent in (ONE, TWO):
        with world.refuses(OwnerIsLive) as refusal:
            world.open("p2").claim(SESSION, agent, "host")
        assert refusal.value.evidence["process"] == "p1"


def test_generations_rise_by_one_and_a_refusal_burns_none(world: World) -> None:
    ledger = world.ledger
    held = [ledger.claim(SESSION, ONE, "host")]
    with world.refuses(OwnerIsLive):
        ledger.claim(SESSION, TWO, "host")
    held.append(ledger.advance(held[-1], "lease_renewal"))
    held.append(ledger.advance(held[-1], "migration"))
    held.append(ledger.take_over(SESSION, ONE, "host", gone(ledger)))
    held.append(ledger.take_over(SESSION, TWO, "host", gone(ledger)))
    ledger.retire(held[-1], "accepted")
    held.append(ledger.succeed(SESSION, ONE, "host"))
    ledger.terminate(held[-1], "done", "")
    held.append(ledger.claim(SESSION, TWO, "host"))
    assert [one.generation for one in held] == [1, 2, 3, 4, 5, 6, 7]
    assert len({one.incarnation for one in held}) == 6  # a renewal is no new holding


def gone(ledger: Ledger) -> Evidence:
    """Say that whoever holds the session now is gone."""
    return Evidence.gone(ledger.owner(SESSION))


def test_a_lower_generation_of_the_same_holding_is_good(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    renewed = world.ledger.advance(held, "lease_renewal", lease_seconds=60)
    assert (renewed.generation, renewed.incarnation) == (2, held.incarnation)
    world.ledger.check(held)
    world.ledger.admit(held, "m1", "human")
    with world.refuses(FencedOut):
        world.ledger.check(replace(held, generation=3))


@pytest.mark.parametrize("how", ["migration", "instance_restart"])
def test_a_new_holding_of_the_same_agent_fences_the_old_one_out(
    world: World, how: str
) -> None:
    ledger = world.ledger
    old = ledger.claim(SESSION, ONE, "host")
    if how == "migration":
        ledger.advance(old, "migration")
    else:
        ledger.take_over(SESSION, ONE, "host", gone(ledger))
    with world.refuses(FencedOut) as refusal:
        ledger.admit(old, "m1", "human")
    assert (refusal.value.holder, refusal.value.generation) == (ONE, 2)


def test_the_same_agent_in_the_same_process_is_not_the_same_holding(
    world: World,
) -> None:
    first = world.ledger.claim(SESSION, ONE, "host")
    world.open("p2").take_over(SESSION, TWO, "host", gone(world.ledger))
    back = world.ledger.take_over(SESSION, ONE, "host", gone(world.ledger))
    with world.refuses(TermRetired) as refusal:
        world.ledger.admit(first, "m1", "human")
    assert (refusal.value.holder, refusal.value.generation) == (ONE, 3)
    with world.refuses(FencedOut):
        world.ledger.check(replace(back, incarnation="made up"))
    with world.refuses(TermRetired):
        world.ledger.check(replace(first, generation=3))


Gives = Callable[[Ledger, Authority], object]

BINDING: dict[str, Gives] = {
    "claim": lambda on, _: on.claim(JOB, TWO, "host"),
    "succeed": lambda on, by: (
        on.retire(by, "accepted") and on.succeed(SESSION, TWO, "host")
    ),
    "take_over": lambda on, _: on.take_over(SESSION, TWO, "host", gone(on)),
    "migration": lambda on, by: on.advance(by, "migration", TWO),
    "spawn": lambda on, by: on.spawn(by, KID, TWO, author="host"),
}


@pytest.mark.parametrize("give", BINDING)
def test_one_agent_is_one_owner(world: World, give: str) -> None:
    elsewhere = world.ledger.claim(replace(SESSION, owner_id="ses_2"), TWO, "host")
    held = world.ledger.claim(SESSION, ONE, "host")
    if give == "succeed":
        world.ledger.retire(held, "accepted")
        with world.refuses(AgentIsBound) as refusal:
            world.ledger.succeed(SESSION, TWO, "host")
    else:
        with world.refuses(AgentIsBound) as refusal:
            BINDING[give](world.ledger, held)
    assert (refusal.value.owner, refusal.value.generation) == (elsewhere.owner, 1)
    world.ledger.retire(elsewhere, "accepted")
    assert BINDING[give](world.ledger, held) if give != "succeed" else True


ENDS: dict[str, Gives] = {
    "retire": lambda on, by: on.retire(by, "continue"),
    "terminate": lambda on, by: on.terminate(by, "done", "ok"),
    "take_over": lambda on, _: on.take_over(SESSION, TWO, "host", gone(on)),
    "migration": lambda on, by: on.advance(by, "migration", TWO),
    "deletion": lambda on, _: on.delete_conversation(SESSION, "a person"),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_term_frees_its_agent(world: World, end: str) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    ENDS[end](world.ledger, held)
    assert world.ledger.owner(SESSION).agent_id in {None, TWO}
    assert world.ledger.claim(JOB, ONE, "host").generation == 1


def test_the_same_agent_may_come_back_after_its_own_end(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    world.ledger.retire(held, "accepted")
    again = world.ledger.succeed(SESSION, ONE, "host")
    world.ledger.terminate(again, "done", "ok")
    with world.writes() as lines:
        world.ledger.claim(SESSION, ONE, "host")
    assert lines == [
        "ses_1 RetirementCut@2 forced",
        "ses_1 GenerationAdvanced@3 reclaim",
        "manager/1 AgentBound@3",
    ]


def test_a_renewal_keeps_process_and_agent_and_names_the_new_lease(
    world: World,
) -> None:
    held = world.ledger.claim(SESSION, ONE, "host", lease_seconds=60)
    world.pass_seconds(3600)
    world.ledger.advance(held, "lease_renewal", lease_seconds=60)
    seen = world.ledger.owner(SESSION)
    assert (seen.agent_id, seen.process, seen.granted) == (ONE, "p1", 1)
    assert seen.lease_until == world.now + timedelta(seconds=60)
    with world.refuses(InvalidInput):
        world.ledger.advance(held, "lease_renewal", TWO)


def test_an_expired_lease_moves_nothing(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host", lease_seconds=1)
    world.pass_seconds(86400)
    world.ledger.admit(held, "m1", "human")
    with world.refuses(OwnerIsLive):
        world.ledger.claim(SESSION, TWO, "host")


def test_a_migration_by_the_same_agent_keeps_the_term(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    worker = world.open("p2")
    with world.writes() as lines:
        moved = worker.advance(held, "migration", ONE)
    assert lines == ["ses_1 GenerationAdvanced@2 migration"]
    assert world.ledger.owner(SESSION).process == "p2"
    worker.settle(moved, "m1", "completed")


def test_first_is_admitted_in_the_transaction_that_opens_the_term(
    world: World,
) -> None:
    with world.writes() as lines:
        held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "tool_probe"))
    assert lines == [
        "ses_1 OwnershipClaimed@1",
        "manager/1 AgentBound@1",
        "ses_1 ExecutionAdmitted@1 m1",
    ]
    world.ledger.retire(held, "accepted")
    with world.writes() as lines:
        world.ledger.succeed(
            SESSION, TWO, "host", first=First("m2", "human_successor_root")
        )
    assert lines == [
        "ses_1 GenerationAdvanced@2 succession",
        "manager/2 AgentBound@2",
        "ses_1 SubmissionAccepted@2 m2",
        "ses_1 ExecutionAdmitted@2 m2",
    ]


FIRSTS: dict[str, tuple[First, type[Refused]]] = {
    "settled": (First("m1", "human"), AlreadyDecided),
    "started": (First("m2", "continue_relay"), AlreadyDecided),
    "of other content": (First("m3", "human", digest="b"), KeyReused),
    "stripped": (First("m4", "human"), AlreadyStripped),
}


@pytest.mark.parametrize("which", FIRSTS)
@pytest.mark.parametrize("grant", ["succeed", "take_over"])
def test_a_term_cannot_begin_with_a_request_that_is(
    world: World, grant: str, which: str
) -> None:
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    ledger.settle(held, "m1", "completed")
    ledger.admit(held, "m2", "human")
    ledger.start(held, "m2")
    ledger.accept(SESSION, "m3", "host", digest="a")
    world.append(
        SESSION,
        e.StaleRequestStripped(
            author="gate",
            generation=1,
            key="m4",
            verdict="stale_unadmitted",
            cut=1,
            interrupt_id="i1",
        ),
    )
    first, kind = FIRSTS[which]
    if grant == "succeed":
        ledger.retire(held, "accepted")
    evidence = gone(ledger) if grant == "take_over" else None
    with world.refuses(kind):
        if evidence is None:
            ledger.succeed(SESSION, NEXT, "host", first=first)
        else:
            ledger.take_over(SESSION, NEXT, "host", evidence, first=first)
