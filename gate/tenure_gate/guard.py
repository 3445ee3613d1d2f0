"""The host's side of a clean-up: what it is asked, and what its answer means.

Codes and types decide, never the text of a message (design section 6). An answer is
returned; whatever is raised is a failure.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import NamedTuple, Protocol

from tenure_gate.refusals import RelayGateFailure
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import ChatExecutionKey, OwnerRef, kind_of

__all__ = [
    "TOLERATED",
    "GuardRejected",
    "HoldingRef",
    "InterruptTarget",
    "Interrupted",
    "SessionGuard",
    "SessionWideGuard",
    "check_guard",
    "failure",
    "outcome_of",
]

TOLERATED: frozenset[str] = frozenset(
    {
        "managed_session",
        "root_session_protected",
        "no_active_execution",
        "different_generation_active",
        "session_closed",
    }
)
"""The codes by which a guard does its job: the leftover is out, the view goes on."""


class HoldingRef(NamedTuple):
    """Names one holding. It proves nothing and gives nothing: it is no authority."""

    generation: int
    incarnation: str
    agent_id: str | None


class InterruptTarget(NamedTuple):
    """What is to be stopped: one execution of one ended holding, never a session."""

    interrupt_id: str
    """The same at every try: a host that stopped it already need do nothing."""
    owner: OwnerRef
    key: ChatExecutionKey
    ended: HoldingRef | None
    """The holding that the request was admitted to; None: it was never admitted."""
    live: HoldingRef
    """The holding that must not be touched."""


class Interrupted(NamedTuple):
    """The host stopped it, or sees to it that it stops."""

    detail: str = ""


class GuardRejected(NamedTuple):
    """The host would not: ``code`` says why, `TOLERATED` lists the safe ones."""

    code: str
    detail: str = ""


class SessionGuard(Protocol):
    """The host's own protection of a session."""

    def interrupt(self, target: InterruptTarget, /) -> Interrupted | GuardRejected:
        """Stop the target, at least once asked, and answer; raise only if broken."""
        ...


class SessionWideGuard:
    """For a host that can only stop a whole session.

    A session-wide stop kills the successor, so ``abort`` (it takes the owner) is called
    only where the live holding is the very one that is to be stopped.
    """

    def __init__(self, abort: Callable[[OwnerRef], object]) -> None:
        if not callable(abort):
            msg = f"abort must be callable, not {type(abort).__name__}"
            raise InvalidInput(msg)
        if inspect.iscoroutinefunction(abort):
            msg = "abort must be a plain function: this form of the gate is synchronous"
            raise TypeError(msg)
        self._abort = abort

    def interrupt(self, target: InterruptTarget) -> Interrupted | GuardRejected:
        """Answer for the session; never stop a newer holding."""
        if target.ended is None or target.ended.incarnation != target.live.incarnation:
            return GuardRejected("different_generation_active")
        answer = self._abort(target.owner)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            msg = "abort returned something to await: nothing was stopped by it"
            raise TypeError(msg)
        return Interrupted()


def check_guard(guard: object) -> None:
    """Raise `InvalidInput`, or TypeError for an asynchronous guard."""
    interrupt = getattr(guard, "interrupt", None)
    if inspect.isclass(guard):
        msg = f"guard must be an object, not the class {guard.__name__}: make one"
        raise InvalidInput(msg)
    if not callable(interrupt):
        msg = f"guard must have a method interrupt, {type(guard).__name__} has none"
        raise InvalidInput(msg)
    if inspect.iscoroutinefunction(interrupt):
        msg = "guard.interrupt must be a plain method: this gate is synchronous"
        raise TypeError(msg)


def outcome_of(target: InterruptTarget, answer: object) -> str:
    """Return how the interrupt is to be settled: ``interrupted``, or a tolerated code.

    Raises `RelayGateFailure` for every other answer.
    """
    if isinstance(answer, Interrupted):
        return "interrupted"
    if isinstance(answer, GuardRejected):
        code: object = answer.code
        if isinstance(code, str) and code in TOLERATED:
            return code
        shown = repr(code) if isinstance(code, str) else f"of type {kind_of(code)}"
        raise failure(target, f"it rejected with the unknown code {shown}")
    if inspect.iscoroutine(answer):
        answer.close()
    kind = type(answer).__name__
    raise failure(target, f"it answered with {kind}, not Interrupted or GuardRejected")


def failure(target: InterruptTarget, what: str) -> RelayGateFailure:
    """Return what is raised where the guard did ``what`` instead of answering."""
    return RelayGateFailure(
        f"the guard was asked to stop message {target.key.physical_user_message_id} of "
        f"{target.owner} (interrupt {target.interrupt_id}) and {what}: do not call the "
        "model; mend the guard and apply again, or give the interrupt up by "
        "settle_interrupt",
        owner=target.owner,
        interrupt_id=target.interrupt_id,
        key=target.key.physical_user_message_id,
    )
