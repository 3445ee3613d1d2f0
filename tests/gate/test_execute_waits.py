"""The reference executor: waits for a person (S17, S18)."""

from __future__ import annotations

import pytest

from executing import Host, go, run, wait_for
from resuming import S, begun
from tenure import (
    AwaitApproval,
    GoOn,
)
from tenure_ledger.events import Decision
from worlds import World


def test_an_approved_call_runs_once_under_its_request(world: World) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    host = Host()
    host.when_asked = lambda step: decide(world, step, "approved")
    asked = go(world, held, wait, GoOn(("m1",), None), host=host)
    assert [at[0] for at in asked[:-1]] == ["shown", "ran", "kept"]
    assert asked[-1] == GoOn(("m1",), None)
    used = world.ledger.approval(S, wait.request_id)
    assert used is not None
    assert used.consumed


def decide(world: World, step: AwaitApproval, decision: Decision) -> None:
    world.ledger.decide_approval(S, step.request_id, decision, "ann")


def test_a_denied_call_is_told_and_the_loop_goes_on(world: World) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    host = Host()
    host.when_asked = lambda step: decide(world, step, "denied")
    asked = go(world, held, wait, GoOn(("m1",), None), host=host)
    assert asked[1:] == [("told", "x", "denied"), GoOn(("m1",), None)]


def test_a_wait_that_runs_out_is_expired_on_record_and_no_denial(
    world: World,
) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")

    class Silent(Host):
        async def answered(self, step: AwaitApproval) -> None:
            await super().answered(step)
            await self.forever.wait()

    asked = go(world, held, wait._replace(seconds_left=1.0), host=Silent())
    assert asked == [("shown", wait.request_id), ("told", "x", "expired")]
    closed = world.ledger.approval(S, wait.request_id)
    assert closed is not None
    assert (closed.reason, closed.decision) == ("expired", None)


def test_a_decision_that_came_with_the_last_second_stands(world: World) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")

    class Late(Host):
        async def answered(self, step: AwaitApproval) -> None:
            try:
                await self.forever.wait()
            finally:
                decide(world, step, "approved")

    asked = go(world, held, wait._replace(seconds_left=1.0), host=Late())
    assert asked[-1] == ("kept", "x", "ran x")


def test_s18_a_lost_connection_decides_nothing(world: World) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    host = Host()
    lost = iter([False, False, True])

    def reconnects(step: AwaitApproval) -> None:
        if next(lost):
            decide(world, step, "approved")

    host.when_asked = reconnects
    asked = go(world, held, wait, host=host)
    assert [at[0] for at in asked] == ["shown", "shown", "shown", "ran", "kept"]


def test_a_hosts_own_time_out_is_no_expiry(world: World) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    host = Host()

    def breaks(_: AwaitApproval) -> None:
        raise TimeoutError

    host.when_asked = breaks
    with pytest.raises(TimeoutError):
        go(world, held, wait._replace(seconds_left=60.0), host=host)
    still = world.ledger.approval(S, wait.request_id)
    assert still is not None
    assert not still.closed


def test_waits_hold_up_nobody_but_the_loop(world: World) -> None:
    held = begun(world)
    x, y = wait_for(world, held, "x", "y")
    host = Host()
    shown: list[str] = []

    def answers(step: AwaitApproval) -> None:
        shown.append(step.request_id)
        if step == y:
            decide(world, y, "approved")
        elif ("kept", "y", "ran y") in host.asked:
            decide(world, x, "denied")

    host.when_asked = answers
    asked = go(world, held, x, run("z"), y, GoOn(("m1",), None), host=host)
    ends = [at for at in asked if at[0] in {"kept", "told"}]
    assert ends.index(("kept", "y", "ran y")) < ends.index(("told", "x", "denied"))
    assert ("kept", "z", "ran z") in ends
    assert asked[-1] == GoOn(("m1",), None)
