"""`NothingToSay`: each reason is reached, each says what to do, and none is guessed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

import pytest

from gates import Gate, S, first_term, relayed, said, user
from tenure import Authority, NothingToSay
from tenure_gate.membership import Reason
from worlds import World

LIST = [user("m1"), said("done"), user("m2")]


def without_a_holder(world: World) -> NothingToSay:
    world.ledger.retire(first_term(world.ledger), "accepted")
    return Gate(world).nothing(LIST, None)


def side_without_a_holder(world: World) -> NothingToSay:
    world.ledger.retire(first_term(world.ledger), "accepted")
    return Gate(world).nothing([*LIST, user(None, "a title")], None, side=True)


def without_a_request(world: World) -> NothingToSay:
    return Gate(world).nothing([said("hello")], first_term(world.ledger))


def another_list(world: World) -> NothingToSay:
    held = first_term(world.ledger)
    return Gate(world).nothing(LIST, held, acting="elsewhere")


def nobody_admitted_it(world: World) -> NothingToSay:
    return Gate(world).nothing(LIST, first_term(world.ledger))


def nobody_admitted_the_person(world: World) -> NothingToSay:
    held = first_term(world.ledger)
    gate = Gate(world, unadmitted_human="hold")
    return gate.nothing([*LIST[:2], user("m2", human=True)], held)


def settled_in_this_term(world: World) -> NothingToSay:
    return Gate(world).nothing(LIST[:2], first_term(world.ledger))


def settled_in_another(world: World) -> NothingToSay:
    _, two = relayed(world.ledger)
    return Gate(world).nothing(LIST, two, acting="m1")


def _at_work(world: World) -> Authority:
    _, two = relayed(world.ledger)
    world.ledger.start(two, "m2")
    return two


def a_person_cancelled_it(world: World) -> NothingToSay:
    two = _at_work(world)
    world.ledger.bar_replay(S, "user_cancelled", "Ana", ["m2"])
    return Gate(world).nothing(LIST, two)


def a_person_cancelled_all(world: World) -> NothingToSay:
    two = _at_work(world)
    world.ledger.bar_replay(S, "user_cancelled_whole_stream", "Ana")
    return Gate(world).nothing(LIST, two)


def a_leftover_stripped_now(world: World) -> NothingToSay:
    _, two = relayed(world.ledger)
    messages = [*LIST[:2], user("ghost"), LIST[2]]
    return Gate(world).nothing(messages, two, acting="ghost")


def a_leftover_only_looked_at(world: World) -> NothingToSay:
    _, two = relayed(world.ledger, leaves=["probe"])
    messages = [*LIST[:2], user("probe"), LIST[2]]
    return Gate(world).nothing(messages, two, acting="probe", record=False)


class Case(NamedTuple):
    """How a reason comes about, and what its text says."""

    happens: Callable[[World], NothingToSay]
    says: str
    verdict: str | None


CASES: Mapping[Reason, list[Case]] = {
    "no_holding": [
        Case(without_a_holder, "begin the next term", "stale_unadmitted"),
        Case(side_without_a_holder, "nobody holds", None),
    ],
    "no_request": [
        Case(without_a_request, "the list has no request", None),
        Case(another_list, "elsewhere", None),
    ],
    "not_admitted": [
        Case(nobody_admitted_it, "admit it first", "not_admitted"),
        Case(nobody_admitted_the_person, "admit it first", "unadmitted_human"),
    ],
    "settled": [
        Case(settled_in_this_term, "settled completed", "current"),
        Case(settled_in_another, "settled completed", "history"),
    ],
    "cancelled": [
        Case(a_person_cancelled_it, "user_cancelled", "successor"),
        Case(a_person_cancelled_all, "user_cancelled_whole_stream", "successor"),
    ],
    "kept_out": [
        Case(a_leftover_stripped_now, "ghost was stripped", "stale_unadmitted"),
        Case(a_leftover_only_looked_at, "probe was admitted", "stale_admitted"),
    ],
}


@pytest.mark.parametrize(
    ("reason", "case"),
    [(reason, case) for reason, cases in CASES.items() for case in cases],
    ids=lambda at: at if isinstance(at, str) else at.happens.__name__,
)
def test_nothing_is_said_for_this_reason(
    world: World, reason: Reason, case: Case
) -> None:
    nothing = case.happens(world)
    assert (nothing.code, nothing.reason) == ("nothing_to_say", reason)
    assert str(nothing).startswith(f"do not call the model for {S}: ")
    assert case.says in str(nothing)
    found = nothing.verdict
    assert (None if found is None else found.name) == case.verdict
    assert nothing.view is not None
    assert nothing.evidence["version"] == world.ledger.owner(S).version


def test_it_names_the_open_requests_that_could_be_served_instead(
    world: World,
) -> None:
    _, two = relayed(world.ledger, leaves=["probe"], waits={"w1": True})
    gate = Gate(world)
    messages = [user(key) for key in ("m1", "w1", "m2", "probe", "ghost")]
    nothing = gate.nothing(messages, two)
    assert nothing.open == nothing.evidence["open"] == ("w1", "m2")
    assert str(nothing).endswith("; w1, m2 are admitted and open: pass acting='w1'")
    for key in nothing.open:
        assert gate.apply(messages, two, acting=key).acting == key
    world.ledger.settle(two, "w1", "completed")
    nothing = gate.nothing(messages, two, acting="elsewhere")
    assert nothing.open == ("m2",)
    assert str(nothing).endswith("; m2 is admitted and open: pass acting='m2'")
    world.ledger.bar_replay(S, "user_cancelled", "Ana", ["m2"])
    nothing = gate.nothing(messages, two, acting="m2")
    assert nothing.open == ()
    assert "pass acting" not in str(nothing)


def test_of_many_open_requests_the_text_names_the_first_few(world: World) -> None:
    one = first_term(world.ledger)
    keys = [f"q{number}" for number in range(9)]
    for key in keys:
        world.ledger.admit(one, key, "human")
    nothing = Gate(world).nothing([user(key) for key in keys], one, acting="x")
    assert nothing.open == tuple(keys)
    assert "q0, q1, q2, q3, q4, … are admitted" in str(nothing)


@pytest.mark.parametrize("happens", [without_a_holder, side_without_a_holder])
def test_where_nobody_holds_the_session_no_request_is_named(
    world: World, happens: Callable[[World], NothingToSay]
) -> None:
    assert happens(world).open == ()


def test_every_reason_is_reached() -> None:
    assert CASES.keys() == set(get_args(Reason))
