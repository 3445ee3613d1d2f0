"""The guard's port: what it is asked, what its answers do, when it is asked again."""

from __future__ import annotations

import functools
import pickle
from enum import StrEnum

import pytest

from gates import CODES, Gate, S, count, first_term, next_term, relayed, texts, user
from held_up import in_thread
from tenure import (
    AlreadyDecided,
    GuardRejected,
    Interrupted,
    InterruptTarget,
    NarrativeTransform,
    OwnerRef,
    RelayGateFailure,
)
from tenure_gate.guard import TOLERATED
from tenure_ledger import events as e
from together import together
from worlds import World

LIST = [user("m1"), user("ghost"), user("m2")]


def settled(world: World) -> list[str]:
    return [
        one.event.outcome
        for one in world.ledger.history(S)
        if isinstance(one.event, e.InterruptSettled)
    ]


def test_a_failure_names_what_may_be_given_up(world: World) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, OSError("x"))
    with pytest.raises(RelayGateFailure) as failed:
        gate.apply(LIST, two)
    failure = pickle.loads(pickle.dumps(failed.value))  # noqa: S301  our own
    assert (failure.owner, failure.key) == (S, "ghost")
    assert str(failure) == str(failed.value)
    world.ledger.settle_interrupt(S, failure.interrupt_id, "given_up", "Ana")
    assert texts(gate.apply(LIST, two))[-1] == "text of m2"
    assert settled(world) == ["given_up"]


def test_five_codes_are_tolerated_and_no_other() -> None:
    assert frozenset(CODES) == TOLERATED


class Codes(StrEnum):
    MANAGED = "managed_session"


class Rejection(GuardRejected):
    """A host's own kind of rejection."""


class Done(Interrupted):
    """A host's own kind of yes."""


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Interrupted(), "interrupted"),
        (Interrupted("its task was cancelled"), "interrupted"),
        (Done(), "interrupted"),
        (GuardRejected(Codes.MANAGED), "managed_session"),
        (Rejection("session_closed"), "session_closed"),
    ],
)
def test_an_answer_is_settled_once_in_the_ledgers_words(
    world: World, answer: object, outcome: str
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, answer)
    for ledger_gate in (gate, gate, Gate(world.open("p2"), answer)):
        assert texts(ledger_gate.apply(LIST, two))[-1] == "text of m2"
    assert settled(world) == [outcome]
    assert type(settled(world)[0]) is str
    assert len(gate.host.asked) == 1


def test_an_open_interrupt_is_tried_again_by_any_later_call_over_restarts(
    world: World,
) -> None:
    """The list need not hold the leftover any more, and the process is another one."""
    _, two = relayed(world.ledger, leaves=["probe"])
    broken = Gate(world, OSError("no route to host"))
    with pytest.raises(RelayGateFailure):
        broken.apply([user("m1"), user("probe"), user("m2")], two)
    again = Gate(world.open("p2"), OSError("no route to host"))
    with pytest.raises(RelayGateFailure):
        again.apply([user("m2")], two)
    last = Gate(world.open("p3"))
    for _ in range(2):
        assert texts(last.apply([user("m2")], two)) == ["text of m2"]
    asked = [*broken.host.asked, *again.host.asked, *last.host.asked]
    assert len(asked) == 3
    assert len({one.interrupt_id for one in asked}) == 1
    assert settled(world) == ["interrupted"]
    assert count(world.ledger, e.StaleRequestStripped) == 1


@pytest.mark.parametrize("how", ["side", "without record"])
def test_what_writes_nothing_asks_nobody(world: World, how: str) -> None:
    _, two = relayed(world.ledger)
    with pytest.raises(RelayGateFailure):
        Gate(world, OSError("no route to host")).apply(LIST, two)
    gate = Gate(world)
    with world.writes() as lines:
        if how == "side":
            gate.apply([*LIST, user("title")], two, side=True)
        else:
            gate.apply(LIST, two, record=False)
    assert lines == []
    assert gate.host.asked == []


def test_an_open_interrupt_waits_while_nobody_holds_the_session(world: World) -> None:
    _, two = relayed(world.ledger)
    with pytest.raises(RelayGateFailure):
        Gate(world, OSError("no route to host")).apply(LIST, two)
    world.ledger.retire(two, "accepted")
    gate = Gate(world)
    gate.nothing(LIST, None)
    assert gate.host.asked == []
    three = next_term(world.ledger, "m3", 3)
    gate.apply([*LIST, user("m3")], three)
    assert gate.host.asked[0].live.incarnation == three.incarnation
    assert settled(world)[:1] == ["interrupted"]


@pytest.mark.parametrize("late", [Interrupted(), GuardRejected("session_closed")])
def test_two_processes_ask_at_once_and_one_answer_stands(
    world: World, late: object
) -> None:
    """Both may ask; the second to settle finds it settled and goes on."""
    _, two = relayed(world.ledger)
    second = Gate(world.open("p2"), late)

    class Overtaken:
        def __init__(self) -> None:
            self.asked: list[InterruptTarget] = []

        def interrupt(self, target: InterruptTarget) -> Interrupted:
            self.asked.append(target)
            assert texts(second.apply(LIST, two))[-1] == "text of m2"
            return Interrupted()

    first = Overtaken()
    gate = NarrativeTransform(world.ledger, first)
    assert texts(gate.apply(S, LIST, authority=two))[-1] == "text of m2"
    assert len(settled(world)) == 1
    (one,), (other,) = first.asked, second.host.asked
    assert one.interrupt_id == other.interrupt_id


def test_many_threads_strip_once_and_settle_once(world: World) -> None:
    _, two = relayed(world.ledger, leaves=["probe"])
    gates = [Gate(world.open(f"p{number}")) for number in range(4)]
    messages = [*LIST, user("probe")]
    views = together(
        [
            functools.partial(gate.apply, messages, two, acting="m2")
            for gate in gates
            for _ in range(3)
        ]
    )
    assert [view for view in views if isinstance(view, BaseException)] == []
    assert count(world.ledger, e.StaleRequestStripped) == 2
    assert settled(world) == ["interrupted"] * 2
    assert count(world.ledger, e.ExecutionStarted) == 2  # m1's and m2's


def test_a_final_answer_is_final(world: World) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    gate.apply(LIST, two)
    (target,) = gate.host.asked
    with world.refuses(AlreadyDecided):
        world.ledger.settle_interrupt(S, target.interrupt_id, "given_up", "Ana")


def test_a_slow_guard_of_one_session_holds_up_no_other(world: World) -> None:
    _, two = relayed(world.ledger)
    other = OwnerRef("session", "ses_2")
    held = first_term(world.ledger, other)
    world.ledger.admit(held, "m2", "human")
    beside = Gate(world, owner=other)
    seen: list[list[str]] = []

    def meanwhile() -> list[str]:
        return texts(beside.apply([user("m2")], held))

    class Patient:
        def interrupt(self, _target: InterruptTarget) -> Interrupted:
            # The other session's call comes and goes while this one is asked.
            seen.append(in_thread(meanwhile).get())
            return Interrupted()

    gate = NarrativeTransform(world.ledger, Patient())
    assert texts(gate.apply(S, LIST, authority=two))[-1] == "text of m2"
    assert seen == [["text of m2"]]
