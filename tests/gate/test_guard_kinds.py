"""What may be a guard, and the guard of a host that knows whole sessions only."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gates import Gate, S, count, relayed, user
from tenure import (
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
from tenure_ledger import events as e
from worlds import World


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


@pytest.mark.parametrize("guard", [AsyncGuard(), AsyncPartial()])
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
    assert count(world.ledger, e.InterruptSettled) == 0


@pytest.mark.parametrize("guard", [None, object(), "guard", len])
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
    assert count(world.ledger, e.InterruptSettled) == 0


def test_a_cancelled_guard_is_no_cancelled_caller(world: World) -> None:
    _, two = relayed(world.ledger)
    with pytest.raises(RelayGateFailure):
        Gate(world, asyncio.CancelledError()).apply(LIST, two)


def target(ended: HoldingRef | None, live: HoldingRef) -> InterruptTarget:
    return InterruptTarget("i", S, ChatExecutionKey("ses_1", "m"), ended, live)


LIST = [user("m1"), user("ghost"), user("m2")]
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
