"""The same relay by the rule of flags: what a request looks like decides.

It is the rule of seed 003 section 2.1, and dies as that section tells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tenure import Authority, ChatExecutionKey, Ledger, OwnerRef
from tenure_gate.demo.host import Host, ManagedSessionRejection, Message, call
from tenure_gate.demo.lives import first_manager, wake_second
from tenure_gate.demo.telling import Telling

__all__ = ["run"]

SESSION = OwnerRef("session", "ses_2")


def run(tell: Telling, ledger: Ledger) -> None:
    """Run the host with that rule, and tell how it ends."""
    host = Host(ledger, SESSION)
    death: RuntimeError | None = None
    try:
        asyncio.run(_until_it_dies(host))
    except RuntimeError as problem:
        death = problem
    tell.title("The same relay, by flags instead of the ledger")
    tell.step(
        "relay_1",
        "freshRoot no, gatePhysical no, acceptedHuman no",
        why="It came after the cut, and no flag lets it pass: a leftover, then. The "
        "rule strips the successor's own first request and aborts the session, and the "
        "guard rightly refuses. The exception ends the process:",
        holds=death is not None,
    )
    tell.quote(str(death))
    relay = ledger.execution(ChatExecutionKey(SESSION.owner_id, "relay_1"))
    waiting = ledger.owner(SESSION).waiting
    tell.step(
        "what is left",
        f"relay_1 was never started; {', '.join(waiting)} waits in vain",
        why="The demonstration goes on because it catches what killed this host.",
        holds=relay is not None and not relay.started and waiting == ("msg_2",),
    )


async def _until_it_dies(host: Host) -> None:
    rule = FlagRule(host)
    try:
        rule.retired = await first_manager(host, rule)
        rule.cut_at = len(host.messages)
        two = await wake_second(host)
        await host.ask_model(rule, two, "relay_1")
    finally:
        await host.close()


class FlagRule:
    """Takes for a leftover what came after the cut and looks like no legitimate one."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.retired: Authority | None = None
        self.cut_at = 0

    async def __call__(self, authority: Authority, acting: str) -> Sequence[Message]:
        """Return the list without what looks like a leftover."""
        if self.retired is None:
            await call(self.host.ledger.start, authority, acting)
            return [*self.host.messages]
        kept = self.host.messages[: self.cut_at]
        for message in self.host.messages[self.cut_at :]:
            if message["role"] != "user" or self._looks_legitimate(message):
                kept.append(message)
            else:
                await self._continue_after_retired_attempt(self.retired)
        return kept

    def _looks_legitimate(self, message: Message) -> bool:
        fresh_root = self.cut_at == 0
        gate_physical = message.get("echo") is True
        accepted_human = message.get("human") is True
        return fresh_root or gate_physical or accepted_human

    async def _continue_after_retired_attempt(self, retired: Authority) -> None:
        try:
            await self.host.abort_session(retired.generation)
        except ManagedSessionRejection as rejection:
            name = type(rejection).__name__
            msg = f"RelayLifecycleGate: retired attempt interrupt failed: {name}"
            raise RuntimeError(msg) from rejection
