"""A host whose history, queue and tools are files, and which can be killed anywhere.

``serve`` runs in a process of its own and forks one child for each line that it hears,
so that a trial costs no start of an interpreter.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenure import (
    Authority,
    AwaitApproval,
    Compact,
    First,
    GoOn,
    Json,
    KeepOutput,
    Ledger,
    OwnerRef,
    QueueSubmission,
    RecoveryEnvironment,
    Rewritten,
    RunCall,
    RunJob,
    RuntimeRestartReactionLoopState,
    TellCall,
    Unstarted,
    arguments_digest,
    execute_plan,
    open_ledger,
    recover,
)

__all__ = ["GONE", "FileHost", "S", "lines", "prepare", "resume", "serve"]

S = OwnerRef("session", "ses_1")
GONE = RecoveryEnvironment(holder=lambda _owner, _process: "gone")
WRITES = (
    "begin_tool_call",
    "complete_tool_call",
    "close_approval",
    "history_rewritten",
    "admit",
    "mark_output_started",
    "settle",
    "clear_checkpoint",
)


def lines(folder: Path, name: str) -> list[Any]:
    """Return what is in one of the host's files."""
    path = folder / name
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


class Points:
    """Counts the points that are passed, and kills the process at one of them."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.passed = 0

    def __call__(self) -> None:
        """Pass a point, or die there."""
        self.passed += 1
        if self.passed == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, method: Callable[..., object]) -> Callable[..., object]:
        """Return the method with a point before and after it."""

        def called(*args: object, **options: object) -> object:
            self()
            result = method(*args, **options)
            self()
            return result

        return called


class FileHost:
    """The port of the executor, on files in a folder."""

    def __init__(
        self, ledger: Ledger, held: Authority, folder: Path, at: Points
    ) -> None:
        self.ledger = ledger
        self.held = held
        self.folder = folder
        self.at = at

    def _put(self, name: str, line: dict[str, Any]) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _history(self, call: str, what: Json) -> None:
        self.at()
        known = {line["call"] for line in lines(self.folder, "history")}
        if call not in known:
            self._put("history", {"call": call, "what": what})
        self.at()

    async def keep(self, step: KeepOutput | RunCall, output: Json) -> None:
        """Write the result down, once."""
        self._history(step.call_id, {"kept": output})

    async def tell(self, step: TellCall) -> None:
        """Write down what is known, once."""
        self._history(step.call_id, step.what)

    async def allowed(self, step: RunCall) -> bool:
        """Let everything run but what the model was told not to."""
        return step.tool != "forbidden"

    async def run_tool(
        self, step: RunCall, arguments: Json, idempotency_key: str
    ) -> Json:
        """Act on the world, which remembers each act."""
        self.at()
        self._put("world", {"call": step.call_id, "key": idempotency_key})
        self.at()
        return {"ran": arguments}

    async def answered(self, step: AwaitApproval) -> None:
        """Be a person who says yes."""
        self.at()
        self.ledger.decide_approval(S, step.request_id, "approved", "ann")

    async def compact(self, step: Compact) -> Rewritten:
        """Compact."""
        self.at()
        self._put("compactions", {"pending": step.pending})
        return Rewritten("m1")

    async def queue(self, step: QueueSubmission | Unstarted) -> None:
        """Fill the queue, each message once."""
        self.at()
        known = {line["key"] for line in lines(self.folder, "queue")}
        keys = (
            step.keys if isinstance(step, Unstarted) else (step.submission.message_id,)
        )
        for key in keys:
            if key not in known:
                self._put("queue", {"key": key})
        self.at()

    async def run_job(self, step: RunJob) -> None:
        """Run no job."""
        raise AssertionError(step)

    async def go_on(self, step: GoOn) -> None:
        """Answer, and be done."""
        (key,) = step.keys
        self.ledger.mark_output_started(self.held, key)
        self._put("reply", {"to": key, "loop": step.loop is not None})
        self.ledger.settle(self.held, key, "completed")
        self.ledger.clear_checkpoint(self.held)


def prepare(url: str) -> None:
    """Break off with a call in each state, a compaction, a queue behind."""
    with open_ledger(url) as ledger:
        held = ledger.claim(S, "t1", "host", first=First("m1", "human"))
        ledger.start(held, "m1")
        ledger.accept(S, "m2", "inbox", "bob", human=True)
        for call in ("held back", "recorded", "lost"):
            ledger.begin_tool_call(held, "m1", call, "write", {"n": call})
        for call in ("approved", "open", "denied"):
            ledger.intend_tool_call(held, "m1", call, "write", {"n": call})
            digest = arguments_digest({"n": call})
            asked = ledger.request_approval(held, call, "write", digest, "p1", 600)
            if call != "open":
                decision: Any = call
                ledger.decide_approval(S, asked.request_id, decision, "ann")
        pending: list[Any] = ["recorded", "lost", "approved", "open", "denied"]
        pending.append({"call_id": "new", "tool": "write", "arguments": {"n": "new"}})
        pending.append({"call_id": "no", "tool": "forbidden", "arguments": {}})
        payload = RuntimeRestartReactionLoopState(
            consecutive_batches=1,
            pending_compact={"floor": "m1"},
            pending_tool_calls=pending,
            completed_unpersisted_tool_outputs=[
                {"call_id": "held back", "output": {"ran": {"n": "held back"}}}
            ],
        )
        ledger.save_checkpoint(held, payload, keys=["m1"])
        ledger.complete_tool_call(held, ("m1", "recorded"), {"ran": {"n": "recorded"}})


def resume(folder: Path, url: str, kill_at: int = 0) -> int:
    """Recover and carry the plan out; return how many points were passed."""
    at = Points(kill_at)
    with open_ledger(url) as ledger:
        at()
        for one in recover(ledger, GONE).resumed:
            for name in WRITES:
                setattr(ledger, name, at.around(getattr(ledger, name)))
            at()
            host = FileHost(ledger, one.authority, folder, at)
            asyncio.run(execute_plan(ledger, one.authority, one.plan, host))
    return at.passed


def serve() -> None:
    """Fork a child for each line ``what folder url kill_at``; say how it ended."""
    for line in sys.stdin:
        what, folder, url, kill_at = line.split()
        child = os.fork()
        if not child:
            _child(what, Path(folder), url, int(kill_at))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _child(what: str, folder: Path, url: str, kill_at: int) -> None:
    code = 1
    try:
        if what == "prepare":
            prepare(url)
        else:
            resume(folder, url, kill_at)
        code = 0
    finally:
        os._exit(code)
