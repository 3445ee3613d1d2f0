"""A small host: an event loop, a session's list of messages, a model, tools, a guard.

Ledger and gate are synchronous, so the host calls them in threads: its event loop never
waits for a disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from errno import ENOSPC
from typing import Any, Protocol, TypeAlias

from tenure import (
    Authority,
    GuardRejected,
    Interrupted,
    InterruptTarget,
    Ledger,
    OwnerRef,
    ToolCall,
)

__all__ = ["Gate", "Host", "HostGuard", "ManagedSessionRejection", "Message", "call"]

Message: TypeAlias = dict[str, Any]

SYSTEM = "You are a manager. Work on what you are asked."
ANSWERS: dict[str, Message] = {
    "Make the parser faster.": {"call": ("call_1", "run_tests")},
    "Go on.": {"call": ("call_2", "read_file")},
    "def parse(text): ...": {"content": "B is done."},
    "Explain it in the docs, too.": {"content": "It is in the docs."},
}
"""What the model says to the last thing that it is told."""

call = asyncio.to_thread


class ManagedSessionRejection(Exception):  # noqa: N818  the name it has in the seed
    """The host's own guard: nobody aborts a session that another generation holds."""


class Gate(Protocol):
    """What stands between a list of messages and the model."""

    async def __call__(self, authority: Authority, acting: str) -> Sequence[Message]:
        """Return what the model is to see, or raise."""
        ...


class Host:
    """One session of a host that knows nothing of terms but what the ledger says."""

    def __init__(self, ledger: Ledger, session: OwnerRef) -> None:
        self.ledger = ledger
        self.session = session
        self.messages: list[Message] = [{"role": "system", "content": SYSTEM}]
        self.seen: list[Message] = []
        """All that any model ever saw."""
        self.tasks: dict[str, asyncio.Task[object]] = {}
        self.successor_works = asyncio.Event()
        self.tests_end = asyncio.Event()
        self.disk_is_full = False

    def agent(self, number: int) -> str:
        """Return the name of the session's manager of that term."""
        return f"manager/{self.session.owner_id}/{number}"

    def say(self, message_id: str, text: str, *, human: bool = False) -> None:
        """Put a request into the list; a person's is marked as one."""
        request = {"role": "user", "id": message_id, "content": text}
        self.messages.append({**request, "human": True} if human else request)

    async def ask_model(
        self, gate: Gate, authority: Authority, acting: str
    ) -> tuple[str, str] | None:
        """Call the model, by way of the gate; return the tool that it calls."""
        shown = await gate(authority, acting)
        self.seen += shown
        said = ANSWERS.get(shown[-1]["content"], {"content": "What is it?"})
        answer: Message = {"role": "assistant", "parent_id": acting}
        if "call" not in said:
            self.messages.append({**answer, **said})
            return None
        call_id, tool = said["call"]
        function = {"name": tool, "arguments": "{}"}
        calls = [{"id": call_id, "type": "function", "function": function}]
        self.messages.append({**answer, "content": None, "tool_calls": calls})
        return call_id, tool

    async def begin(
        self, authority: Authority, acting: str, wanted: tuple[str, str]
    ) -> ToolCall:
        """Put the dispatch of a tool on record."""
        return await call(self.ledger.begin_tool_call, authority, acting, *wanted, {})

    async def complete(
        self, authority: Authority, begun: ToolCall, result: str
    ) -> None:
        """Put a tool's result on record, and into the list."""
        await call(self.ledger.complete_tool_call, authority, begun, result)
        answer = {"role": "tool", "tool_call_id": begun.call_id, "content": result}
        self.messages.append(answer)

    def leave(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Leave something in the event loop that nobody waits for."""

        async def run() -> object:
            return await work()

        self.tasks[name] = asyncio.create_task(run(), name=name)

    async def stop(self, name: str) -> bool:
        """Cancel the task that works for a request; say whether there was one."""
        task = self.tasks.get(name)
        if task is None or task.done():
            return False
        if self.disk_is_full:
            msg = "no space left, at the line ManagedSessionRejection"
            raise OSError(ENOSPC, msg)
        task.cancel()
        await asyncio.wait([task])
        return True

    async def abort_session(self, generation: int) -> None:
        """Abort all that runs in the session, for one that holds it."""
        seen = await call(self.ledger.owner, self.session)
        if seen.generation != generation:
            msg = f"{self.session} is managed by generation {seen.generation}"
            raise ManagedSessionRejection(msg)
        await self.close()

    async def close(self) -> None:
        """Let nothing run on."""
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


class HostGuard:
    """The host's `SessionGuard`: it is asked in a thread of the gate's.

    What the host says by an exception of its own is translated here, by its type.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self.asked: list[str] = []
        """Each request that it was asked to stop, every time."""

    def interrupt(self, target: InterruptTarget) -> Interrupted | GuardRejected:
        """Ask the host, in its own event loop."""
        asking = asyncio.run_coroutine_threadsafe(self._interrupt(target), self._loop)
        return asking.result()

    async def _interrupt(self, target: InterruptTarget) -> Interrupted | GuardRejected:
        name = target.key.physical_user_message_id
        self.asked.append(name)
        if await self._host.stop(name):
            return Interrupted("its task is cancelled")
        try:
            # All that is left to try: to abort the session in the name of the old term.
            await self._host.abort_session(
                target.ended.generation if target.ended else 0
            )
        except ManagedSessionRejection as rejection:
            return GuardRejected("managed_session", str(rejection))
        return Interrupted("the session is aborted")
