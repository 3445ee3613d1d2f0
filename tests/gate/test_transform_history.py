"""What stands for the past: history, the hand-over, the floor; verdicts on record."""

from __future__ import annotations

from typing import Literal

import pytest

from gates import (
    HANDOVER,
    Gate,
    Message,
    S,
    count,
    first_term,
    next_term,
    relayed,
    said,
    texts,
    user,
)
from tenure_ledger import events as e
from worlds import World

HandOver = Literal["auto", "keep", "handover"]
Outcome = Literal["accepted", "continue"]
NOTE = f"Handed over by the agent that worked on this before:\n\n{HANDOVER}"


HISTORY: list[tuple[HandOver, Outcome, str | None, bool]] = [
    ("auto", "continue", HANDOVER, True),
    ("auto", "accepted", HANDOVER, False),
    ("auto", "continue", None, False),
    ("keep", "continue", HANDOVER, False),
    ("handover", "accepted", HANDOVER, True),
    ("handover", "continue", None, False),
]


@pytest.mark.parametrize(("history", "outcome", "handover", "replaced"), HISTORY)
def test_history_is_kept_or_replaced_by_the_hand_over(
    world: World,
    history: HandOver,
    outcome: Outcome,
    handover: str | None,
    replaced: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    _, two = relayed(world.ledger, outcome=outcome, handover=handover)
    gate = Gate(world, history=history)
    messages: list[Message] = [
        {"role": "system", "content": "be good"},
        user("m1"),
        said("an answer"),
        user("ghost"),
        user("m2"),
    ]
    view = gate.apply(messages, two)
    past = [NOTE] if replaced else ["text of m1", "an answer"]
    assert texts(view) == ["be good", *past, "text of m2"]
    assert texts(gate.apply(messages, two)) == texts(view)


def test_the_latest_cut_says_what_stands_for_all_terms_before(world: World) -> None:
    _, two = relayed(world.ledger)
    world.ledger.start(two, "m2")
    world.ledger.retire(two, "continue", "Done: A and B.", finishes=["m2"])
    three = next_term(world.ledger, "m3", 3)
    view = Gate(world).apply([user("m1"), user("m2"), user("m3")], three)
    assert [text.rsplit("\n", 1)[-1] for text in texts(view)] == [
        "Done: A and B.",
        "text of m3",
    ]


def test_a_cancelled_message_that_became_history_no_longer_says_what_it_wanted(
    world: World,
) -> None:
    one = first_term(world.ledger)
    world.ledger.admit(one, "stop", "human")
    world.ledger.bar_replay(S, "user_cancelled", "Ana", ["stop"])
    world.ledger.retire(one, "accepted")
    two = next_term(world.ledger, "m2")
    messages = [user("m1"), user("stop", "delete it all"), user("m2")]
    view = Gate(world).apply(messages, two)
    assert texts(view) == ["text of m1", "(cancelled by the user)", "text of m2"]


def test_the_floor_takes_the_past_and_never_an_open_request_of_this_term(
    world: World,
) -> None:
    ledger = world.ledger
    _, two = relayed(ledger, waits={"w1": True}, handover=None)
    ledger.start(two, "w1")
    ledger.settle(two, "w1", "completed")
    ledger.admit(two, "m3", "human")
    ledger.start(two, "m2")
    messages = [user("m1"), user("w1"), user("m2"), said("so far"), user("m3")]
    gate = Gate(world)
    assert texts(gate.apply(messages, two)) == [
        "text of m1",
        "text of w1",
        "text of m2",
        "so far",
    ]
    ledger.history_rewritten(two, 1, prompt_floor="m3", checkpoint_seq="w1")
    assert texts(gate.apply(messages, two)) == ["text of m2", "so far"]
    assert texts(gate.apply(messages, two, acting="m3")) == [
        "text of m2",
        "so far",
        "text of m3",
    ]
    ledger.settle(two, "m2", "completed")
    assert texts(gate.apply(messages, two)) == ["text of m3"]


def test_verdicts_are_put_on_record_once_where_that_was_asked_for(
    world: World,
) -> None:
    _, two = relayed(world.ledger, leaves=["probe"])
    gate = Gate(world, record_verdicts=True)
    messages = [user("m1"), user("probe"), user("m2")]
    for _ in range(2):
        gate.apply(messages, two)
        given = {
            one.event.key: one.event.verdict
            for one in world.ledger.history(S)
            if isinstance(one.event, e.VerdictGiven)
        }
        assert given == {"m1": "history", "probe": "stale_admitted", "m2": "successor"}
        assert count(world.ledger, e.VerdictGiven) == 3
    gate.apply(messages, two, record=False)
    gate.apply([*messages, user("a title")], two, side=True)
    assert count(world.ledger, e.VerdictGiven) == 3
    assert count(world.ledger, e.StaleRequestStripped) == 1


@pytest.mark.prove
def test_very_many_verdicts_are_put_on_record_too(world: World) -> None:
    one = first_term(world.ledger)
    world.ledger.admit(one, "m2", "human")
    past = [user(f"old {number}") for number in range(10_000)]
    gate = Gate(world, record_verdicts=True)
    gate.apply([*past, user("m1"), user("m2")], one)
    assert count(world.ledger, e.VerdictGiven) == 10_002
