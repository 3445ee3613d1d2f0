"""The reference executor: what another has by now is left alone."""

from __future__ import annotations

import asyncio

import pytest

from executing import Host, go, kept, run, run_of, wait_for
from resuming import GONE, S, begun, resumed
from tenure import (
    AwaitApproval,
    Compact,
    FencedOut,
    GoOn,
    Json,
    RunCall,
    RunJob,
    RuntimeRestartReactionLoopState,
    TellCall,
    TermRetired,
    Unstarted,
    recover,
)
from tenure_gate.recovery.steps import Step
from worlds import World


def test_what_lost_its_holding_stops_at_the_next_write(world: World) -> None:
    held = begun(world)
    host = Host()

    def replaced(step: RunCall) -> Json:
        world.ledger.retire(held, "continue")
        return f"ran {step.call_id}"

    host.when_run = replaced
    with pytest.raises(TermRetired) as refusal:
        go(world, held, run("x"), run("y"), GoOn(("m1",), None), host=host)
    assert [at[0] for at in host.asked] == ["allowed?", "ran"]
    # The result is not lost: it is on record as a late one.
    assert refusal.value.late is not None
    late = world.ledger.tool_call(S, "m1", "x")
    assert late is not None
    assert (late.late, late.result) == (True, "ran x")


def test_waits_end_with_the_run_that_lost_its_holding(world: World) -> None:
    held = begun(world)
    (wait,) = wait_for(world, held, "x")
    ended: list[bool] = []
    waiting = asyncio.Event()

    class Patient(Host):
        async def answered(self, step: AwaitApproval) -> None:
            del step
            waiting.set()
            try:
                await self.forever.wait()
            finally:
                ended.append(True)

        async def run_tool(
            self, step: RunCall, arguments: Json, idempotency_key: str
        ) -> Json:
            del step, arguments, idempotency_key
            await waiting.wait()
            world.ledger.retire(held, "continue")
            return None

    with pytest.raises(TermRetired):
        go(world, held, wait, run("y"), host=Patient())
    assert ended == [True]


@pytest.mark.parametrize(
    "step",
    [
        kept("x", "done"),
        TellCall("m1", "x", "unknown"),
        run("x"),
        Unstarted(("m2",)),
        GoOn(("m1",), None),
        Compact("please", 1),
        RunJob("j", None, 0, 1, ("m1",)),
        AwaitApproval("request", run("x"), None),
    ],
    ids=lambda step: type(step).__name__,
)
def test_nothing_is_asked_of_the_host_for_what_another_has_by_now(
    world: World, step: Step
) -> None:
    held = begun(world)
    world.ledger.save_checkpoint(
        held, RuntimeRestartReactionLoopState(consecutive_batches=1)
    )
    now = resumed(world).authority
    host = Host()
    with pytest.raises(FencedOut):
        go(world, held, step, host=host)
    assert host.asked == []
    world.ledger.check(now)


def test_the_plan_of_a_dry_run_is_not_carried_out(world: World) -> None:
    held = begun(world)
    payload = RuntimeRestartReactionLoopState(
        consecutive_batches=1, completed_unpersisted_tool_outputs=["x"]
    )
    world.ledger.save_checkpoint(held, payload)
    (one,) = recover(world.open("p2"), GONE, dry_run=True).resumed
    host = Host()
    with pytest.raises(FencedOut):
        run_of(world, one, host)
    assert host.asked == []
