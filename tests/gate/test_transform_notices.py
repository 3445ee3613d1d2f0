"""Notices and late results: told once, in one place, to the request that is served."""

from __future__ import annotations

import pytest

from gates import (
    Gate,
    Message,
    S,
    asks,
    count,
    first_term,
    next_term,
    relayed,
    result,
    said,
    texts,
    user,
    verdicts,
)
from tenure import NOTICE, Authority, FencedOut, Ledger, TermRetired
from tenure_ledger import events as e
from tenure_ledger.decisions.executions import HostOutcome
from worlds import World

UNFINISHED = f"{NOTICE}\n- message m2: started and not finished"


def broken_off(ledger: Ledger) -> Authority:
    """The first term ended over what a person wants: the second is told."""
    one = first_term(ledger)
    ledger.admit(one, "m2", "human")
    ledger.start(one, "m2")
    ledger.retire(one, "accepted")
    return next_term(ledger, "m3")


LIST = [user("m1"), said("an answer"), user("m2"), user("m3")]


def test_a_notice_stands_right_before_the_acting_request_in_every_view_of_it(
    world: World,
) -> None:
    two = broken_off(world.ledger)
    gate = Gate(world)
    with world.writes() as lines:
        view = gate.apply(LIST, two)
    assert lines[-1].startswith("ses_1 NoticeDelivered@2 m3")
    assert view.notices == (UNFINISHED,)
    before = ["text of m1", "an answer", "text of m2", UNFINISHED, "text of m3"]
    assert texts(view) == before
    longer: list[Message] = [*LIST, asks("c1"), result("c1")]
    with world.writes() as lines:
        for _ in range(3):
            assert texts(gate.apply(longer, two)) == [*before, "", "done"]
    assert lines == []
    assert count(world.ledger, e.NoticeDelivered) == 1


def test_a_notice_is_done_with_the_request_that_is_completed(world: World) -> None:
    two = broken_off(world.ledger)
    gate = Gate(world)
    gate.apply(LIST, two)
    world.ledger.settle(two, "m3", "completed")
    assert world.ledger.pending_notices(S) == []
    world.ledger.admit(two, "m4", "human")
    view = gate.apply([*LIST, said("an answer"), user("m4")], two)
    assert view.notices == ()
    assert count(world.ledger, e.NoticeDelivered) == 1


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_a_notice_waits_again_when_its_request_ends_otherwise(
    world: World, outcome: HostOutcome
) -> None:
    two = broken_off(world.ledger)
    gate = Gate(world)
    gate.apply(LIST, two)
    world.ledger.settle(two, "m3", outcome)
    world.ledger.admit(two, "m4", "human")
    view = gate.apply([*LIST, user("m4")], two)
    assert view.notices == (UNFINISHED,)
    assert texts(view)[-2:] == [UNFINISHED, "text of m4"]


def test_a_notice_outlives_the_term_that_did_not_complete_it(world: World) -> None:
    two = broken_off(world.ledger)
    gate = Gate(world)
    gate.apply(LIST, two)
    world.ledger.retire(two, "accepted")
    three = next_term(world.ledger, "m4", 3)
    view = gate.apply([*LIST, user("m4")], three)
    assert view.notices == (UNFINISHED,)
    assert verdicts(view)["m3"] == "history"


def test_of_two_requests_at_work_one_is_told(world: World) -> None:
    two = broken_off(world.ledger)
    world.ledger.admit(two, "m4", "human")
    gate = Gate(world)
    messages = [*LIST, user("m4")]
    assert gate.apply(messages, two, acting="m3").notices == (UNFINISHED,)
    assert gate.apply(messages, two, acting="m4").notices == ()
    assert gate.apply(messages, two, acting="m3").notices == (UNFINISHED,)


def test_nothing_is_told_to_a_request_that_may_not_be_answered(world: World) -> None:
    two = broken_off(world.ledger)
    gate = Gate(world)
    nothing = gate.nothing(LIST, two, acting="m2")
    assert nothing.view is not None
    assert nothing.view.notices == ()
    assert len(world.ledger.pending_notices(S)) == 1
    assert count(world.ledger, e.NoticeDelivered) == 0
    assert gate.apply(LIST, two, record=False).notices == ()


def test_a_late_result_is_shown_to_the_current_term_once_and_moves_no_verdict(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "m2", "tool_probe")
    ledger.start(one, "m2")
    call = ledger.begin_tool_call(one, "m2", "c1", "shell", {"run": "a"})
    assert call.state == "fresh"
    ledger.retire(one, "accepted")
    two = next_term(ledger, "m3")
    gate = Gate(world)
    before = gate.apply(LIST, two)
    assert (
        "- call c1 of shell in message m2: it may or may not have happened"
        in (before.notices[0])
    )
    with pytest.raises(TermRetired) as late:
        ledger.complete_tool_call(one, ("m2", "c1"), "it worked")
    assert late.value.evidence["late"]
    for told in ("it worked", "it worked twice"):
        with pytest.raises(FencedOut):
            ledger.complete_tool_call(one, ("m2", "c1"), told)
    after = gate.apply(LIST, two)
    assert verdicts(after) == verdicts(before)
    assert after.notices == (
        *before.notices,
        "- call c1 of shell in message m2: its output is complete",
    )
    ledger.settle(two, "m3", "completed")
    ledger.admit(two, "m4", "human")
    assert gate.apply([*LIST, user("m4")], two).notices == ()


def unknown_call(ledger: Ledger) -> tuple[Authority, Authority]:
    """Two terms: a call of the first one's ended with it, and may have happened."""
    one = first_term(ledger)
    ledger.admit(one, "m2", "tool_probe")
    ledger.start(one, "m2")
    for name in ("c1", "c2"):
        ledger.begin_tool_call(one, "m2", name, "shell", {"run": name})
    ledger.retire(one, "accepted")
    return one, next_term(ledger, "m3")


UNKNOWN = "- call {} of shell in message m2: it may or may not have happened"
KNOWN = "- call c1 of shell in message m2: its output is complete"


def late(ledger: Ledger, one: Authority, name: str = "c1") -> None:
    with pytest.raises(TermRetired):
        ledger.complete_tool_call(one, ("m2", name), "it worked")


def test_what_is_known_before_the_telling_is_not_told_as_unknown(world: World) -> None:
    one, two = unknown_call(world.ledger)
    late(world.ledger, one)
    first, second = Gate(world).apply(LIST, two).notices
    assert first == f"{NOTICE}\n{UNKNOWN.format('c2')}"
    assert second == KNOWN


def test_what_was_told_as_unknown_stays_told_in_the_views_of_that_request(
    world: World,
) -> None:
    one, two = unknown_call(world.ledger)
    gate = Gate(world)
    (first,) = gate.apply(LIST, two).notices
    assert UNKNOWN.format("c1") in first
    late(world.ledger, one)
    assert gate.apply(LIST, two).notices == (first, KNOWN)
    # Who goes on after that request is told what is known by then.
    world.ledger.settle(two, "m3", "failed")
    world.ledger.admit(two, "m4", "human")
    told = gate.apply([*LIST, user("m4")], two).notices
    assert told == (f"{NOTICE}\n{UNKNOWN.format('c2')}", KNOWN)


def test_a_host_without_an_authority_is_told_too(world: World) -> None:
    two = broken_off(world.ledger)
    world.ledger.start(two, "m3")
    gate = Gate(world)
    assert gate.apply(LIST, None).notices == (UNFINISHED,)
    assert gate.apply(LIST, two).notices == (UNFINISHED,)
    assert count(world.ledger, e.NoticeDelivered) == 1


def test_a_title_beside_the_turn_is_told_nothing_and_writes_nothing(
    world: World,
) -> None:
    two = broken_off(world.ledger)
    world.ledger.start(two, "m3")
    gate = Gate(world)
    title = user(None, "Give this a title.")
    messages = [*LIST[:3], user("ghost"), LIST[3], title]
    with world.writes() as lines:
        view = gate.apply(messages, two, side=True)
    assert lines == []
    assert gate.host.asked == []
    assert view.notices == ()
    assert view.acting is None
    assert view.messages[-1] is title
    assert texts(view) == [
        "text of m1",
        "an answer",
        "text of m2",
        "text of m3",
        "Give this a title.",
    ]
    assert view.stripped == ("ghost",)
    # The turn beside it goes its own way.
    assert gate.apply(messages[:-1], two).acting == "m3"
    assert gate.host.keys == ["ghost"]


def test_a_side_call_asks_for_the_caller_alone(world: World) -> None:
    _, two = relayed(world.ledger)
    world.ledger.start(two, "m2")
    world.ledger.settle(two, "m2", "completed")
    gate = Gate(world)
    summary = [user("m1"), user("m2"), user(None, "Sum this up.")]
    view = gate.apply(summary, two, side=True)
    assert texts(view)[-1] == "Sum this up."
    # A person who is waiting is neither admitted nor shown by it.
    with world.writes() as lines:
        view = gate.apply([user("hey", human=True), *summary], two, side=True)
    assert lines == []
    assert verdicts(view)["hey"] == "history"
    world.ledger.retire(two, "accepted")
    with world.refuses(TermRetired):
        gate.apply(summary, two, side=True)
    gate.nothing(summary, None, side=True)


def test_a_notice_given_to_what_nobody_began_with_waits_for_the_next_term(
    world: World,
) -> None:
    """A host without an authority starts by itself, and this one never did."""
    two = broken_off(world.ledger)
    gate = Gate(world)
    assert gate.apply(LIST, None).notices == (UNFINISHED,)
    world.ledger.retire(two, "accepted")
    three = next_term(world.ledger, "m4", 3)
    # The list need not even hold any more what it was given to.
    view = gate.apply([*LIST[:-1], user("m4")], three)
    assert view.notices == (UNFINISHED,)
    view = gate.apply([*LIST, user("m4")], three)
    assert view.notices == (UNFINISHED,)
    assert verdicts(view)["m3"] == "stale_admitted"
