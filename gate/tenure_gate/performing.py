"""Performs the steps of one call with a synchronous ledger and guard."""

from __future__ import annotations

import logging
from time import monotonic
from typing import TypeVar

from tenure_gate.asking import ask
from tenure_gate.guard import InterruptTarget, SessionGuard
from tenure_gate.steps import (
    Accept,
    Admit,
    Ask,
    Deliver,
    GiveVerdicts,
    Look,
    ReadBody,
    Settle,
    Start,
    Step,
    Steps,
    Strip,
)
from tenure_ledger.errors import Contended, Fault, Refused
from tenure_ledger.ledger import Ledger
from tenure_ledger.values import OwnerRef

__all__ = ["Performer"]

AUTHOR = "gate"
_log = logging.getLogger("tenure.gate")
_Result = TypeVar("_Result")


class Performer:
    """Performs the steps of one call, until the ledger's deadline."""

    def __init__(
        self, ledger: Ledger, guard: SessionGuard, guard_timeout_seconds: float
    ) -> None:
        self._ledger = ledger
        self._guard = guard
        self._guard_timeout_seconds = guard_timeout_seconds
        self._until = monotonic() + ledger.deadline_seconds
        self._looked = False

    def run(self, steps: Steps[_Result]) -> _Result:
        """Perform every step, and return the result."""
        try:
            step = next(steps)
            while True:
                try:
                    came: object = self._perform(step)
                except (Refused, Fault) as problem:
                    step = steps.throw(problem)
                else:
                    step = steps.send(came)
        except StopIteration as end:
            result: _Result = end.value
            return result

    def _perform(self, step: Step) -> object:  # noqa: C901  a case for each kind
        ledger = self._ledger
        match step:
            case Look(owner):
                self._check_time(owner)
                return ledger.fresh_state(owner)
            case ReadBody(owner, digest):
                return ledger.body(owner, digest)
            case Accept(owner, key):
                return ledger.accept(owner, key, AUTHOR, human=True)
            case Admit(authority, key, origin):
                return ledger.admit(authority, key, origin)
            case Strip(owner, strips, version):
                return ledger.strip_requests(owner, strips, AUTHOR, version)
            case Ask(target):
                return self._ask(target)
            case Settle(target, outcome):
                owner, name = target.owner, target.interrupt_id
                ledger.settle_interrupt(owner, name, outcome, AUTHOR)
                key = target.key.physical_user_message_id
                _log.info("%s: leftover %s is out: %s", owner, key, outcome)
                return None
            case Start(authority, key):
                return ledger.start(authority, key)
            case Deliver(by, key):
                return ledger.deliver_notices(by, key, AUTHOR)
            case GiveVerdicts(authority, verdicts):
                return ledger.record_verdicts(authority, verdicts)

    def _check_time(self, owner: OwnerRef) -> None:
        """Raise `Contended` where there is no time left to look again."""
        if self._looked and monotonic() >= self._until:
            msg = (
                f"others kept writing to {owner} until the deadline; what was stripped "
                "and settled so far is on record: apply again"
            )
            raise Contended(msg)
        self._looked = True

    def _ask(self, target: InterruptTarget) -> str:
        began = monotonic()
        try:
            return ask(self._guard, target, self._guard_timeout_seconds)
        finally:
            # The deadline is for other writers, not for the host.
            self._until += monotonic() - began
