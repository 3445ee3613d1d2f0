"""Every method that writes, each with what it needs, asked under one command id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

from scenes import SESSION, TWO, WRITES
from tenure import (
    Approval,
    Authority,
    Evidence,
    First,
    Ledger,
    ToolCall,
    arguments_digest,
)
from tenure_ledger import events as e
from tenure_ledger.decisions.recovering.command import Answers
from tenure_ledger.methods.recovering import Settlement
from worlds import World

__all__ = ["ASKS", "Ask", "essence", "under"]


class Under:
    """A ledger whose every method is called under one command id."""

    def __init__(self, ledger: Ledger, command_id: str) -> None:
        self._ledger = ledger
        self._command_id = command_id

    def __getattr__(self, name: str) -> Callable[..., object]:
        return partial(getattr(self._ledger, name), command_id=self._command_id)


def under(ledger: Ledger, command_id: str) -> Ledger:
    """Return the ledger with each of its methods called under this id."""
    return cast("Ledger", Under(ledger, command_id))


def essence(outcome: object) -> object:
    """Return what of an outcome never changes: a call and a request move on."""
    match outcome:
        case ToolCall():
            return outcome.idempotency_key
        case Approval():
            return outcome.request_id
        case Settlement():
            return outcome.outcome
        case _:
            return outcome


Ask = Callable[[Ledger], object]
Prepare = Callable[[World, Authority], Ask]


def claim(world: World, held: Authority) -> Ask:
    """Let the session end, so that it can be claimed."""
    world.ledger.terminate(held, "done", "ok")
    return lambda on: on.claim(SESSION, TWO, "host")


def succeed(world: World, held: Authority) -> Ask:
    """Let the term end, so that it can be succeeded."""
    world.ledger.retire(held, "continue")
    return lambda on: on.succeed(SESSION, TWO, "host")


def take_over(world: World, _: Authority) -> Ask:
    """Look at the holder."""
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    return lambda on: on.take_over(SESSION, TWO, "host", evidence)


def decide_approval(world: World, held: Authority) -> Ask:
    """Ask a person."""
    digest = arguments_digest({})
    asked = world.ledger.request_approval(held, "c9", "mail", digest, "policy 1")
    return lambda on: on.decide_approval(SESSION, asked.request_id, "denied", "ann")


def close_approval(world: World, held: Authority) -> Ask:
    """Ask a person, who does not answer."""
    digest = arguments_digest({})
    asked = world.ledger.request_approval(held, "c9", "mail", digest, "policy 1")
    return lambda on: on.close_approval(held, asked.request_id)


def late_result(world: World, held: Authority) -> Ask:
    """End the term that the result is about."""
    world.ledger.retire(held, "continue")
    return lambda on: on.late_result(SESSION, "watcher", "m1", "done")


def settle_interrupt(world: World, _: Authority) -> Ask:
    """Strip a leftover, as the gate does."""
    stripped = e.StaleRequestStripped(
        author="gate",
        generation=1,
        key="ghost",
        verdict="stale_unadmitted",
        cut=1,
        interrupt_id="i1",
    )
    world.append(SESSION, stripped)
    return lambda on: on.settle_interrupt(SESSION, "i1", "given up", "ann")


def strip_requests(world: World, held: Authority) -> Ask:
    """Begin the next term, after a cut."""
    cut = world.ledger.retire(held, "continue")
    world.ledger.succeed(SESSION, TWO, "host")
    version = world.ledger.owner(SESSION).version
    strips: list[tuple[str, e.StripVerdict, int]] = [("ghost", "stale_unadmitted", cut)]
    return lambda on: on.strip_requests(SESSION, strips, "gate", version)


def deliver_notices(world: World, held: Authority) -> Ask:
    """Let a late result wait to be told."""
    world.ledger.begin_tool_call(held, "m1", "c9", "mail", {})
    world.ledger.retire(held, "continue")
    now = world.ledger.succeed(SESSION, TWO, "host", first=First("m9", "human"))
    world.ledger.late_result(SESSION, "watcher", ("m1", "c9"), "sent")
    return lambda on: on.deliver_notices(now, "m9")


def resolve_quarantine(world: World, _: Authority) -> Ask:
    """Let two events contradict each other."""
    rival = e.OwnershipClaimed(author="import", generation=1, agent_id="rival")
    world.append(SESSION, rival)
    return lambda on: on.resolve_quarantine(SESSION, 1, "ann")


def settle_recovery(world: World, _: Authority) -> Ask:
    """Look at what a process left that is gone."""
    seen = world.ledger.fresh_state(SESSION)
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    return lambda on: on.settle_recovery(seen, evidence, Answers(), "recovery")


def reap_owner(world: World, held: Authority) -> Ask:
    """Let a lease run out."""
    world.ledger.advance(held, "lease_renewal", lease_seconds=60)
    world.pass_seconds(60)
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    return lambda on: on.reap_owner(SESSION, evidence, "reaper")


def fenced(write: Callable[[Ledger, Authority], object]) -> Prepare:
    """Return the preparation of a write that needs the authority alone."""
    return lambda _, held: lambda on: write(on, held)


ASKS: Mapping[str, Prepare] = {
    "claim": claim,
    "succeed": succeed,
    "take_over": take_over,
    "decide_approval": decide_approval,
    "late_result": late_result,
    "settle_interrupt": settle_interrupt,
    "strip_requests": strip_requests,
    "deliver_notices": deliver_notices,
    "resolve_quarantine": resolve_quarantine,
    "settle_recovery": settle_recovery,
    "reap_owner": reap_owner,
    "accept": fenced(lambda on, _: on.accept(SESSION, "m9", "host")),
    "bar_replay": fenced(lambda on, _: on.bar_replay(SESSION, "model_switch", "ann")),
    "delete_conversation": fenced(lambda on, _: on.delete_conversation(SESSION, "ann")),
    **{name: fenced(write) for name, write in WRITES.items()},
    "close_approval": close_approval,
}
"""By name: what prepares the live scene of the session, and returns the call."""
