"""A host that writes down what the executor asks of it; each answer can be replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from resuming import ARGUMENTS, ask
from tenure import (
    Authority,
    AwaitApproval,
    Compact,
    GoOn,
    Json,
    KeepOutput,
    QueueSubmission,
    Resumed,
    ResumePlan,
    Rewritten,
    RunCall,
    RunJob,
    TellCall,
    Unstarted,
    arguments_digest,
    execute_plan,
)
from tenure_gate.recovery.steps import Step
from worlds import World

__all__ = ["DIGEST", "WRITE", "Host", "go", "kept", "run", "run_of", "wait_for"]

DIGEST = arguments_digest(ARGUMENTS)
WRITE: Json = {**ARGUMENTS}


class Host:
    """Writes down what it is asked for; each answer can be replaced."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.may_run = True
        self.when_asked: Callable[[AwaitApproval], None] = lambda _: None
        self.when_run: Callable[[RunCall], Json] = lambda step: f"ran {step.call_id}"
        self.forever = asyncio.Event()

    async def keep(self, step: KeepOutput | RunCall, output: Json) -> None:
        """Write it down."""
        self.asked.append(("kept", step.call_id, output))

    async def tell(self, step: TellCall) -> None:
        """Write it down."""
        self.asked.append(("told", step.call_id, step.what))

    async def allowed(self, step: RunCall) -> bool:
        """Say yes, unless told otherwise."""
        self.asked.append(("allowed?", step.call_id))
        return self.may_run

    async def run_tool(
        self, step: RunCall, arguments: Json, idempotency_key: str
    ) -> Json:
        """Run it."""
        self.asked.append(("ran", step.call_id, arguments, idempotency_key))
        return self.when_run(step)

    async def answered(self, step: AwaitApproval) -> None:
        """Show the request."""
        self.asked.append(("shown", step.request_id))
        self.when_asked(step)
        await asyncio.sleep(0)

    async def compact(self, step: Compact) -> Rewritten:
        """Compact."""
        self.asked.append(("compacted", *step))
        return Rewritten("m1", "seq 9", {"kept": 1})

    async def queue(self, step: QueueSubmission | Unstarted) -> None:
        """Write it down."""
        self.asked.append(step)

    async def run_job(self, step: RunJob) -> None:
        """Write it down."""
        self.asked.append(step)

    async def go_on(self, step: GoOn) -> None:
        """Write it down."""
        self.asked.append(step)


def go(
    world: World,
    held: Authority,
    *steps: Step,
    host: Host | None = None,
    policy: str | None = None,
) -> list[Any]:
    """Carry these steps out; return what the host was asked for."""
    host = host or Host()
    plan = ResumePlan("reaction_loop", ("m1",), steps, None, None)
    work = execute_plan(world.ledger, held, plan, host, policy_version=policy)
    asyncio.run(work)
    return host.asked


def run_of(world: World, one: Resumed, host: Host) -> None:
    """Carry out the plan that came back."""
    asyncio.run(execute_plan(world.ledger, one.authority, one.plan, host))


def run(call: str, approval: str | None = None) -> RunCall:
    """Return the step that runs a call of ``m1``."""
    return RunCall("m1", call, "write", WRITE, None, approval)


def kept(call: str, output: Json = None) -> KeepOutput:
    """Return the step that keeps an output of the checkpoint."""
    return KeepOutput("m1", call, {"call_id": call, "output": output}, None)


def wait_for(world: World, held: Authority, *calls: str) -> list[AwaitApproval]:
    """Ask about these calls; return the steps that wait for an answer."""
    requests = [ask(world, held, call) for call in calls]
    pairs = zip(calls, requests, strict=True)
    return [AwaitApproval(at, run(call, at), None) for call, at in pairs]
