"""Lists and callers at the edge: empty, never cut, without an authority, senseless."""

from __future__ import annotations

from typing import Any

import pytest

from gates import (
    Gate,
    S,
    count,
    first_term,
    next_term,
    relayed,
    said,
    texts,
    user,
    verdicts,
)
from tenure import InvalidInput, OwnerRef
from tenure_ledger import events as e
from worlds import World


@pytest.mark.parametrize("messages", [[], [said("an answer")]])
def test_a_list_without_a_request_has_nothing_to_answer(
    world: World, messages: list[dict[str, object]]
) -> None:
    one = first_term(world.ledger)
    nothing = Gate(world).nothing(messages, one)
    assert nothing.verdict is None
    assert nothing.view is not None
    assert nothing.view.messages == messages


def test_a_session_with_no_cut_and_nothing_admitted_strips_nothing(
    world: World,
) -> None:
    one = world.ledger.claim(S, "manager/1", "host")
    gate = Gate(world)
    with world.writes() as lines:
        nothing = gate.nothing([user("m1"), said("an answer"), user("m2")], one)
    assert lines == []
    assert verdicts(nothing.view) == {"m1": "not_admitted", "m2": "not_admitted"}
    assert "admit it first" in str(nothing)
    world.ledger.admit(one, "m2", "human")
    view = gate.apply([user("m1"), said("an answer"), user("m2")], one)
    assert verdicts(view) == {"m1": "current", "m2": "current"}
    assert gate.host.asked == []


def test_a_host_without_an_authority_starts_by_itself_and_is_asked_nothing_else(
    world: World,
) -> None:
    ledger = world.ledger
    one, two = relayed(ledger, leaves=["probe"])
    gate = Gate(world)
    messages = [user("m1"), user("probe"), user("m2")]
    view = gate.apply(messages, None)
    assert texts(view)[1:] == ["text of m2"]
    assert count(ledger, e.ExecutionStarted) == 1  # m1's, long ago
    ledger.start(two, "m2")
    ledger.settle(two, "m2", "completed")
    assert gate.nothing(messages, None).verdict is not None
    # What it does not protect from: the caller may be anybody, `one` among them.
    assert one.incarnation != two.incarnation


@pytest.mark.parametrize(
    "wrong",
    [
        {"acting": ""},
        {"acting": 7},
        {"side": "no"},
        {"record": None},
        {"authority": "manager/1"},
        {"messages": None},
        {"messages": "m1"},
        {"messages": [], "side": True},
        {"messages": None, "side": True},
        {"owner": 7},
        {"owner": ""},
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_type_before_anything_is_written(
    world: World, wrong: dict[str, Any]
) -> None:
    one = first_term(world.ledger)
    given: dict[str, Any] = {
        "owner": "ses_1",
        "messages": [user("m1")],
        "authority": one,
        **wrong,
    }
    apply = Gate(world).transform.apply
    with world.refuses(InvalidInput):
        apply(**given)


def test_the_next_term_begins_where_the_last_one_ended(world: World) -> None:
    ledger = world.ledger
    _, two = relayed(ledger)
    gate = Gate(world)
    gate.apply([user("m1"), user("m2")], two)
    ledger.retire(two, "accepted", finishes=["m2"])
    three = next_term(ledger, "m3", 3)
    view = gate.apply([user("m1"), user("m2"), said("done"), user("m3")], three)
    assert verdicts(view) == {"m1": "history", "m2": "history", "m3": "successor"}
    assert texts(view) == ["text of m1", "text of m2", "done", "text of m3"]


def test_an_authority_of_another_owner_is_called_that(world: World) -> None:
    one = world.ledger.claim(OwnerRef("job", "nightly"), "worker/1", "host")
    with pytest.raises(InvalidInput, match="this authority is of job nightly, not of"):
        Gate(world).apply([user("m1")], one)
