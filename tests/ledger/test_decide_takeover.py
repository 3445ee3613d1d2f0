"""Acting on another's holding carries what was seen (design section 5, rule 5)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import JOB, ONE, SESSION, TWO
from tenure import (
    Authority,
    Evidence,
    First,
    InvalidInput,
    Ledger,
    OwnerIsLive,
    OwnerMoved,
    TermRetired,
    UnknownOwner,
)
from tenure_ledger import events as e
from worlds import World


def advanced(world: World) -> e.GenerationAdvanced:
    """Return the latest event that raised the session's generation."""
    history = [one.event for one in world.ledger.history(SESSION)]
    return [one for one in history if isinstance(one, e.GenerationAdvanced)][-1]


def test_the_takeover_names_both_parties_and_the_evidence(world: World) -> None:
    world.ledger.claim(SESSION, ONE, "host")
    evidence = Evidence.gone(world.ledger.owner(SESSION), "pid 7 is not there")
    rescuer = world.open("p2")
    held = rescuer.take_over(SESSION, TWO, "rescuer", evidence)
    event = advanced(world)
    assert (event.author, event.reason, event.generation) == ("rescuer", "takeover", 2)
    assert (event.previous_agent_id, event.agent_id) == (ONE, TWO)
    assert (event.process, event.evidence) == ("p2", evidence)
    assert event.override is False
    assert held == Authority(SESSION, 2, event.event_id, TWO)


@pytest.mark.parametrize("say", [Evidence.alive, Evidence.cannot_tell])
@pytest.mark.parametrize("agent", [ONE, TWO])
def test_alive_and_cannot_tell_are_refused_unless_overridden(
    world: World, agent: str, say: Callable[[object], Evidence]
) -> None:
    world.ledger.claim(SESSION, ONE, "host")
    evidence = say(world.ledger.owner(SESSION))
    with world.refuses(OwnerIsLive) as refusal:
        world.ledger.take_over(SESSION, agent, "rescuer", evidence)
    assert refusal.value.evidence["kind"] == evidence.kind
    world.ledger.take_over(SESSION, agent, "rescuer", evidence, override=True)
    assert advanced(world).override is True
    assert advanced(world).evidence == evidence


LIFE: dict[str, Callable[[Ledger, Authority], object]] = {
    "a write": lambda on, by: on.admit(by, "m1", "tool_probe"),
    "a renewal": lambda on, by: on.advance(by, "lease_renewal"),
    "a spawn": lambda on, by: on.spawn(by, JOB, author="host"),
}


@pytest.mark.parametrize("sign", LIFE)
@pytest.mark.parametrize("override", [False, True])
def test_what_the_holder_did_after_the_look_proves_that_it_lives(
    world: World, sign: str, *, override: bool
) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    LIFE[sign](world.ledger, held)
    at = world.ledger.owner(SESSION).version
    with world.refuses(OwnerIsLive) as refusal:
        world.ledger.take_over(SESSION, TWO, "rescuer", evidence, override=override)
    assert refusal.value.evidence["version"] == at


def test_what_others_did_after_the_look_proves_nothing(world: World) -> None:
    world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    world.ledger.accept(SESSION, "m2", "gateway", human=True)
    world.ledger.bar_replay(SESSION, "model_switch", "a person")
    assert world.ledger.take_over(SESSION, TWO, "rescuer", evidence).generation == 2


def test_evidence_about_a_holding_that_ended_is_about_nobody(world: World) -> None:
    world.ledger.claim(SESSION, ONE, "host")
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    now = world.ledger.take_over(SESSION, TWO, "rescuer", evidence)
    for override in (False, True):
        with world.refuses(OwnerMoved) as refusal:
            world.ledger.take_over(SESSION, ONE, "late", evidence, override=override)
        assert refusal.value.evidence["incarnation"] == now.incarnation
        assert refusal.value.evidence["generation"] == 2


def test_nobody_has_seen_what_is_not_written_yet(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    world.ledger.admit(held, "m1", "human")
    head = world.ledger.owner(SESSION).version
    evidence = Evidence("gone", held.incarnation, head + 1)
    for override in (False, True):
        with world.refuses(InvalidInput) as refusal:
            world.ledger.take_over(SESSION, TWO, "host", evidence, override=override)
        assert refusal.value.evidence == {"version": head}


def test_the_retired_holder_is_told_that_its_term_was_cut(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    world.ledger.take_over(SESSION, TWO, "rescuer", evidence)
    with world.refuses(TermRetired) as refusal:
        world.ledger.admit(held, "m1", "human")
    assert (refusal.value.holder, refusal.value.generation) == (TWO, 2)
    seen = world.ledger.owner(SESSION)
    assert seen.cut is not None
    assert refusal.value.evidence["cut"] == seen.cut.version
    assert (seen.cut.outcome, seen.cut.generation) == ("forced", 1)


def test_nobody_can_be_judged_where_nobody_holds(world: World) -> None:
    nobody = Evidence.gone(world.ledger.owner(SESSION))
    with world.refuses(UnknownOwner):
        world.ledger.take_over(SESSION, TWO, "rescuer", nobody)
    one = world.ledger.claim(SESSION, ONE, "host")
    with world.refuses(OwnerMoved):
        world.ledger.take_over(SESSION, TWO, "rescuer", nobody)
    world.ledger.retire(one, "continue")
    seen = Evidence.gone(world.ledger.owner(SESSION))
    with world.refuses(TermRetired):
        world.ledger.take_over(SESSION, TWO, "rescuer", seen)


def test_a_takeover_needs_an_agent_and_keeps_its_rules_for_first(
    world: World,
) -> None:
    world.ledger.claim(SESSION, ONE, "host")
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    with world.refuses(InvalidInput):
        world.ledger.take_over(SESSION, None, "rescuer", evidence)
    first = First("m1", "runtime_recovery")
    with world.writes() as lines:
        world.ledger.take_over(SESSION, TWO, "rescuer", evidence, first=first)
    assert lines == [
        "ses_1 RetirementCut@1 forced",
        "manager/1 AgentReleased@1",
        "ses_1 GenerationAdvanced@2 takeover",
        "manager/2 AgentBound@2",
        "ses_1 ExecutionAdmitted@2 m1",
    ]
