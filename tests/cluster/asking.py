"""Send a command as a careful host does, and tell what came of it.

A refusal ends it, and so does a fault that says that nothing was written. If the
outcome is unknown it is asked for again under the same command id, until there is an
answer; or, where a process gives up, never, so that the check can see what became of
it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from threading import Event
from time import monotonic
from typing import TypeVar

from telling import Teller
from tenure import Authority, Fault, OutcomeUnknown, OwnerRef, Refused
from waiting import until

__all__ = ["Asking", "Stopped"]

T = TypeVar("T", int, Authority)


class Stopped(Exception):  # noqa: N818  what happened
    """The run is over."""


class Asking:
    """One process's commands."""

    def __init__(self, teller: Teller, over: Event, *, gives_up: bool) -> None:
        self.teller = teller
        self.chance = Random(teller.who)  # noqa: S311  a run that can be repeated
        self._over = over
        self._gives_up = gives_up
        self._count = 0

    def __call__(
        self, kind: str, owner: OwnerRef, command: Callable[[str], T]
    ) -> T | None:
        """Return the answer; None: it was refused, not written, or given up."""
        self._count += 1
        command_id = f"{self.teller.who}/{self._count}"
        told = (command_id, owner.stream)
        self.teller.say("sent", *told, kind)
        doubtful = False
        while True:
            try:
                answer = command(command_id)
            except Refused as refused:
                self.teller.say("refused", *told, refused.code)
                return None
            except OutcomeUnknown:
                self.teller.say("unknown", *told)
                doubtful = True
                if self._gives_up:
                    self.teller.say("given_up", *told)
                    return None
            except Fault as fault:
                # What this call says is of this call alone.
                if not doubtful:
                    why = " ".join(f"{type(fault).__name__}: {fault}"[:240].split())
                    self.teller.say("failed", *told, why)
                    return None
            else:
                what = str(answer)
                if isinstance(answer, Authority):
                    what = answer.incarnation
                self.teller.say("acknowledged", *told, what)
                return answer

    def pause(self, seconds: float) -> None:
        """Wait, as a host does between two things. Raises Stopped."""
        end = monotonic() + seconds
        until(lambda: monotonic() >= end or self._over.is_set())
        if self._over.is_set():
            raise Stopped
