"""S4: a second coordinator takes the seat silently; refusing all would be as wrong."""

from __future__ import annotations

import pytest

from tenure import (
    Authority,
    Evidence,
    Ledger,
    OwnerIsLive,
    OwnerMoved,
    OwnerRef,
    TermRetired,
)
from tenure_ledger.events import Event, GenerationAdvanced, RetirementCut
from worlds import World

S = OwnerRef("session", "ses_1")


def at_seven(ledger: Ledger) -> Authority:
    """T1 is live on O@7."""
    one = ledger.claim(S, agent_id="t1", author="host")
    for _ in range(6):
        one = ledger.advance(one, "lease_renewal")
    assert (one.generation, ledger.owner(S).generation) == (7, 7)
    return one


def grants(ledger: Ledger) -> list[GenerationAdvanced]:
    history = [one.event for one in ledger.history(S)]
    return [event for event in history if isinstance(event, GenerationAdvanced)]


def test_s4_step_2_a_holder_that_is_gone_is_replaced_by_one_recorded_takeover(
    ledger: Ledger,
) -> None:
    one = at_seven(ledger)
    evidence = Evidence.gone(ledger.owner(S), "pid 41 is not there")
    eight = ledger.take_over(S, agent_id="c", author="watchdog", evidence=evidence)
    assert (eight.generation, eight.agent_id) == (8, "c")
    takeovers = [event for event in grants(ledger) if event.reason == "takeover"]
    (takeover,) = takeovers
    assert (takeover.generation, takeover.author) == (8, "watchdog")
    assert (takeover.previous_agent_id, takeover.agent_id) == ("t1", "c")
    assert (takeover.evidence, takeover.override) == (evidence, False)
    (cut,) = [
        at.event for at in ledger.history(S) if isinstance(at.event, RetirementCut)
    ]
    assert (cut.outcome, cut.generation) == ("forced", 7)
    with pytest.raises(TermRetired):
        ledger.check(one)
    ledger.check(eight)


@pytest.mark.parametrize("kind", ["alive", "cannot_tell"])
def test_s4_step_2_a_holder_that_may_live_keeps_its_seat(
    ledger: Ledger, kind: str
) -> None:
    one = at_seven(ledger)
    head, seen = ledger.head(), ledger.owner(S)
    evidence = Evidence.alive(seen) if kind == "alive" else Evidence.cannot_tell(seen)
    with pytest.raises(OwnerIsLive, match=kind) as refused:
        ledger.take_over(S, agent_id="c", author="watchdog", evidence=evidence)
    assert (refused.value.code, refused.value.evidence["kind"]) == (
        "owner_is_live",
        kind,
    )
    assert ledger.head() == head
    ledger.check(one)


def test_s4_step_2_the_override_of_a_doubt_is_explicit_and_recorded(
    ledger: Ledger,
) -> None:
    at_seven(ledger)
    evidence = Evidence.cannot_tell(ledger.owner(S), "another host")
    ledger.take_over(S, agent_id="c", author="ops", evidence=evidence, override=True)
    last = grants(ledger)[-1]
    assert (last.reason, last.evidence, last.override) == ("takeover", evidence, True)


def test_s4_without_any_evidence_nobody_is_replaced(ledger: Ledger) -> None:
    at_seven(ledger)
    head = ledger.head()
    for override in (False, True):
        with pytest.raises(OwnerIsLive):
            ledger.take_over(S, agent_id="c", author="ops", override=override)
    assert ledger.head() == head


@pytest.mark.parametrize("override", [False, True])
def test_s4_step_3_what_the_incumbent_wrote_meanwhile_is_proof_of_life(
    ledger: Ledger, *, override: bool
) -> None:
    one = at_seven(ledger)
    evidence = Evidence.gone(ledger.owner(S), "looked dead")
    at = ledger.admit(one, "m1", origin="human")
    head = ledger.head()
    with pytest.raises(OwnerIsLive) as refused:
        ledger.take_over(
            S, agent_id="c", author="ops", evidence=evidence, override=override
        )
    assert refused.value.evidence["version"] == at
    assert ledger.head() == head
    ledger.start(one, "m1")


def test_s4_step_3_what_others_wrote_about_it_is_no_proof_of_life(
    ledger: Ledger,
) -> None:
    at_seven(ledger)
    evidence = Evidence.gone(ledger.owner(S))
    ledger.accept(S, "m1", author="inbox")
    assert ledger.take_over(S, "c", "ops", evidence).generation == 8


def test_s4_evidence_about_a_holding_that_ended_is_told_to_look_again(
    ledger: Ledger,
) -> None:
    at_seven(ledger)
    evidence = Evidence.gone(ledger.owner(S))
    ledger.take_over(S, "c", "ops", evidence)
    head = ledger.head()
    with pytest.raises(OwnerMoved) as refused:
        ledger.take_over(S, "d", "ops", evidence, override=True)
    assert refused.value.evidence["generation"] == 8
    assert ledger.head() == head


def test_s4_step_4_every_event_says_who_wrote_it_and_under_which_generation(
    world: World,
) -> None:
    ledger = world.ledger
    one = at_seven(ledger)
    ledger.admit(one, "m1", origin="human")
    world.pass_seconds(-3600)
    evidence = Evidence.gone(ledger.owner(S))
    eight = ledger.take_over(S, "c", "ops", evidence)
    ledger.admit(eight, "m2", origin="human")
    told = [
        (at.event.author, at.event.generation)
        for at in ledger.events()
        if isinstance(at.event, Event) and at.event.topic == "execution-admitted.v1"
    ]
    # m1 was accepted, so the takeover carried it over in T2's name.
    assert told == [("t1", 7), ("c", 8), ("c", 8)]
    every = [at.event for at in ledger.events()]
    assert all(isinstance(event, Event) and event.author for event in every)
