"""The scene in which the reference executor carries out one plan."""

from __future__ import annotations

import asyncio

from tenure import (
    AwaitApproval,
    ChatExecutionKey,
    Compact,
    GoOn,
    Json,
    KeepOutput,
    Ledger,
    QueueSubmission,
    Resumed,
    Rewritten,
    RunCall,
    RunJob,
    TellCall,
    Unstarted,
    execute_plan,
)
from tenure_gate.demo.host import call
from tenure_gate.demo.telling import Telling

__all__ = ["carry_out"]


class _Host:
    """The host's side of a plan: a history, and tools that write down what they did."""

    def __init__(self, ledger: Ledger, resumed: Resumed) -> None:
        self.ledger = ledger
        self.resumed = resumed
        self.history: dict[str, str] = {}
        self.ran: list[str] = []

    async def keep(self, step: KeepOutput | RunCall, output: Json) -> None:
        self.history.setdefault(step.call_id, f"the result {output}")

    async def tell(self, step: TellCall) -> None:
        self.history.setdefault(step.call_id, step.what)

    async def allowed(self, step: RunCall) -> bool:
        return step.tool == "send_mail"

    async def run_tool(
        self, step: RunCall, arguments: Json, idempotency_key: str
    ) -> Json:
        self.ran.append(step.call_id)
        return {"sent": arguments, "key": idempotency_key}

    async def go_on(self, step: GoOn) -> None:
        for key in step.keys:
            held = self.resumed.authority
            await call(self.ledger.settle, held, key, "completed")

    async def answered(self, step: AwaitApproval) -> None:
        raise _unexpected(step)

    async def compact(self, step: Compact) -> Rewritten:
        raise _unexpected(step)

    async def queue(self, step: QueueSubmission | Unstarted) -> None:
        raise _unexpected(step)

    async def run_job(self, step: RunJob) -> None:
        raise _unexpected(step)


def _unexpected(step: object) -> LookupError:
    return LookupError(f"there is no such step in this plan: {step}")


def carry_out(tell: Telling, ledger: Ledger, resumed: Resumed) -> None:
    """Carry out the plan of the loop that was between three calls."""
    owner, host = resumed.owner, _Host(ledger, resumed)
    tell.title(f"The plan of {owner} is carried out")
    asyncio.run(execute_plan(ledger, resumed.authority, resumed.plan, host))
    whys = (
        ("call_1", "{'sent': 'anna'}", "Its result was on record, and in no history."),
        ("call_2", "unknown", "It was dispatched: it may have run, and is not run."),
        ("call_3", "'cleo'", "It was never dispatched, so it runs now, once."),
    )
    for call_id, part, why in whys:
        ran = call_id in host.ran
        told = host.history.get(call_id, "nothing")
        what = "run" if ran else "not run"
        said = told if not ran else "its mail to cleo is sent"
        tell.step(
            call_id,
            f"{what}; the history gets: {said}",
            why=why,
            holds=part in told and ran == (call_id == "call_3"),
        )
    known = ledger.execution(ChatExecutionKey(owner.owner_id, "msg_1"))
    third = ledger.tool_call(owner, "msg_1", "call_3")
    outcome = known.outcome if known else None
    tell.step(
        "the loop goes on",
        f"msg_1 is {outcome}",
        why="Each call has an answer. Killed anywhere in between, the next recovery "
        "would have made a plan without what was done by then.",
        holds=outcome == "completed"
        and third is not None
        and third.state == "completed",
    )
