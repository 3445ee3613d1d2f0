"""Carries out what a resume plan says of tool calls and of approvals.

What the ledger has on record by then wins over the plan. Source: design section 7.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tenure_gate.recovery.port import ResumeHost
from tenure_gate.recovery.steps import (
    AwaitApproval,
    CloseApproval,
    KeepOutput,
    RunCall,
    TellCall,
)
from tenure_ledger.bodies import Json
from tenure_ledger.errors import (
    AlreadyDecided,
    InvalidInput,
    KeyReused,
    NotAdmitted,
    NotFound,
)
from tenure_ledger.events import CloseReason
from tenure_ledger.ledger import Ledger
from tenure_ledger.methods.effects import arguments_digest
from tenure_ledger.values import Authority, OwnerRef
from tenure_ledger.views import ToolCall

__all__ = ["CallSteps"]

_RESULTS = ("output", "content", "result")
"""Where the formats in use keep what a tool returned."""


class CallSteps:
    """The steps about calls, under one authority."""

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

    async def do(
        self, step: KeepOutput | TellCall | RunCall | AwaitApproval | CloseApproval
    ) -> None:
        """Do one step, but wait for nobody: that is `wait`."""
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
                await self._close(step.request_id, step.reason)

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
        result = _returned(step.output)
        if known is not None and known.state == "unknown":
            # The checkpoint knew what the ledger did not.
            result = await self._complete(known, result)
        elif known is not None and known.state == "completed":
            result = known.result
        await self.host.keep(step, result)

    async def _complete(self, call: ToolCall, result: Json) -> Json:
        """Record the result; return the one on record, which may be another."""
        try:
            await asyncio.to_thread(
                self.ledger.complete_tool_call, self.authority, call, result
            )
        except AlreadyDecided:
            known = await asyncio.to_thread(
                self.ledger.tool_call, self.owner, call.message_id, call.call_id
            )
            return result if known is None else known.result
        return result

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
        except (NotAdmitted, KeyReused, NotFound, InvalidInput):
            await self._tell(step, "never_started")
            return
        match call.state:
            case "fresh":
                result = await self.host.run_tool(step, arguments, call.idempotency_key)
                await self.host.keep(step, await self._complete(call, result))
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
        if step.approval is not None:
            # What is told as not run must not be run by the next plan.
            await self._close(step.approval, "void")
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
            await self._close(step.request_id, "expired")
        await asyncio.to_thread(self.ledger.check, self.authority)
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

    async def _close(self, request_id: str, reason: CloseReason) -> None:
        # Somebody was faster, and that stands; or there is none.
        with suppress(AlreadyDecided, NotFound):
            await asyncio.to_thread(
                self.ledger.close_approval, self.authority, request_id, reason
            )


def _returned(item: Json) -> Json:
    """Return what the tool returned, if the item says it in a format in use."""
    if isinstance(item, dict):
        return next((item[at] for at in _RESULTS if at in item), item)
    return item
