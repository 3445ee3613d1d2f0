"""What the managers do: the first one's life and what it leaves, the second's start."""

from __future__ import annotations

import asyncio

from tenure import Authority, First, TermRetired
from tenure_gate.demo.host import Gate, Host, call

__all__ = ["HANDOVER", "first_manager", "wake_second"]

HANDOVER = "Done: A, the parser is faster; its tests still run. Next: B."


async def first_manager(host: Host, gate: Gate) -> Authority:
    """Live the first term, and leave three things in the event loop."""
    ledger, session = host.ledger, host.session
    first = First("msg_1", "human")
    one = await call(ledger.claim, session, host.agent(1), "host", first=first)
    host.say("msg_1", "Make the parser faster.", human=True)
    wanted = await host.ask_model(gate, one, "msg_1")
    assert wanted is not None  # noqa: S101  so this model speaks
    tests = await host.begin(one, "msg_1", wanted)

    async def run_tests() -> object:
        await host.tests_end.wait()
        try:
            await host.complete(one, tests, "212 passed")
        except TermRetired as refusal:
            return refusal
        return None

    async def retry() -> object:
        await host.successor_works.wait()
        host.say("retry_1", "Make the parser faster.")
        try:
            return await host.ask_model(gate, one, "retry_1")
        except TermRetired as refusal:
            return refusal

    async def keep_alive() -> object:
        await host.successor_works.wait()
        host.say("probe_1", "Are the tools still there?")
        return await asyncio.get_running_loop().create_future()  # nobody answers

    host.leave("call_1", run_tests)
    host.leave("retry_1", retry)
    await call(ledger.admit, one, "probe_1", "tool_probe")
    host.leave("probe_1", keep_alive)
    # A person writes while the tests run: it waits its turn.
    await call(ledger.accept, session, "msg_2", "inbox", human=True)
    host.say("msg_2", "Explain it in the docs, too.", human=True)
    await call(ledger.retire, one, "continue", handover=HANDOVER)
    return one


async def wake_second(host: Host) -> Authority:
    """Begin the second term as a scheduler does: no person is there to type."""
    first = First("relay_1", "continue_relay")
    ledger, session = host.ledger, host.session
    two = await call(ledger.succeed, session, host.agent(2), "host", first=first)
    host.say("relay_1", "Go on.")
    return two
