"""S15: the handoff succeeded, but its own abort was written down as an error.

Right: the first term's work is "retired", its calls are closed, the continuation is
delivered once, and only a user's interrupt reads as a user's wish.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import pytest

from gates import (
    Gate,
    S,
    asks,
    count,
    next_term,
    result,
    texts,
    user,
    verdicts,
)
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    First,
    Ledger,
    TermRetired,
)
from tenure_ledger import events as e
from tenure_ledger.decisions.executions import HostOutcome
from worlds import World

LIST = [user("m1"), asks("c1"), result("c1", "aborted: successor accepted"), user("m2")]


class Handed(NamedTuple):
    """A term that handed over while its turn and a tool were running."""

    one: Authority
    two: Authority


def hand_over(
    ledger: Ledger, outcome: Literal["accepted", "continue"] = "accepted"
) -> Handed:
    one = ledger.claim(S, "manager/1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    ledger.begin_tool_call(one, "m1", "c1", "shell", {"run": "a"})
    ledger.retire(one, outcome, None)
    return Handed(one, next_term(ledger, "m2"))


def outcome_of(ledger: Ledger, key: str) -> str | None:
    known = ledger.execution(ChatExecutionKey("ses_1", key))
    assert known is not None
    return known.outcome


@pytest.mark.parametrize("reported", ["cancelled", "failed", "completed"])
def test_s15_the_wrappers_report_of_the_abort_does_not_become_the_outcome(
    world: World, reported: HostOutcome
) -> None:
    ledger = world.ledger
    one, two = hand_over(ledger)
    with pytest.raises(TermRetired):
        ledger.settle(one, "m1", reported)
    with pytest.raises(TermRetired):
        ledger.complete_tool_call(one, ("m1", "c1"), {"error": "aborted"})
    assert outcome_of(ledger, "m1") == "retired"
    view = Gate(world).apply(LIST, two)
    assert verdicts(view) == {"m1": "history", "m2": "successor"}
    # Nobody cancelled it, so what the person wanted still stands there.
    assert "text of m1" in texts(view)
    assert "(cancelled by the user)" not in texts(view)


def test_s15_the_ended_work_is_barred_as_handed_over_and_never_as_cancelled(
    world: World,
) -> None:
    hand_over(world.ledger)
    bars = [
        one.event.reason
        for one in world.ledger.history(S)
        if isinstance(one.event, e.ReplayBarred)
    ]
    closed = [
        one.event.outcome
        for one in world.ledger.history(S)
        if isinstance(one.event, e.ToolCallClosed)
    ]
    assert bars == ["successor_accepted"]
    assert closed == ["outcome_unknown"]


@pytest.mark.parametrize("outcome", ["accepted", "continue"])
def test_s15_the_continuation_is_delivered_exactly_once(
    world: World, outcome: Literal["accepted", "continue"]
) -> None:
    ledger = world.ledger
    _, two = hand_over(ledger, outcome)
    gate = Gate(world)
    views = [gate.apply(LIST, two) for _ in range(3)]
    (notice,) = views[0].notices
    assert "- message m1: started and not finished" in notice
    assert "- call c1 of shell in message m1: it may or may not have happened" in notice
    assert [view.notices for view in views] == [(notice,)] * 3
    assert count(ledger, e.NoticeDelivered) == 1
    assert [text for text in texts(views[-1]) if text == "text of m2"] == ["text of m2"]
    ledger.settle(two, "m2", "completed")
    ledger.admit(two, "m3", "human")
    assert gate.apply([*LIST, user("m3")], two).notices == ()
    with pytest.raises(AlreadyDecided):
        ledger.admit(two, "m2", "continue_relay")


def test_s15_a_late_report_of_the_abort_is_told_as_what_it_is(world: World) -> None:
    ledger = world.ledger
    one, two = hand_over(ledger)
    gate = Gate(world)
    gate.apply(LIST, two)
    with pytest.raises(TermRetired):
        ledger.settle(one, "m1", "cancelled")
    (_, late) = gate.apply(LIST, two).notices
    assert late == "- message m1: it was cancelled"
    assert "user" not in late


def test_s15_a_user_who_did_cancel_is_heard(world: World) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "manager/1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    ledger.bar_replay(S, "user_cancelled", "Ana", ["m1"])
    ledger.retire(one, "accepted")
    two = next_term(ledger, "m2")
    assert outcome_of(ledger, "m1") == "cancelled"
    view = Gate(world).apply(LIST, two)
    assert texts(view)[0] == "(cancelled by the user)"
    assert view.notices == ()


def test_s15_the_model_that_retires_in_its_own_run_has_completed_it(
    world: World,
) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "manager/1", "host", first=First("m1", "human"))
    gate = Gate(world)
    gate.apply([user("m1")], one)
    ledger.begin_tool_call(one, "m1", "c1", "retire", {})
    ledger.complete_tool_call(one, ("m1", "c1"), "ok")
    ledger.retire(one, "continue", "Next: B.", finishes=["m1"])
    two = next_term(ledger, "m2")
    assert outcome_of(ledger, "m1") == "completed"
    view = gate.apply([user("m1"), asks("c1"), result("c1"), user("m2")], two)
    assert verdicts(view) == {"m1": "history", "m2": "successor"}
    assert view.notices == ()
    assert gate.host.asked == []
    # The tail of that run comes back for one more call, and gets none.
    with world.refuses(TermRetired):
        gate.apply([user("m1"), asks("c1"), result("c1")], one)
