"""S6, the gate's part: a contradicting history stops the gate of that session alone."""

from __future__ import annotations

from typing import cast

import pytest

from gates import Gate, S, relayed, texts, user, verdicts
from tenure import Event, Evidence, First, Ledger, OwnerRef, Quarantined, TooNew
from tenure_ledger import events as e
from worlds import World

OTHER = OwnerRef("session", "ses_2")
LIST = [user("m1"), user("ghost"), user("m2")]


def admitted(key: str, generation: int, digest: str | None = None) -> Event:
    return e.ExecutionAdmitted(
        author="import",
        generation=generation,
        key=key,
        origin="continue_relay",
        content_digest=digest,
    )


def taken(agent_id: str) -> Event:
    return e.GenerationAdvanced(
        author="import", generation=3, reason="takeover", agent_id=agent_id
    )


CONTRADICTIONS = {
    "two takeovers": (taken("a"), taken("b")),
    "two contents": (admitted("m9", 2, "d1"), admitted("m9", 2, "d2")),
    "a generation left out": (
        e.GenerationAdvanced(author="import", generation=7, reason="migration"),
    ),
}


def positions(refused: Quarantined) -> tuple[int, ...]:
    found = refused.evidence["positions"]
    assert isinstance(found, tuple)
    return tuple(int(at) for at in cast("tuple[int, ...]", found))


def neighbour(ledger: Ledger) -> None:
    """A session beside it that is well goes on."""
    held = ledger.claim(OTHER, "other/1", "host", first=First("m1", "human"))
    gate = Gate(ledger, owner=OTHER)
    assert texts(gate.apply([user("m1")], held)) == ["text of m1"]


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_s6_step_3_the_gate_fails_closed_for_the_contradicting_session_alone(
    world: World, name: str
) -> None:
    _, two = relayed(world.ledger)
    world.append(S, *CONTRADICTIONS[name])
    for ledger in (world.ledger, world.open("p2")):
        gate = Gate(ledger)
        for authority in (two, None):
            for side in (False, True):
                with world.refuses(Quarantined) as refused:
                    gate.apply(LIST, authority, side=side)
                assert len(positions(refused.value)) == 2
        assert gate.host.asked == []
    neighbour(world.ledger)
    world.ledger.accept(S, "m9 of a person", "inbox", human=True)


@pytest.mark.parametrize(
    "again",
    [
        admitted("m2", 2),
        e.SubmissionAccepted(author="import", generation=1, key="m1"),
        e.ExecutionStarted(author="import", generation=1, key="m1"),
        e.RetirementCut(author="import", generation=1, outcome="continue"),
    ],
    ids=["admission", "acceptance", "start", "cut"],
)
def test_s6_an_identical_duplicate_changes_no_verdict(
    world: World, again: Event
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    before = verdicts(gate.apply(LIST, two))
    if isinstance(again, e.RetirementCut):
        # A cut of the first generation, again, in the second one's time, is none.
        world.append(S, again)
        with world.refuses(Quarantined):
            gate.apply(LIST, two)
        return
    world.append(S, again)
    for ledger in (world.ledger, world.open("p2")):
        assert verdicts(Gate(ledger).apply(LIST, two)) == before


@pytest.mark.parametrize("keep", [0, 1])
def test_s6_once_a_person_said_which_stands_the_gate_goes_on(
    world: World, keep: int
) -> None:
    relayed(world.ledger)
    world.append(S, taken("a"), taken("b"))
    gate = Gate(world)
    with pytest.raises(Quarantined) as refused:
        gate.apply(LIST, None)
    world.ledger.resolve_quarantine(S, positions(refused.value)[keep], "ops")
    three = world.ledger.advance(
        world.ledger.take_over(S, "ab"[keep], "host", gone(world)), "lease_renewal"
    )
    nothing = gate.nothing(LIST, three)
    assert verdicts(nothing.view)["ghost"] == "stale_unadmitted"
    assert gate.host.keys == ["ghost"]


def gone(world: World) -> Evidence:
    return Evidence.gone(world.ledger.owner(S), "so it seems")


def test_s6_a_session_of_a_version_to_come_is_not_guessed_at(world: World) -> None:
    _, two = relayed(world.ledger)
    world.append_unknown(S, ignorable=True)
    gate = Gate(world)
    assert texts(gate.apply(LIST, two))[-1] == "text of m2"
    world.append_unknown(S, ignorable=False)
    with world.refuses(TooNew):
        gate.apply(LIST, two)
    with world.refuses(TooNew):
        gate.apply(LIST, None, record=False)
    neighbour(world.ledger)
