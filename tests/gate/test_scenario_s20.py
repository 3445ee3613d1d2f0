"""S20: ten queued messages merged into one, nine of them lost.

Right: all keys in order with their senders, admitted together or not at all; a
redelivery is a duplicate at every moment; a queue is not cleared by the end of a term.
"""

from __future__ import annotations

import pytest

from gates import Gate, S, count, first_term, next_term, texts, user, verdicts
from tenure import AlreadyDecided, Authority, ChatExecutionKey, KeyReused, Ledger
from tenure_ledger import events as e
from tenure_ledger.values import Origin
from worlds import World

MERGED = ("w1", "w2", "w3")
SENDERS = ("Ana", "Bo", "Cem")
QUEUE = [user("m1"), user("w1"), user("w2"), user("w3"), user("q")]


def merge(ledger: Ledger, *, human: bool = True) -> Authority:
    """Three messages of three senders, merged into one submission."""
    one = first_term(ledger)
    for key, sender in zip(MERGED, SENDERS, strict=True):
        ledger.accept(S, key, "inbox", sender, f"d {key}", human=True)
    origin: Origin = "human" if human else "continue_relay"
    ledger.admit(one, "q", origin, absorbed=MERGED)
    return one


def senders(ledger: Ledger) -> list[str | None]:
    found = [ledger.execution(ChatExecutionKey("ses_1", key)) for key in MERGED]
    return [one.sender for one in found if one is not None]


def test_s20_all_of_a_merged_queue_are_in_the_view_of_the_one_call(
    world: World,
) -> None:
    one = merge(world.ledger)
    view = Gate(world).apply(QUEUE, one)
    assert set(verdicts(view).values()) == {"current"}
    assert texts(view) == [f"text of {key}" for key in ("m1", *MERGED, "q")]
    assert senders(world.ledger) == list(SENDERS)
    assert count(world.ledger, e.ExecutionStarted) == 2


@pytest.mark.parametrize("moment", ["queued", "running", "done"])
def test_s20_a_redelivery_is_a_duplicate_at_every_moment(
    world: World, moment: str
) -> None:
    ledger = world.ledger
    one = merge(ledger)
    gate = Gate(world)
    first = ledger.accept(S, "w2", "inbox", "Bo", "d w2", human=True)
    if moment != "queued":
        gate.apply(QUEUE, one)
    if moment == "done":
        ledger.settle(one, "q", "completed")
    with world.writes() as lines:
        assert ledger.accept(S, "w2", "inbox", "Bo", "d w2", human=True) == first
    assert lines == []
    messages = [*QUEUE, user("w2", human=True)]
    if moment == "done":
        with pytest.raises(AlreadyDecided):
            ledger.admit(one, "w2", "human")
        nothing = gate.nothing(messages, one)
        assert nothing.view is not None
        view = nothing.view
    else:
        view = gate.apply(messages, one, acting="q")
    assert texts(view).count("text of w2") == 1
    assert gate.host.asked == []


def test_s20_a_redelivery_with_other_content_is_no_duplicate(world: World) -> None:
    one = merge(world.ledger)
    gate = Gate(world)
    with world.refuses(KeyReused) as refused:
        gate.apply([*QUEUE, user("w2", "another text")], one)
    assert refused.value.evidence["key"] == "w2"


def test_s20_step_5_a_queue_of_people_is_still_queued_for_the_next_term(
    world: World,
) -> None:
    ledger = world.ledger
    one = merge(ledger)
    ledger.retire(one, "continue", None)
    two = next_term(ledger, "m2")
    gate = Gate(world)
    messages = [*QUEUE, user("m2")]
    view = gate.apply(messages, two)
    assert verdicts(view) == {
        "m1": "history",
        "w1": "queued",
        "w2": "queued",
        "w3": "queued",
        "q": "queued",
        "m2": "successor",
    }
    assert texts(view) == ["text of m1", "text of m2"]
    ledger.settle(two, "m2", "completed")
    view = gate.apply(messages, two, acting="w3")
    assert texts(view) == [f"text of {key}" for key in ("m1", "m2", *MERGED, "q")]
    assert senders(ledger) == list(SENDERS)
    assert gate.host.asked == []


def test_s20_step_5_what_a_terms_own_continuation_took_in_is_carried_by_itself(
    world: World,
) -> None:
    """The continuation ends with its term; what people sent does not."""
    ledger = world.ledger
    one = merge(ledger, human=False)
    ledger.retire(one, "continue", None)
    two = next_term(ledger, "m2")
    gate = Gate(world)
    messages = [*QUEUE, user("m2")]
    view = gate.apply(messages, two)
    assert verdicts(view) == {
        "m1": "history",
        "w1": "queued",
        "w2": "queued",
        "w3": "queued",
        "q": "stale_admitted",
        "m2": "successor",
    }
    assert gate.host.keys == ["q"]
    for key in MERGED:
        assert texts(gate.apply(messages, two, acting=key))[-2:] == [
            "text of m2",
            f"text of {key}",
        ]
        ledger.settle(two, key, "completed")


def test_s20_a_queue_that_was_started_is_history_as_a_whole(world: World) -> None:
    ledger = world.ledger
    one = merge(ledger)
    gate = Gate(world)
    gate.apply(QUEUE, one)
    ledger.retire(one, "continue", None)
    two = next_term(ledger, "m2")
    view = gate.apply([*QUEUE, user("m2")], two)
    assert {verdicts(view)[key] for key in (*MERGED, "q")} == {"history"}
    (notice,) = view.notices
    for key in (*MERGED, "q"):
        assert f"- message {key}: started and not finished" in notice


def test_s20_a_queue_survives_two_cuts_that_nobody_worked_between(
    world: World,
) -> None:
    ledger = world.ledger
    ledger.retire(merge(ledger), "continue", None)
    ledger.retire(next_term(ledger, None), "continue", None)
    three = next_term(ledger, "m3", 3)
    gate = Gate(world)
    messages = [*QUEUE, user("m3")]
    view = gate.apply(messages, three, acting="q")
    assert {verdicts(view)[key] for key in (*MERGED, "q")} == {"successor"}
    assert verdicts(view)["m3"] == "queued"
    assert gate.host.asked == []
