"""The guard's port: what it is asked, what its answers do, when it is asked again."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

import pytest

from gates import CODES, Gate, S, count, first_term, next_term, relayed, texts, user
from held_up import in_thread
from tenure import (
    AlreadyDecided,
    ChatExecutionKey,
    GuardRejected,
    HoldingRef,
    Interrupted,
    InterruptTarget,
    InvalidInput,
    Ledger,
    NarrativeTransform,
    OwnerRef,
    RelayGateFailure,
    SessionGuard,
    SessionWideGuard,
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


class AsyncGuard:
    async def interrupt(self, _target: InterruptTarget) -> Interrupted:
        return Interrupted()


class AsyncCallable:
    async def __call__(self, _target: InterruptTarget) -> Interrupted:
        return Interrupted()


class HiddenAsync:
    """Its method is not marked as asynchronous; what it returns is."""

    def __init__(self) -> None:
        self.interrupt = AsyncCallable()


class AsyncPartial:
    def __init__(self) -> None:
        self.interrupt = functools.partial(AsyncGuard().interrupt)


@pytest.mark.parametrize("guard", [AsyncGuard(), AsyncPartial()], ids=repr)
def test_an_asynchronous_guard_is_a_type_error_at_construction(
    world: World, guard: SessionGuard
) -> None:
    with pytest.raises(TypeError):
        NarrativeTransform(world.ledger, guard)


def test_a_guard_that_hides_its_coroutine_fails_closed_and_warns_of_nothing(
    world: World,
) -> None:
    _, two = relayed(world.ledger)
    hidden: Any = HiddenAsync()
    gate = NarrativeTransform(world.ledger, hidden)
    with pytest.raises(RelayGateFailure, match="coroutine"):
        gate.apply(S, LIST, authority=two)
    assert settled(world) == []


@pytest.mark.parametrize("guard", [None, object(), "guard", len], ids=repr)
def test_what_is_no_guard_is_refused_at_construction(
    world: World, guard: SessionGuard
) -> None:
    with pytest.raises(InvalidInput):
        NarrativeTransform(world.ledger, guard)


@pytest.mark.parametrize("ledger", [None, "sqlite:///relay.db", object()])
def test_what_is_no_ledger_is_refused_at_construction(
    world: World, ledger: Ledger
) -> None:
    with pytest.raises((InvalidInput, TypeError)):
        NarrativeTransform(ledger, Gate(world).host)


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_a_guard_that_ends_the_process_is_not_held_up(
    world: World, end: type[BaseException]
) -> None:
    _, two = relayed(world.ledger)
    with pytest.raises(end):
        Gate(world, end()).apply(LIST, two)
    assert settled(world) == []


def test_a_cancelled_guard_is_no_cancelled_caller(world: World) -> None:
    _, two = relayed(world.ledger)
    with pytest.raises(RelayGateFailure):
        Gate(world, asyncio.CancelledError()).apply(LIST, two)


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


def target(ended: HoldingRef | None, live: HoldingRef) -> InterruptTarget:
    return InterruptTarget("i", S, ChatExecutionKey("ses_1", "m"), ended, live)


LIVE = HoldingRef(2, "two", "manager/2")


@pytest.mark.parametrize(
    "ended", [None, HoldingRef(1, "one", "manager/1"), HoldingRef(2, "one", "x")]
)
def test_a_session_wide_guard_does_not_call_while_another_holding_is_live(
    ended: HoldingRef | None,
) -> None:
    aborted: list[OwnerRef] = []
    guard = SessionWideGuard(aborted.append)
    answer = guard.interrupt(target(ended, LIVE))
    assert answer == GuardRejected("different_generation_active")
    assert aborted == []


def test_a_session_wide_guard_stops_the_session_of_the_very_holding() -> None:
    aborted: list[OwnerRef] = []
    guard = SessionWideGuard(aborted.append)
    assert guard.interrupt(target(LIVE, LIVE)) == Interrupted()
    assert aborted == [S]


def test_a_session_wide_guard_takes_no_promise_for_a_stop() -> None:
    stopped: list[OwnerRef] = []

    async def abort(owner: OwnerRef) -> None:
        stopped.append(owner)

    def promise(owner: OwnerRef) -> Awaitable[None]:
        return abort(owner)

    with pytest.raises(TypeError):
        SessionWideGuard(abort)
    with pytest.raises(TypeError):
        SessionWideGuard(promise).interrupt(target(LIVE, LIVE))
    assert stopped == []


def test_a_session_wide_guard_needs_something_to_call() -> None:
    nothing: Any = None
    with pytest.raises(InvalidInput):
        SessionWideGuard(nothing)


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


BREAKS: list[Callable[[InterruptTarget], object]] = [
    lambda one: setattr(one, "interrupt_id", "another"),
    lambda one: setattr(one.live, "incarnation", "another"),
]


@pytest.mark.parametrize("spoil", BREAKS)
def test_a_guard_cannot_change_what_it_is_asked(
    world: World, spoil: Callable[[InterruptTarget], object]
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    gate.apply(LIST, two)
    with pytest.raises(AttributeError):
        spoil(gate.host.asked[0])
