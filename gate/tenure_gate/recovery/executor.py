"""The reference executor: carries a resume plan out, through a small port.

It can be killed at any point. The next recovery makes a new plan from what is on record
then, and every step that was done is a no-op or is not in it any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tenure_gate.recovery.call_steps import CallSteps
from tenure_gate.recovery.port import ResumeHost
from tenure_gate.recovery.steps import (
    AwaitApproval,
    Compact,
    DropJob,
    GoOn,
    QueueSubmission,
    ResumePlan,
    RunJob,
    Step,
    TimeOutJob,
    Unstarted,
)
from tenure_ledger.decisions.restart import covering
from tenure_ledger.errors import (
    AlreadyDecided,
    AlreadyStripped,
    InvalidInput,
    StaleCheckpoint,
)
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.ledger import Ledger
from tenure_ledger.values import (
    Authority,
    ChatExecutionKey,
    check_authority,
    check_optional_id,
    kind_of,
)

__all__ = ["execute_plan"]


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
    not used, and closed. What was decided, done or cancelled since the plan was made
    stands: the rest goes on. Raises what the host raises, and, before each step,
    `FencedOut`, `TermRetired`, `OwnerEnded` when somebody else has the work by now;
    `InvalidInput`.
    """
    _check(ledger, plan, host)
    policy_version = check_optional_id("policy_version", policy_version)
    calls = CallSteps(ledger, check_authority(authority), host, policy_version)
    run = _Execution(calls)
    await run.check()
    waits = [
        asyncio.ensure_future(run.calls.wait(step))
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


def _check(ledger: object, plan: object, host: object) -> None:
    """Return if these can be worked with, else raise `InvalidInput`."""
    if not isinstance(ledger, Ledger):
        msg = f"ledger must be a Ledger, not {kind_of(ledger)}"
        raise InvalidInput(msg)
    if not isinstance(plan, ResumePlan):
        msg = f"plan must be a ResumePlan, not {kind_of(plan)}"
        raise InvalidInput(msg)
    if not isinstance(host, ResumeHost):
        msg = f"host must have the methods of ResumeHost, and is {kind_of(host)}"
        raise InvalidInput(msg)
    for step in plan.steps:
        if not isinstance(step, Step):
            msg = f"{kind_of(step)} is no step of a plan"
            raise InvalidInput(msg)


async def _all(waits: Sequence[asyncio.Future[None]]) -> None:
    """Wait for all of them, or for the first that fails."""
    if waits:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_EXCEPTION)
        for one in done:
            one.result()


class _Execution:
    """One run over a plan."""

    def __init__(self, calls: CallSteps) -> None:
        self.calls = calls
        self.ledger, self.host = calls.ledger, calls.host
        self.authority, self.owner = calls.authority, calls.owner

    async def check(self) -> None:
        """Return if the authority may act, else raise its refusal."""
        await asyncio.to_thread(self.ledger.check, self.authority)

    async def do(self, step: Step) -> None:
        """Do one step."""
        match step:
            case Compact():
                await self._compact(step)
            case QueueSubmission():
                await self._queue(step)
            case Unstarted():
                await self._queue_each(step.keys)
            case RunJob():
                keys = await self._wanted(step.keys)
                if keys or not step.keys:
                    await self.host.run_job(step._replace(keys=keys))
            case DropJob():
                await self._clear("finished")
            case TimeOutJob():
                await self._time_out(step)
            case GoOn():
                keys = await self._wanted(step.keys)
                if keys or not step.keys:
                    await self.host.go_on(step._replace(keys=keys))
            case _:
                await self.calls.do(step)

    async def _compact(self, step: Compact) -> None:
        """Compact, unless it is on record by now."""
        at = step.history_rewrite_generation
        state = await asyncio.to_thread(self.ledger.fresh_state, self.owner)
        if state.relay.rewrite is not None and state.relay.rewrite.generation >= at:
            return
        done = await self.host.compact(step)
        with suppress(StaleCheckpoint):  # another rewrite was recorded meanwhile
            await asyncio.to_thread(
                self.ledger.history_rewritten, self.authority, at, *done
            )

    async def _queue(self, step: QueueSubmission) -> None:
        keys = [part.message_id for part in (step.submission, *step.absorbed)]
        known = {key: await self._execution(key) for key in keys}
        if step.admitted:
            wanted = await self._wanted(tuple(keys))
            parts = tuple(one for one in step.absorbed if one.message_id in wanted)
            if keys[0] in wanted:
                await self.host.queue(step._replace(absorbed=parts))
            return
        lead = known[keys[0]]
        human = lead is not None and lead.human
        try:
            await asyncio.to_thread(
                self.ledger.admit,
                self.authority,
                keys[0],
                "human" if human else "runtime_recovery",
                absorbed=keys[1:],
            )
        except (AlreadyDecided, AlreadyStripped):
            # A part was dealt with by itself meanwhile, so the others are too.
            await self._queue_each(tuple(key for key, one in known.items() if one))
        else:
            await self.host.queue(step)

    async def _queue_each(self, keys: tuple[str, ...]) -> None:
        """Queue these messages, without what was begun or has ended meanwhile."""
        known = [(key, await self._execution(key)) for key in keys]
        rest = tuple(
            key for key, one in known if one is None or (one.open and not one.started)
        )
        if rest:
            await self.host.queue(Unstarted(rest))

    async def _wanted(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return these without what has ended, or was cancelled, meanwhile."""
        state = await asyncio.to_thread(self.ledger.fresh_state, self.owner)
        known = [(key, state.executions.by_key.get(key)) for key in keys]
        return tuple(
            key
            for key, one in known
            if one is None or (one.open and not covering(state, one) & CANCELLING)
        )

    async def _execution(self, message_id: str) -> Execution | None:
        return await asyncio.to_thread(
            self.ledger.execution,
            ChatExecutionKey(self.owner.owner_id, message_id),
            self.owner.recovery_class,
        )

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
