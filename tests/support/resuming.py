"""Work that was broken off and is resumed: by `recover`, in the next process."""

from __future__ import annotations

from tenure import (
    Authority,
    First,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    ResumePlan,
    arguments_digest,
    recover,
)
from tenure_gate.recovery.steps import Step
from worlds import World

__all__ = [
    "ARGUMENTS",
    "GONE",
    "S",
    "ask",
    "begun",
    "only",
    "plan",
    "resumed",
]

S = OwnerRef("session", "ses_1")
ARGUMENTS = {"path": "a.txt"}
GONE = RecoveryEnvironment(holder=lambda _owner, _process: "gone")


def begun(world: World, key: str = "m1", owner: OwnerRef = S) -> Authority:
    """Begin a term with one execution that runs."""
    held = world.ledger.claim(owner, "t1", "host", first=First(key, "human"))
    world.ledger.start(held, key)
    return held


def ask(world: World, held: Authority, call: str, timeout: float | None = None) -> str:
    """Intend a call and ask a person about it; return the request id."""
    ledger = world.ledger
    ledger.intend_tool_call(held, "m1", call, "write", ARGUMENTS)
    digest = arguments_digest(ARGUMENTS)
    request = ledger.request_approval(held, call, "write", digest, "policy 1", timeout)
    return request.request_id


def resumed(world: World, process: str = "p2") -> Resumed:
    """Recover the session in another process; it must come back."""
    report = recover(world.open(process), GONE, only=[S])
    assert report.failed == ()
    (one,) = report.results
    assert isinstance(one, Resumed)
    return one


def plan(world: World) -> ResumePlan:
    """Return the plan with which the session comes back."""
    return resumed(world).plan


def only(plan: ResumePlan, *kinds: type[Step]) -> list[Step]:
    """Return the plan's steps of these kinds."""
    return [step for step in plan.steps if isinstance(step, kinds)]
