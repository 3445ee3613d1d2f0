"""The reference executor: carries a resume plan out, through a small port.

It can be killed at any point. The next recovery makes a new plan from what is on record
then, and every step that was done is a no-op or is not in it any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tenure_gate.recovery.port import ResumeHost
from tenure_gate.recovery.steps import (
    AwaitApproval,
    CloseApproval,
    Compact,
    DropJob,
    GoOn,
    KeepOutput,
    QueueSubmission,
    ResumePlan,
    RunCall,
    RunJob,
    Step,
    TellCall,
    TimeOutJob,
    Unstarted,
)
from tenure_ledger.bodies import Json
from tenure_ledger.errors import (
    AlreadyDecided,
    KeyReused,
    NotAdmitted,
    NotFound,
)
from tenure_ledger.ledger import Ledger
from tenure_ledger.methods.effects import arguments_digest
from tenure_ledger.values import (
    Authority,
    ChatExecutionKey,
    OwnerRef,
    check_authority,
)

__all__ = ["execute_plan"]

_RESULTS = ("output", "content", "result")
"""Where the formats in use keep what a tool returned."""


async def execute_plan(
    ledger: Ledger,
    authority: Authority,
    plan: ResumePlan,
    host: ResumeHost,
    *,
    policy_version: str | None = None,
) -> None:
    """Carry the plan out, step by step.

    Waits for a person do not hold up other calls; the loop goes on when each call has
    an answer. ``policy_version`` is the one in force now: an approval of another one is
    not used. Raises what the host raises, and, before each step, `FencedOut`,
    `TermRetired`, `OwnerEnded` when somebody else has the work by now.
    """
    run = _Execution(ledger, check_authority(authority), host, policy_version)
    await run.check()
    waits = [
        asyncio.ensure_future(run.wait(step))
        for step in plan.steps
        if isinstance(step, AwaitApproval)
    ]
    try:
        for step in plan.steps:
            if isinstance(step, (Compact, GoOn, RunJob)):
                await _all(waits)
            await run.check()
            await run.do(step)
        await _all(waits)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def _all(waits: Sequence[asyncio.Future[None]]) -> None:
    """Wait for all of them, or for the first that fails."""
    if waits:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_EXCEPTION)
        for one in done:
            one.result()


class _Execution:
    """One run over a plan."""

    def __init__(
        self,
        ledger: Ledger,
        authority: Authority,
        host: ResumeHost,
        policy_version: str | None,
    ) -> None:
        self.ledger = ledger
        self.authority = authority
        self.owner: OwnerRef = authority.owner
        self.host = host
        self.policy_version = policy_version

    async def check(self) -> None:
        """Return if the authority may act, else raise its refusal."""
        await asyncio.to_thread(self.ledger.check, self.authority)

    async def do(self, step: Step) -> None:
        """Do one step."""
        match step:
            case Compact():
                done = await self.host.compact(step)
                await asyncio.to_thread(
                    self.ledger.history_rewritten,
                    self.authority,
                    step.history_rewrite_generation,
                    *done,
                )
            case QueueSubmission():
                await self._queue(step)
            case Unstarted():
                await self.host.queue(step)
            case RunJob():
                await self.host.run_job(step)
            case DropJob():
                await self._clear("finished")
            case TimeOutJob():
                await self._time_out(step)
            case GoOn():
                await self.host.go_on(step)
            case _:
                await self._do_call(step)

    async def _do_call(
        self, step: KeepOutput | TellCall | RunCall | AwaitApproval | CloseApproval
    ) -> None:
        match step:
            case KeepOutput():
                await self._keep(step)
            case TellCall():
                await self.host.tell(step)
            case RunCall():
                await self._run(step)
            case AwaitApproval():
                pass  # it waits beside the others
            case CloseApproval():
                await self._close(step)

    async def _keep(self, step: KeepOutput) -> None:
        if step.result is not None:
            result = await asyncio.to_thread(self.ledger.body, self.owner, step.result)
            await self.host.keep(step, result)
            return
        known = None
        if step.message_id is not None:
            known = await asyncio.to_thread(
                self.ledger.tool_call, self.owner, step.message_id, step.call_id
            )
        if known is not None and known.state == "unknown":
            # The checkpoint knew what the ledger did not.
            try:
                await asyncio.to_thread(
                    self.ledger.complete_tool_call,
                    self.authority,
                    known,
                    _returned(step.output),
                )
            except AlreadyDecided:
                known = await asyncio.to_thread(
                    self.ledger.tool_call, self.owner, known.message_id, step.call_id
                )
        if known is not None and known.state == "completed":
            await self.host.keep(step, known.result)
        else:
            await self.host.keep(step, _returned(step.output))

    async def _run(self, step: RunCall) -> None:
        arguments = step.arguments
        if step.digest is not None:
            arguments = await asyncio.to_thread(
                self.ledger.body, self.owner, step.digest
            )
            if arguments is None and step.digest != arguments_digest(None):
                await self._tell(step, "never_started")  # they were erased
                return
        if step.approval is None and not await self.host.allowed(step):
            await self._tell(step, "never_started")
            return
        try:
            call = await asyncio.to_thread(
                self.ledger.begin_tool_call,
                self.authority,
                step.message_id,
                step.call_id,
                step.tool,
                arguments,
                step.approval,
                policy_version=self.policy_version,
            )
        except AlreadyDecided as refusal:
            await self._tell(step, str(refusal.first))
            return
        except (NotAdmitted, KeyReused, NotFound):
            await self._tell(step, "never_started")
            return
        match call.state:
            case "fresh":
                result = await self.host.run_tool(step, arguments, call.idempotency_key)
                await asyncio.to_thread(
                    self.ledger.complete_tool_call, self.authority, call, result
                )
                await self.host.keep(step, result)
            case "completed":
                await self.host.keep(step, call.result)
            case _:
                await self._tell(step, "unknown")

    async def _tell(self, step: RunCall, what: str) -> None:
        match what:
            case "denied" | "expired" | "void" | "unknown":
                told = TellCall(step.message_id, step.call_id, what)
            case _:
                told = TellCall(step.message_id, step.call_id, "never_started")
        await self.host.tell(told)

    async def wait(self, step: AwaitApproval) -> None:
        """Wait for a decision as long as there is time, then act on what there is."""
        limit = asyncio.timeout(step.seconds_left)
        try:
            async with limit:
                while await self._undecided(step):
                    await self.host.answered(step)
        except TimeoutError:
            if not limit.expired():
                raise
            await self._close(CloseApproval(step.request_id, "expired"))
        await self.check()
        asked = await asyncio.to_thread(
            self.ledger.approval, self.owner, step.request_id
        )
        if asked is None or asked.closed or asked.decision != "approved":
            what = "void" if asked is None else asked.reason or asked.decision or ""
            await self._tell(step.call, "void" if what == "cut" else what)
        else:
            await self._run(step.call)

    async def _undecided(self, step: AwaitApproval) -> bool:
        asked = await asyncio.to_thread(
            self.ledger.approval, self.owner, step.request_id
        )
        return asked is not None and not (asked.decided or asked.closed)

    async def _close(self, step: CloseApproval) -> None:
        with suppress(AlreadyDecided):  # somebody was faster, and that stands
            await asyncio.to_thread(
                self.ledger.close_approval,
                self.authority,
                step.request_id,
                step.reason,
            )

    async def _queue(self, step: QueueSubmission) -> None:
        if not step.admitted:
            key = step.submission.message_id
            known = await asyncio.to_thread(
                self.ledger.execution,
                ChatExecutionKey(self.owner.owner_id, key),
                self.owner.recovery_class,
            )
            human = known is not None and known.human
            await asyncio.to_thread(
                self.ledger.admit,
                self.authority,
                key,
                "human" if human else "runtime_recovery",
                absorbed=[part.message_id for part in step.absorbed],
            )
        await self.host.queue(step)

    async def _time_out(self, step: TimeOutJob) -> None:
        view = await asyncio.to_thread(self.ledger.owner, self.owner)
        still = {one.key for one in view.open_executions}
        keys = [key for key in step.keys if key in still]
        if keys:
            author = self.authority.agent_id or self.owner.owner_id
            await asyncio.to_thread(
                self.ledger.bar_replay, self.owner, "cron_exec_timeout", author, keys
            )
        for key in keys:
            with suppress(AlreadyDecided):  # it ended in time
                await asyncio.to_thread(
                    self.ledger.settle, self.authority, key, "failed"
                )
        await self._clear("cron_exec_timeout")

    async def _clear(self, reason: str) -> None:
        await asyncio.to_thread(self.ledger.clear_checkpoint, self.authority, reason)


def _returned(item: Json) -> Json:
    """Return what the tool returned, if the item says it in a format in use."""
    if isinstance(item, dict):
        return next((item[at] for at in _RESULTS if at in item), item)
    return item
