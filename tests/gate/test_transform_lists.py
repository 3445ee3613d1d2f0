"""Lists that were put in another order, compacted, or begun anew, before the gate."""

from __future__ import annotations

from itertools import combinations, permutations

from gates import (
    Gate,
    Message,
    S,
    asks,
    count,
    first_term,
    next_term,
    result,
    said,
    texts,
    user,
    verdicts,
)
from tenure import Authority
from tenure_ledger import events as e
from worlds import World

KNOWN = {
    "m1": "history",
    "old": "stale_unadmitted",
    "m2": "history",
    "probe": "stale_admitted",
    "w": "queued",
    "m3": "successor",
}
"""What each message is, in the order in which they were sent."""


def lived(world: World) -> Authority:
    """Three terms: of each what was done, what was left over, and what waits."""
    ledger = world.ledger
    one = first_term(ledger)
    ledger.retire(one, "accepted")
    two = next_term(ledger, "m2")
    Gate(world).apply([user("m1"), user("old"), user("m2")], two)
    ledger.admit(two, "probe", "tool_probe")
    ledger.accept(S, "w", "inbox", human=True)
    ledger.retire(two, "accepted", finishes=["m2"])
    three = next_term(ledger, "m3", 3)
    messages = [user(key) for key in KNOWN]
    view = Gate(world).apply(messages, three, acting="m3")
    assert verdicts(view) == KNOWN
    return three


def test_what_the_ledger_knows_is_the_same_in_any_order(world: World) -> None:
    three = lived(world)
    gate = Gate(world)
    with world.writes() as lines:
        for keys in permutations(KNOWN):
            messages = [user(key) for key in keys]
            view = gate.apply(messages, three, acting="m3")
            assert verdicts(view) == KNOWN
            shown = [*(key for key in keys if key in {"m1", "m2"}), "m3"]
            assert texts(view) == [f"text of {key}" for key in shown]
    assert lines == []
    assert gate.host.asked == []


def test_what_the_ledger_knows_is_the_same_in_any_part_of_the_list(
    world: World,
) -> None:
    three = lived(world)
    gate = Gate(world)
    others = [key for key in KNOWN if key != "m3"]
    with world.writes() as lines:
        for size in range(len(others) + 1):
            for kept in combinations(others, size):
                keys = [*kept, "m3"]
                messages = [user(key) for key in keys]
                view = gate.apply(messages, three, acting="m3")
                assert verdicts(view) == {key: KNOWN[key] for key in keys}
    assert lines == []


def test_a_compacted_list_begins_with_a_summary_that_is_no_request(
    world: World,
) -> None:
    """As a system message, or as an answer: neither is judged, both are shown."""
    three = lived(world)
    summary: Message = {"role": "system", "content": "So far: A."}
    for first in (summary, said("So far: A.")):
        messages = [first, user("w"), user("m3")]
        view = Gate(world).apply(messages, three, acting="m3")
        assert texts(view) == ["So far: A.", "text of m3"]


def test_a_turn_that_leftovers_stand_in_stays_whole(world: World) -> None:
    three = lived(world)
    gate = Gate(world)
    asked, answered, done = asks("c1"), result("c1"), said("done")
    past, old, probe, now = (user(key) for key in ("m1", "old", "probe", "m3"))
    gate.apply([past, now], three)
    # m3 is at work, so what stands behind a leftover is an answer to m3 all the same.
    messages = [past, old, now, asked, probe, answered, done]
    assert gate.apply(messages, three).messages == [past, now, asked, answered, done]
    messages = [past, now, asked, old, probe, answered, done]
    assert gate.apply(messages, three).messages == [past, now, asked, answered, done]


def test_what_waited_is_the_last_word_when_it_is_taken_up(world: World) -> None:
    """Wherever the host's list has it: it need not move the message."""
    three = lived(world)
    gate = Gate(world)
    past, waits, now = (user(key) for key in ("m2", "w", "m3"))
    done = {**said("done"), "parent_id": "m3"}
    messages = [past, waits, now]
    assert gate.apply(messages, three, acting="m3").messages == [past, now]
    messages.append(done)
    world.ledger.settle(three, "m3", "completed")
    for more in ([], [{**asks("c1"), "parent_id": "w"}, result("c1")]):
        messages += more
        view = gate.apply(messages, three, acting="w")
        assert view.messages == [past, now, done, waits, *more]
        assert view.sources == tuple(map(messages.index, view.messages))


def test_a_list_begun_anew_with_the_term_strips_nothing(world: World) -> None:
    three = lived(world)
    before = count(world.ledger, e.StaleRequestStripped)
    view = Gate(world).apply([user("m3"), said("x"), user("w")], three, acting="w")
    assert verdicts(view) == {"m3": "successor", "w": "successor"}
    assert count(world.ledger, e.StaleRequestStripped) == before == 2
