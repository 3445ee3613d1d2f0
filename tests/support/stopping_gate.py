"""A process that projects a list and stops in the middle of it, to be killed there."""

from __future__ import annotations

from pathlib import Path

from gates import Message, S, user
from stopping import open_stopping, stop
from tenure import (
    Authority,
    First,
    GuardRejected,
    Interrupted,
    InterruptTarget,
    Ledger,
    NarrativeTransform,
)

__all__ = ["LIST", "POINTS", "prepare", "project"]

LIST: list[Message] = [user("m1"), user("m2"), user("retry"), user("ghost"), user("m3")]
"""A retry that the first term admitted, and what nobody did; ``m3`` is served."""

POINTS = {
    "strip": (
        "before BEGIN",
        "after BEGIN",
        "between two events",
        "before COMMIT",
        "after COMMIT, before the answer",
    ),
    "asked": ("",),
    "settle": ("before BEGIN", "before COMMIT", "after COMMIT, before the answer"),
    "start": ("before BEGIN", "before COMMIT", "after COMMIT, before the answer"),
    "deliver": ("before BEGIN", "before COMMIT", "after COMMIT, before the answer"),
}
"""What the gate is about to write, and where in its transaction it stops."""


def prepare(path: Path) -> Authority:
    """Two terms; the first one broke off in ``m2`` and left a retry."""
    ledger, _ = open_stopping(path)
    with ledger:
        one = ledger.claim(S, "manager/1", "host", first=First("m1", "human"))
        ledger.start(one, "m1")
        ledger.settle(one, "m1", "completed")
        ledger.admit(one, "m2", "human")
        ledger.start(one, "m2")
        ledger.admit(one, "retry", "assistant_run")
        ledger.retire(one, "accepted")
        first = First("m3", "continue_relay")
        return ledger.succeed(S, "manager/2", "host", first=first)


class Stopping:
    """A guard that can stop before it answers, or in what is written after it."""

    def __init__(self) -> None:
        self.before_answer = False
        self.asked: list[str] = []

    def interrupt(self, target: InterruptTarget) -> Interrupted | GuardRejected:
        """Say what was asked; stop, or answer."""
        self.asked.append(target.interrupt_id)
        if self.before_answer:
            stop(f"asked {target.interrupt_id}")
        return Interrupted()


def project(path: str, what: str, point: str, authority: str) -> None:
    """Project `LIST` in the ledger at ``path`` and stop in what the gate writes."""
    ledger, store = open_stopping(path)
    ledger.head()
    guard = Stopping()
    guard.before_answer = what == "asked"
    method = {
        "strip": "strip_requests",
        "asked": "",
        "settle": "settle_interrupt",
        "start": "start",
        "deliver": "deliver_notices",
    }[what]
    if method:
        _arm_in(ledger, method, lambda: store.arm(point))
    held = Authority.from_json(authority)
    NarrativeTransform(ledger, guard, guard_timeout_seconds=600).apply(
        S, LIST, authority=held
    )
    stop("nowhere")


def _arm_in(ledger: Ledger, method: str, arm: object) -> None:
    """Arm the store when the gate calls this method, the first time or a later one."""
    call = getattr(ledger, method)

    def armed(*given: object, **named: object) -> object:
        assert callable(arm)
        arm()
        return call(*given, **named)

    setattr(ledger, method, armed)
