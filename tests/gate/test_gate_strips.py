"""What was stripped stays out for ever; admission racing a strip, in both orders."""

from __future__ import annotations

import pytest

from gates import (
    Gate,
    S,
    count,
    next_term,
    relayed,
    texts,
    user,
    verdicts,
)
from held_up import HeldUp, in_thread, seen_stripping
from tenure import (
    AlreadyStripped,
    First,
    NotAdmitted,
)
from tenure_ledger import events as e
from worlds import World


@pytest.mark.parametrize("left", ["ghost", "probe"])
def test_a_strip_is_seen_two_cuts_later_and_costs_nothing_then(
    world: World, left: str
) -> None:
    ledger = world.ledger
    _, held = relayed(ledger, leaves=["probe"])
    first = Gate(world)
    verdict = verdicts(first.apply([user("m1"), user(left), user("m2")], held))[left]
    messages = [user("m1"), user(left), user("m2")]
    for number in (3, 4):
        ledger.retire(held, "accepted", None)
        held = next_term(ledger, f"m{number}", number)
        messages.append(user(f"m{number}"))
        gate = Gate(world)
        gate.apply(messages[-1:], held)
        with world.writes() as lines:
            view = gate.apply(messages, held)
        assert lines == []
        assert verdicts(view)[left] == verdict
        assert f"text of {left}" not in texts(view)
        assert left not in gate.host.keys
    # Even where a list lost everything but the leftover itself.
    nothing = Gate(world).nothing([user(left, human=True)], held)
    assert verdicts(nothing.view)[left] == verdict


@pytest.mark.parametrize("left", ["ghost", "probe"])
def test_what_was_stripped_is_taken_in_by_no_one_any_more(
    world: World, left: str
) -> None:
    ledger = world.ledger
    _, two = relayed(ledger, leaves=["probe"])
    gate = Gate(world)
    messages = [user("m1"), user(left), user("m2")]
    gate.apply(messages, two)
    for human in (True, False):
        with world.refuses(AlreadyStripped):
            ledger.accept(S, left, "inbox", human=human)
    with world.refuses(AlreadyStripped):
        ledger.admit(two, left, "human")
    with world.refuses(AlreadyStripped):
        ledger.admit(two, "q", "human", absorbed=[left])
    with world.refuses(NotAdmitted):
        ledger.start(two, left)
    ledger.retire(two, "accepted")
    with world.refuses(AlreadyStripped):
        ledger.succeed(S, "manager/3", "host", first=First(left, "continue_relay"))
    three = next_term(ledger, "m3", 3)
    # Sent again under a new id it is work like any other.
    ledger.admit(three, f"{left} again", "human")
    view = gate.apply(
        [*messages, user("m3"), user(f"{left} again")], three, acting=f"{left} again"
    )
    assert texts(view)[-1] == f"text of {left} again"


def test_an_admission_before_the_strip_wins_for_ever(world: World) -> None:
    """The gate judged the key as unknown; it is admitted before the strip lands."""
    _, two = relayed(world.ledger)
    gate = Gate(world)
    patch = pytest.MonkeyPatch()
    strip = world.ledger.strip_requests

    def too_late(*how: object) -> int:
        patch.undo()
        world.open("p2").admit(two, "m3", "assistant_run")
        return strip(*how)  # type: ignore[arg-type]

    patch.setattr(world.ledger, "strip_requests", too_late)
    view = gate.apply([user("m1"), user("m3"), user("ghost"), user("m2")], two)
    assert verdicts(view)["m3"] == "queued"
    assert verdicts(view)["ghost"] == "stale_unadmitted"
    assert gate.host.keys == ["ghost"]
    assert count(world.ledger, e.StaleRequestStripped) == 1
    assert texts(gate.apply([user("m1"), user("m3")], two, acting="m3"))[-1] == (
        "text of m3"
    )


def test_a_strip_before_the_admission_wins_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    messages = [user("m1"), user("m3"), user("m2")]
    slow = HeldUp(world)
    reached = seen_stripping(slow.ledger, monkeypatch)
    stripping = Gate(slow.ledger)
    slow.begin(lambda _: stripping.apply(messages, two))
    assert reached.is_set()
    admitting = in_thread(lambda: world.ledger.admit(two, "m3", "assistant_run"))
    slow.end(commits=True)
    with pytest.raises(AlreadyStripped):
        admitting.get()
    assert verdicts(gate.apply(messages, two))["m3"] == "stale_unadmitted"
    assert count(world.ledger, e.StaleRequestStripped) == 1


def test_an_acceptance_before_the_strip_wins_too(world: World) -> None:
    """A person's message arrives while the gate holds it for a leftover."""
    _, two = relayed(world.ledger)
    gate = Gate(world)
    patch = pytest.MonkeyPatch()
    strip = world.ledger.strip_requests

    def too_late(*how: object) -> int:
        patch.undo()
        world.open("p2").accept(S, "hey", "inbox", human=True)
        return strip(*how)  # type: ignore[arg-type]

    patch.setattr(world.ledger, "strip_requests", too_late)
    view = gate.apply([user("m1"), user("hey"), user("ghost"), user("m2")], two)
    assert verdicts(view)["hey"] == "queued"
    assert gate.host.keys == ["ghost"]
    assert texts(gate.apply([user("m1"), user("hey")], two, acting="hey"))[-1] == (
        "text of hey"
    )


def test_a_cut_before_the_strip_makes_another_cut_the_measure(world: World) -> None:
    """Another process cuts and begins anew between the look and the strip."""
    _, two = relayed(world.ledger)
    gate = Gate(world)
    patch = pytest.MonkeyPatch()
    strip = world.ledger.strip_requests

    def too_late(*how: object) -> int:
        patch.undo()
        other = world.open("p2")
        other.start(two, "m2")
        other.retire(two, "accepted")
        next_term(other, "m3", 3)
        return strip(*how)  # type: ignore[arg-type]

    patch.setattr(world.ledger, "strip_requests", too_late)
    messages = [user("m1"), user("m3"), user("m2"), user("ghost")]
    nothing = gate.nothing(messages, None, acting="m2")
    assert verdicts(nothing.view) == {
        "m1": "history",
        "m3": "queued",
        "m2": "history",
        "ghost": "stale_unadmitted",
    }
    (cut,) = [
        one.event.cut
        for one in world.ledger.history(S)
        if isinstance(one.event, e.StaleRequestStripped)
    ]
    assert cut == world.ledger.fresh_state(S).ownership.cut.version  # type: ignore[union-attr]
