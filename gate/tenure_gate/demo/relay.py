"""The scene of the relay: what each request gets from the gate, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tenure import (
    Authority,
    ChatExecutionKey,
    Execution,
    Ledger,
    NarrativeTransform,
    OwnerRef,
    RelayGateFailure,
    TermRetired,
    ToolCall,
)
from tenure_gate.demo.host import Host, HostGuard, Message, call
from tenure_gate.demo.lives import HANDOVER, first_manager, wake_second
from tenure_gate.demo.telling import Telling

__all__ = ["run"]

SESSION = OwnerRef("session", "ses_1")


def run(tell: Telling, ledger: Ledger) -> None:
    """Run the host, and tell what happens."""

    async def in_the_loop() -> None:
        await _Relay(tell, ledger).run()

    asyncio.run(in_the_loop())


class _Relay:
    """One run of the host, with the gate in front of its model."""

    def __init__(self, tell: Telling, ledger: Ledger) -> None:
        self.tell = tell
        self.ledger = ledger
        self.host = Host(ledger, SESSION)
        self.guard = HostGuard(self.host)
        self.transform = NarrativeTransform(ledger, self.guard)

    async def run(self) -> None:
        try:
            await first_manager(self.host, self.gate)
            await self._handed_over()
            two = await wake_second(self.host)
            begun = await self._first_call(two)
            await self._late_ones(two)
            await self._second_call(two, begun)
            await self._late_result()
            await self._what_waited(two)
        finally:
            await self.host.close()

    async def gate(self, authority: Authority, acting: str) -> Sequence[Message]:
        """Stand in front of every model call."""
        messages = [*self.host.messages]
        view = await call(
            self.transform.apply, SESSION, messages, authority=authority, acting=acting
        )
        return view.messages

    async def _handed_over(self) -> None:
        owner = await call(self.ledger.owner, SESSION)
        running = [name for name, task in self.host.tasks.items() if not task.done()]
        self.tell.title("A relay in a running event loop")
        self.tell.step(
            "manager 1",
            f"retires; {', '.join(running)} run on, {', '.join(owner.waiting)} waits",
            why="It worked on msg_1 and called run_tests (call_1), which still runs. A "
            "retry of its model call and a keep-alive probe wait in the event loop. "
            "msg_2 is what a person sent meanwhile.",
            holds=(owner.status, owner.waiting) == ("cut", ("msg_2",))
            and running == ["call_1", "retry_1", "probe_1"],
        )

    async def _first_call(self, two: Authority) -> ToolCall:
        relay = await self._known("relay_1")
        self.tell.step(
            "manager 2",
            f"is woken by relay_1, a {relay.origin}; generation {two.generation}",
            why="No person typed it, and it is not the first request of its session. "
            "By its looks it is a leftover.",
            holds=(two.generation, relay.generation, relay.human) == (2, 2, False),
        )
        expected = {"msg_1": "history", "msg_2": "queued", "relay_1": "successor"}
        await self._verdicts(two, "relay_1", expected)
        wanted = await self.host.ask_model(self.gate, two, "relay_1")
        assert wanted is not None  # noqa: S101  so this model speaks
        handover, notice = (str(one["content"]) for one in self.host.seen[-3:-1])
        self.tell.step(
            "the model sees",
            "the hand-over instead of msg_1, a notice, and relay_1",
            why="The notice says that msg_1 was not finished, and that nobody knows "
            "how its tool ended.",
            holds=handover.endswith(HANDOVER)
            and "message msg_1: started and not finished" in notice
            and "call call_1 of run_tests in message msg_1: it may" in notice
            and self.host.seen[-1]["id"] == "relay_1",
        )
        return await self.host.begin(two, "relay_1", wanted)

    async def _late_ones(self, two: Authority) -> None:
        self.tell.title("The late ones arrive")
        self.host.successor_works.set()
        refusal = await self.host.tasks["retry_1"]
        self.tell.step(
            "the retry calls",
            f"with what manager 1 had: {type(refusal).__name__}",
            why=str(refusal),
            holds=isinstance(refusal, TermRetired),
        )
        expected = {"retry_1": "stale_unadmitted", "probe_1": "stale_admitted"}
        await self._verdicts(two, "relay_1", expected)

    async def _second_call(self, two: Authority, begun: ToolCall) -> None:
        await self.host.complete(two, begun, "def parse(text): ...")
        before = len(self.host.seen)
        self.host.disk_is_full = True
        failure: RelayGateFailure | None = None
        try:
            await self.host.ask_model(self.gate, two, "relay_1")
        except RelayGateFailure as problem:
            failure = problem
        answers = await self._answers()
        self.tell.step(
            "the guard, retry_1",
            f"refuses: {answers['retry_1']}",
            why="It lets nobody abort a session in the name of a term that ended. That "
            "is its job, so it is tolerated: the leftover is out of the view already.",
            holds=answers["retry_1"] == "managed_session",
        )
        cause = type(failure.__cause__).__name__ if failure else "nothing"
        self.tell.step(
            "the guard, probe_1",
            f"raises {cause}: the model is not called",
            why="The disk is full. That its text quotes a rejection changes nothing: "
            "types and codes decide. The interrupt stays open.",
            holds=failure is not None
            and "ManagedSessionRejection" in str(failure)
            and answers["probe_1"] is None
            and len(self.host.seen) == before,
        )
        self.host.disk_is_full = False
        await self.host.ask_model(self.gate, two, "relay_1")
        answers = await self._answers()
        self.tell.step(
            "the gate again",
            f"probe_1 is {answers['probe_1']}; the model is called",
            why="The next call asks for the interrupt that is open, under the same "
            "id. Each leftover is stripped once and settled once.",
            holds=answers["probe_1"] == "interrupted"
            and self.host.tasks["probe_1"].cancelled()
            and self.guard.asked == ["retry_1", "probe_1", "probe_1"],
        )
        shown = {one["id"] for one in self.host.seen if "id" in one}
        self.tell.step(
            "the model saw",
            ", ".join(sorted(shown)),
            why="No leftover left a trace in what it was given.",
            holds=shown == {"msg_1", "relay_1"},
        )

    async def _late_result(self) -> None:
        self.host.tests_end.set()
        refusal = await self.host.tasks["call_1"]
        kept = refusal.late if isinstance(refusal, TermRetired) else None
        self.tell.step(
            "run_tests ends",
            f"{type(refusal).__name__}; the result is kept, at version {kept}",
            why="What became of a call is a fact, and is told to who works now. It is "
            "no act: manager 1 may do nothing with it.",
            holds=kept is not None,
        )

    async def _what_waited(self, two: Authority) -> None:
        ledger = self.ledger
        await call(ledger.settle, two, "relay_1", "completed")
        self.tell.title("The message that waited")
        await self._verdicts(two, "msg_2", {"msg_2": "successor"})
        await self.host.ask_model(self.gate, two, "msg_2")
        told = str(self.host.seen[-2]["content"])
        self.tell.step(
            "the model is told",
            told.removeprefix("- "),
            why="Once, in every view of the request that it was given to.",
            holds="call_1 of run_tests" in told and "its output is complete" in told,
        )
        await call(ledger.settle, two, "msg_2", "completed")
        await call(ledger.retire, two, "accepted")
        names = ("msg_1", "probe_1", "relay_1", "msg_2")
        ends = [(name, (await self._known(name)).outcome) for name in names]
        self.tell.step(
            "the ends",
            ", ".join(f"{name} {outcome}" for name, outcome in ends),
            why="Nothing that a person said has vanished, and nobody died.",
            holds=[outcome for _, outcome in ends]
            == ["retired", "stripped", "completed", "completed"],
        )

    async def _verdicts(
        self, two: Authority, acting: str, expected: dict[str, str]
    ) -> None:
        """Tell what the gate says of requests, before anything is written."""
        view = await call(
            self.transform.apply,
            SESSION,
            [*self.host.messages],
            authority=two,
            acting=acting,
            record=False,
        )
        found = {verdict.key: verdict for verdict in view.verdicts}
        for key, name in expected.items():
            verdict = found[key]
            self.tell.step(
                key, verdict.name, why=verdict.explain(), holds=verdict.name == name
            )

    async def _answers(self) -> dict[str, object]:
        """Return how the interrupt of each leftover was settled; None: not yet."""
        rows = await call(lambda: [*self.ledger.rows("interrupts", SESSION)])
        return {str(row["physical_user_message_id"]): row["outcome"] for row in rows}

    async def _known(self, name: str) -> Execution:
        key = ChatExecutionKey(SESSION.owner_id, name)
        known = await call(self.ledger.execution, key)
        if known is None:
            msg = f"the ledger does not know {name}"
            raise LookupError(msg)
        return known
