"""What the host may choose: people, missing ids, history, verdicts on record."""

from __future__ import annotations

from typing import Any

import pytest

from gates import (
    Gate,
    S,
    count,
    first_term,
    relayed,
    said,
    texts,
    user,
    verdicts,
)
from tenure import InvalidInput, NarrativeTransform
from tenure_ledger import events as e
from worlds import World


def test_a_person_is_admitted_to_the_live_term_by_default(world: World) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    messages = [user("m1"), user("m2"), user("hey", human=True)]
    with world.writes() as lines:
        view = gate.apply(messages, two, acting="hey")
    assert lines == [
        "ses_1 SubmissionAccepted@2 hey",
        "ses_1 ExecutionAdmitted@2 hey",
        "ses_1 ExecutionStarted@2 hey",
    ]
    assert verdicts(view)["hey"] == "successor"
    assert texts(view)[-1] == "text of hey"
    assert gate.host.asked == []


@pytest.mark.parametrize("policy", ["admit", "hold"])
def test_without_an_authority_a_person_is_accepted_only(
    world: World, policy: str
) -> None:
    relayed(world.ledger)
    gate = Gate(world, unadmitted_human=policy)
    messages = [user("m1"), user("m2"), user("hey", human=True)]
    with world.writes() as lines:
        view = gate.apply(messages, None, acting="m2")
    assert lines == ["ses_1 SubmissionAccepted@2 hey"]
    assert verdicts(view)["hey"] == "unadmitted_human"
    with world.writes() as lines:
        gate.apply(messages, None, acting="m2")
    assert lines == []


def test_held_a_person_waits_until_the_host_admits(world: World) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, unadmitted_human="hold")
    messages = [user("m1"), user("m2"), user("hey", human=True)]
    for _ in range(2):
        nothing = gate.nothing(messages, two, acting="hey")
        assert verdicts(nothing.view)["hey"] == "unadmitted_human"
    assert count(world.ledger, e.SubmissionAccepted) == 2  # m1's and hey's
    assert "hey" in world.ledger.owner(S).waiting
    world.ledger.admit(two, "hey", "human")
    assert texts(gate.apply(messages, two, acting="hey"))[-1] == "text of hey"


def test_refused_a_person_is_reported_and_nothing_is_written(world: World) -> None:
    _, two = relayed(world.ledger)
    world.ledger.start(two, "m2")
    gate = Gate(world, unadmitted_human="refuse")
    messages = [user("m1"), user("m2"), user("hey", human=True)]
    with world.writes() as lines:
        view = gate.apply(messages, two)
        nothing = gate.nothing(messages, two, acting="hey")
    assert lines == []
    assert verdicts(view)["hey"] == "unadmitted_human"
    assert nothing.verdict is not None
    assert nothing.verdict.name == "unadmitted_human"
    assert gate.host.asked == []


def test_a_person_whom_the_next_term_overtook_is_admitted_by_the_gate(
    world: World,
) -> None:
    # Accepted while the term runs, so that no grant carried it over.
    _, two = relayed(world.ledger)
    world.ledger.accept(S, "hey", "inbox", "Ana", human=True)
    world.ledger.accept(S, "bot", "inbox")
    gate = Gate(world)
    messages = [user("m1"), user("hey"), user("bot"), user("m2")]
    with world.writes() as lines:
        view = gate.apply(messages, two, acting="m2")
    assert lines[:2] == [
        "ses_1 ExecutionAdmitted@2 hey",
        "ses_1 ExecutionAdmitted@2 bot",
    ]
    origins = [
        one.event.origin
        for one in world.ledger.history(S)
        if isinstance(one.event, e.ExecutionAdmitted) and one.event.key != "m2"
    ]
    assert origins == ["human", "human", "continue_relay"]
    assert verdicts(view) == {
        "m1": "history",
        "hey": "queued",
        "bot": "queued",
        "m2": "successor",
    }


def test_before_any_cut_a_person_is_admitted_too(world: World) -> None:
    one = first_term(world.ledger)
    gate = Gate(world)
    view = gate.apply([user("m1"), user("hey", human=True)], one)
    assert verdicts(view) == {"m1": "current", "hey": "current"}
    assert view.acting == "hey"


def test_a_stripped_message_stays_out_though_a_person_is_vouched_for_later(
    world: World,
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    gate.apply([user("m1"), user("hey"), user("m2")], two)
    with world.writes() as lines:
        view = gate.apply([user("m1"), user("hey", human=True), user("m2")], two)
    assert lines == []
    assert verdicts(view)["hey"] == "stale_unadmitted"
    assert gate.host.keys == ["hey"]


def test_a_request_without_an_id_is_refused_and_never_guessed_at(
    world: World,
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    messages = [user("m1"), user(None, "text of m2", human=True), user("m2")]
    with world.refuses(InvalidInput) as refused:
        gate.apply(messages, two)
    assert refused.value.evidence["index"] == 1


def test_stripped_a_request_without_an_id_stays_out_and_leaves_no_trace(
    world: World,
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, missing_id="strip")
    messages = [user("m1"), user(None, "who?"), said("an answer"), user("m2")]
    with world.writes() as lines:
        view = gate.apply(messages, two)
    assert lines == ["ses_1 ExecutionStarted@2 m2"]
    assert verdicts(view)[None] == "missing_physical_id"
    assert texts(view)[-1] == "text of m2"
    assert "who?" not in texts(view)
    assert "an answer" not in texts(view)
    assert gate.host.asked == []
    gate.nothing([user("m1"), user("m2"), user(None, "who?")], two, acting="m1")


def test_a_request_without_an_id_that_is_the_past_needs_none(world: World) -> None:
    _, two = relayed(world.ledger, handover=None)
    view = Gate(world).apply([user(None, "old"), user("m1"), user("m2")], two)
    assert [one.name for one in view.verdicts] == ["history", "history", "successor"]
    assert texts(view)[0] == "old"


@pytest.mark.parametrize(
    "options",
    [
        {"history": "none"},
        {"unadmitted_human": "drop"},
        {"missing_id": "guess"},
        {"guard_timeout_seconds": -1},
        {"guard_timeout_seconds": None},
        {"guard_timeout_seconds": "10"},
        {"record_verdicts": "yes"},
    ],
)
def test_an_unknown_choice_is_refused_at_construction(
    world: World, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        NarrativeTransform(world.ledger, Gate(world).host, **options)
