"""Which request a model call serves, and when it may not be answered."""

from __future__ import annotations

from collections.abc import Callable

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
from tenure import Authority, Ledger
from tenure_ledger import events as e
from tenure_ledger.values import ReplayReason
from worlds import World


def test_without_a_name_it_is_the_request_started_last_else_the_last_one(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    for key in ("m2", "m3", "m4"):
        ledger.admit(one, key, "human")
    gate = Gate(world)
    messages = [user(key) for key in ("m1", "m2", "m3", "m4")]
    assert gate.apply(messages[:3], one).acting == "m3"
    view = gate.apply(messages, one)
    assert view.acting == "m3"
    assert verdicts(view)["m4"] == "queued"
    assert gate.apply(messages, one, acting="m2").acting == "m2"
    assert gate.apply(messages, one).acting == "m2"
    ledger.settle(one, "m2", "completed")
    assert gate.apply(messages, one).acting == "m3"
    ledger.settle(one, "m3", "failed")
    assert gate.apply(messages, one).acting == "m4"


def test_a_host_works_through_its_queue_by_naming_what_it_serves(world: World) -> None:
    ledger = world.ledger
    _, two = relayed(ledger, waits={"w1": True, "w2": False})
    gate = Gate(world)
    messages = [user("m1"), user("w1"), user("w2"), user("m2")]
    seen: list[list[str]] = []
    for key in ("w1", "w2", "m2"):
        seen.append(texts(gate.apply(messages, two, acting=key))[1:])
        ledger.settle(two, key, "completed")
    assert seen == [
        ["text of w1"],
        ["text of w1", "text of w2"],
        ["text of w1", "text of w2", "text of m2"],
    ]


def test_what_nothing_has_started_is_started_once_before_the_view_leaves(
    world: World,
) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "manager/1", "host")
    ledger.admit(one, "m1", "human")
    gate = Gate(world)
    with world.writes() as lines:
        first = gate.apply([user("m1")], one)
        again = gate.apply([user("m1")], one)
    assert lines == ["ses_1 ExecutionStarted@1 m1"]
    assert texts(first) == texts(again) == ["text of m1"]


def test_without_writing_an_unstarted_request_gets_its_view_and_stays_unstarted(
    world: World,
) -> None:
    _, two = relayed(world.ledger, leaves=["probe"])
    gate = Gate(world)
    messages = [user("m1"), user("probe"), user("hey", human=True), user("m2")]
    with world.writes() as lines:
        view = gate.apply(messages, two, record=False)
    assert lines == []
    assert gate.host.asked == []
    assert verdicts(view) == {
        "m1": "history",
        "probe": "stale_admitted",
        "hey": "unadmitted_human",
        "m2": "successor",
    }
    assert view.stripped == ("probe",)
    assert texts(view)[1:] == ["text of m2"]


def cancelled(ledger: Ledger, held: Authority) -> None:
    ledger.bar_replay(held.owner, "user_cancelled", "Ana", ["m2"])


def cancelled_at_work(ledger: Ledger, held: Authority) -> None:
    ledger.start(held, "m2")
    cancelled(ledger, held)


def stopped_whole(ledger: Ledger, held: Authority) -> None:
    ledger.start(held, "m2")
    ledger.bar_replay(held.owner, "user_cancelled_whole_stream", "Ana")


def reset(ledger: Ledger, held: Authority) -> None:
    ledger.start(held, "m2")
    ledger.bar_replay(held.owner, "context_reset", "Ana")


def closed(ledger: Ledger, held: Authority) -> None:
    ledger.start(held, "m2")
    ledger.bar_replay(held.owner, "agent_closed", "host")


def completed(ledger: Ledger, held: Authority) -> None:
    ledger.start(held, "m2")
    ledger.settle(held, "m2", "completed")


def failed(ledger: Ledger, held: Authority) -> None:
    ledger.settle(held, "m2", "failed")


ENDS = [cancelled, cancelled_at_work, stopped_whole, reset, closed, completed, failed]


@pytest.mark.parametrize("end", ENDS)
def test_what_ended_or_was_cancelled_is_not_answered_and_the_rest_is_done(
    world: World, end: Callable[[Ledger, Authority], None]
) -> None:
    _, two = relayed(world.ledger, leaves=["probe"])
    end(world.ledger, two)
    gate = Gate(world)
    messages = [user("m1"), user("ghost"), user("probe"), user("m2")]
    for acting in ("m2", None):
        nothing = gate.nothing(messages, two, acting=acting)
        assert nothing.code == "nothing_to_say"
        assert nothing.verdict is not None
        assert (nothing.verdict.key, nothing.verdict.name) == ("m2", "successor")
        assert nothing.view is not None
        assert nothing.view.stripped == ("ghost", "probe")
        assert "text of ghost" not in texts(nothing.view)
    assert gate.host.keys == ["ghost", "probe"]
    assert count(world.ledger, e.StaleRequestStripped) == 2
    assert count(world.ledger, e.InterruptSettled) == 2


@pytest.mark.parametrize(
    "reason", ["model_switch", "runtime_work_reap", "visible_output_started"]
)
def test_a_bar_that_only_forbids_a_replay_stops_no_living_call(
    world: World, reason: ReplayReason
) -> None:
    _, two = relayed(world.ledger)
    world.ledger.start(two, "m2")
    world.ledger.bar_replay(S, reason, "host", ["m2"])
    assert texts(Gate(world).apply([user("m2")], two))[-1] == "text of m2"


@pytest.mark.parametrize(
    ("acting", "verdict"),
    [
        ("m1", "history"),
        ("ghost", "stale_unadmitted"),
        ("probe", "stale_admitted"),
        ("not here", None),
    ],
)
def test_a_request_that_is_none_of_this_term_is_not_answered_and_the_rest_is_done(
    world: World, acting: str, verdict: str | None
) -> None:
    _, two = relayed(world.ledger, leaves=["probe"])
    gate = Gate(world)
    messages = [
        user("m1"),
        said("an answer"),
        user("ghost"),
        user("probe"),
        user("hey", human=True),
        user("m2"),
    ]
    nothing = gate.nothing(messages, two, acting=acting)
    found = nothing.verdict
    assert (found.name if found else None) == verdict
    assert verdicts(nothing.view) == {
        "m1": "history",
        "ghost": "stale_unadmitted",
        "probe": "stale_admitted",
        "hey": "queued",
        "m2": "queued",
    }
    assert gate.host.keys == ["ghost", "probe"]
    hey = next(iter(world.ledger.owner(S).waiting), None)
    assert hey == "hey"
    assert count(world.ledger, e.ExecutionStarted) == 1


def test_an_absorbed_message_is_served_by_the_execution_that_took_it(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    for key in ("a", "b"):
        ledger.accept(S, key, "inbox", human=True)
    ledger.admit(one, "q", "human", absorbed=["a", "b"])
    ledger.admit(one, "later", "human")
    gate = Gate(world)
    messages = [user("m1"), user("a"), user("b"), user("q"), user("later")]
    for acting in ("a", "b", "q"):
        with world.writes() as lines:
            view = gate.apply(messages, one, acting=acting)
        assert verdicts(view) == {
            "m1": "current",
            "a": "current",
            "b": "current",
            "q": "current",
            "later": "queued",
        }
        assert lines == (["ses_1 ExecutionStarted@1 q"] if acting == "a" else [])
    # It started last, and `q` is the last of what it took: no name is needed.
    assert gate.apply(messages, one).acting == "q"
    ledger.settle(one, "q", "completed")
    assert gate.nothing(messages, one, acting="a").verdict is not None
