"""A reaction loop over one or two messages that is broken off."""

from __future__ import annotations

from resuming import begun, only, plan
from tenure import (
    Authority,
    AwaitApproval,
    CloseApproval,
    Json,
    KeepOutput,
    RunCall,
    RuntimeRestartReactionLoopState,
    TellCall,
)
from tenure_gate.recovery.steps import Step
from worlds import World

__all__ = ["PAY", "of_calls", "save", "two"]

PAY: dict[str, Json] = {"call_id": "c", "tool": "pay", "arguments": {"eur": 500}}


def save(
    world: World,
    held: Authority,
    *pending: Json,
    outputs: tuple[Json, ...] = (),
    keys: list[str] | None = None,
) -> None:
    """Save a loop with these calls and outputs."""
    payload = RuntimeRestartReactionLoopState(
        consecutive_batches=1,
        pending_tool_calls=list(pending),
        completed_unpersisted_tool_outputs=list(outputs),
    )
    world.ledger.save_checkpoint(held, payload, keys=keys)


def of_calls(world: World) -> list[Step]:
    """Return the steps about calls with which the session comes back."""
    return only(
        plan(world), KeepOutput, TellCall, RunCall, AwaitApproval, CloseApproval
    )


def two(world: World, *, started: bool = False) -> Authority:
    """A term in which ``m1`` runs, and ``m2`` waits or runs too."""
    held = begun(world)
    world.ledger.admit(held, "m2", "human")
    if started:
        world.ledger.start(held, "m2")
    return held
