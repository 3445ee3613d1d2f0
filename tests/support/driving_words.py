"""What a step says and what is remembered of it; the names of the cases reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from tenure import Authority, Event, OwnerRef
from tenure_ledger import events as e

__all__ = ["Asked", "Chooser", "Kept", "Said", "case_names"]

T = TypeVar("T")


class Chooser(Protocol):
    """Where choices come from: Hypothesis, or a seeded generator."""

    def __call__(self, options: Sequence[T], /) -> T:
        """Choose one."""
        ...


class Said(NamedTuple):
    """One call, as a command id remembers it."""

    method: str
    arguments: tuple[object, ...]
    options: dict[str, object]

    def digest(self) -> tuple[object, ...]:
        """Return what makes it the same command: a renewed authority is the same."""
        found = [
            (a.owner, a.incarnation) if isinstance(a, Authority) else a
            for a in self.arguments
        ]
        return self.method, *found, *sorted(self.options.items())


class Asked(NamedTuple):
    """The call before, and what came of it."""

    said: Said
    process: int
    command_id: str | None
    outcome: object


class Kept(NamedTuple):
    """What a command id answered first."""

    said: Said
    outcome: object
    process: str


def case_names(event: Event) -> list[str]:
    """Return the names of the cases that the event shows."""
    found = [event.topic.removesuffix(".v1")]
    match event:
        case e.GenerationAdvanced():
            found.append(event.reason)
        case e.CheckpointCleared(reason="term_ended"):
            found.append("checkpoint cleared by its end")
        case e.RetirementCut() | e.ExecutionSettled() | e.ToolCallClosed():
            found.append(event.outcome)
        case e.ApprovalClosed():
            found.append(f"approval {event.reason}")
        case e.ExecutionAdmitted(carried_from=int()):
            found.append("carried queue" if event.absorbed else "carried")
        case e.ReplayBarred(above=OwnerRef()):
            found.append("bar on a descendant")
        case e.AuthorityRevoked(ends_holding=True):
            found.append("thing revoked")
        case e.NoticeIssued(event_type="instance_restart"):
            found.append("restart notice")
        case _:
            pass
    return found
