"""S7: laptop lid closed, lease expired, four copies of the same task."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tenure import (
    Event,
    Evidence,
    First,
    OwnerIsLive,
    OwnerMoved,
    OwnerRef,
    TermRetired,
)
from tenure_ledger.events import AgentBound, GenerationAdvanced
from worlds import World

S = OwnerRef("session", "ses_1")
SUSPENDED = 1800


@pytest.mark.parametrize("jump", [SUSPENDED, 40, -40, -86400])
def test_s7_step_2_a_clock_that_jumps_moves_no_ownership(
    world: World, jump: int
) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"), lease_seconds=90)
    before = ledger.owner(S)
    world.pass_seconds(jump)
    for _ in range(3):
        assert ledger.owner(S) == before
        with pytest.raises(OwnerIsLive):
            ledger.claim(S, "t2", "host")
        with pytest.raises(OwnerIsLive):
            ledger.take_over(S, "t2", "host")
    ledger.check(one)
    ledger.start(one, "m1")


def test_s7_step_2_an_expired_lease_is_renewed_by_its_holder(world: World) -> None:
    one = world.ledger.claim(S, "t1", "host", lease_seconds=90)
    world.pass_seconds(SUSPENDED)
    two = world.ledger.advance(one, "lease_renewal", lease_seconds=90)
    assert (two.generation, two.incarnation) == (2, one.incarnation)
    until = world.ledger.owner(S).lease_until
    assert until == world.now + timedelta(seconds=90)
    # The authority from before the renewal is of the same holding.
    world.ledger.check(one)


def test_s7_step_3_after_a_takeover_the_first_write_of_the_sleeper_is_refused(
    world: World,
) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"), lease_seconds=90)
    ledger.start(one, "m1")
    world.pass_seconds(SUSPENDED)
    seen = Evidence.gone(ledger.owner(S), "no heartbeat for half an hour")
    two = world.open("p2").take_over(S, "t2", "p2", seen, lease_seconds=90)
    head = ledger.head()
    with pytest.raises(TermRetired) as late:
        ledger.advance(one, "lease_renewal", lease_seconds=90)
    assert (late.value.holder, late.value.generation) == ("t2", 2)
    with pytest.raises(TermRetired):
        ledger.begin_tool_call(one, "m1", "c1", "shell", {"run": "rm"})
    assert ledger.head() == head
    ledger.check(two)


def test_s7_step_3_of_four_copies_that_saw_it_expire_one_gets_it(world: World) -> None:
    ledger = world.ledger
    ledger.claim(S, "t0", "host", lease_seconds=90)
    world.pass_seconds(SUSPENDED)
    seen = [ledger.owner(S) for _ in range(4)]
    won: list[int] = []
    for number, view in enumerate(seen, 1):
        copy = world.open(f"copy{number}")
        try:
            won.append(
                copy.take_over(
                    S, f"t{number}", "copy", Evidence.gone(view), override=True
                ).generation
            )
        except OwnerMoved:
            won.append(0)
    assert won == [2, 0, 0, 0]
    assert ledger.owner(S).agent_id == "t1"


def test_s7_step_4_with_every_clock_wrong_the_order_is_that_of_the_versions(
    world: World,
) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "t1", "host", lease_seconds=90)
    world.pass_seconds(-SUSPENDED)
    ledger.retire(one, "continue", "go on")
    world.pass_seconds(-SUSPENDED)
    two = ledger.succeed(S, "t2", "host", first=First("m2", "continue_relay"))
    world.pass_seconds(40)
    ledger.start(two, "m2")
    events = [one.event for one in ledger.history(S)]
    times = [event.recorded_at for event in events if isinstance(event, Event)]
    assert times != sorted(times)
    assert (ledger.owner(S).generation, ledger.verify().ok) == (2, True)
    grants = [event for event in events if isinstance(event, GenerationAdvanced)]
    assert [grant.reason for grant in grants] == ["succession"]


def test_s7_times_are_kept_in_utc_to_the_microsecond(world: World) -> None:
    world.now = datetime(2026, 3, 29, 1, 59, 59, 999999, tzinfo=UTC)
    world.ledger.claim(S, "t1", "host", lease_seconds=0.000001)
    events = [one.event for one in world.ledger.events()]
    assert [e.recorded_at for e in events if isinstance(e, Event)] == [world.now] * 2
    assert any(isinstance(event, AgentBound) for event in events)
    assert world.ledger.owner(S).lease_until == world.now + timedelta(microseconds=1)
