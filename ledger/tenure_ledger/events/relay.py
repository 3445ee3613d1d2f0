"""The relay: cuts, messages and executions, strips, rewritten histories."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tenure_ledger.events.envelope import Digest, Event, Id, Version
from tenure_ledger.values import Boundary, Origin

__all__ = [
    "CutOutcome",
    "ExecutionAdmitted",
    "ExecutionSettled",
    "ExecutionStarted",
    "HistoryRewritten",
    "InterruptSettled",
    "RelayEvent",
    "RetirementCut",
    "SettleOutcome",
    "StaleRequestStripped",
    "StripVerdict",
    "SubmissionAccepted",
]

CutOutcome = Literal["accepted", "continue", "forced"]
SettleOutcome = Literal[
    "completed",
    "failed",
    "cancelled",
    "retired",
    "stripped",
    "closed_in_recovery",
    "outcome_unknown",
]
StripVerdict = Literal["stale_admitted", "stale_unadmitted"]


class RetirementCut(Event, frozen=True):
    """The term ends here. ``handover`` is the digest of the body with the hand-over."""

    topic: Literal["retirement-cut.v1"] = "retirement-cut.v1"
    outcome: CutOutcome
    boundary: Boundary | None = None
    handover: Digest | None = None
    terminal_status: str | None = None
    """What ended it, where no holder did: shown until the next term begins."""


class SubmissionAccepted(Event, frozen=True):
    """The ledger has taken a message in. It lets nothing pass.

    ``key`` is the physical user message id; with the stream's owner it is the
    `ChatExecutionKey`. So it is in every event that has one.
    """

    topic: Literal["submission-accepted.v1"] = "submission-accepted.v1"
    key: Id
    sender: Id | None = None
    content_digest: Digest | None = None
    vouched_human: bool = False


class ExecutionAdmitted(Event, frozen=True):
    """The message is an execution of the live term, with all that it absorbed."""

    topic: Literal["execution-admitted.v1"] = "execution-admitted.v1"
    key: Id
    origin: Origin
    sender: Id | None = None
    content_digest: Digest | None = None
    absorbed: tuple[Id, ...] = ()
    carried_from: Version | None = None
    """Version of the acceptance that a cut carried over."""


class ExecutionStarted(Event, frozen=True):
    """Work began; ``into`` names the running execution that took the message in."""

    topic: Literal["execution-started.v1"] = "execution-started.v1"
    key: Id
    into: Id | None = None


class ExecutionSettled(Event, frozen=True):
    """The first outcome of an execution, which is final."""

    topic: Literal["execution-settled.v1"] = "execution-settled.v1"
    key: Id
    outcome: SettleOutcome


class StaleRequestStripped(Event, frozen=True):
    """The gate kept a leftover out, for ever. Its id is the interrupt's id."""

    topic: Literal["stale-request-stripped.v1"] = "stale-request-stripped.v1"
    key: Id
    verdict: StripVerdict
    cut: Version
    interrupt_id: Id


class InterruptSettled(Event, frozen=True):
    """The one final answer to the clean-up of a stripped request."""

    topic: Literal["interrupt-settled.v1"] = "interrupt-settled.v1"
    interrupt_id: Id
    outcome: Id


class HistoryRewritten(Event, frozen=True):
    """The host compacted its history: views start at the floor from now on."""

    topic: Literal["history-rewritten.v1"] = "history-rewritten.v1"
    history_rewrite_generation: Annotated[int, Field(ge=0, le=2**63 - 1)]
    prompt_floor: Id | None = None
    checkpoint_seq: Id | None = None
    state: Digest | None = None


RelayEvent = (
    RetirementCut
    | SubmissionAccepted
    | ExecutionAdmitted
    | ExecutionStarted
    | ExecutionSettled
    | StaleRequestStripped
    | InterruptSettled
    | HistoryRewritten
)
