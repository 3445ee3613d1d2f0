"""What a resume plan is made of: typed steps, each done once however often it is tried.

Source of the rules: design section 7.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from tenure_ledger.bodies import Json
from tenure_ledger.events import CheckpointMode
from tenure_ledger.payloads import RestartPayload, RuntimeRestartReactionLoopState

__all__ = [
    "AwaitApproval",
    "CloseApproval",
    "Compact",
    "DropJob",
    "GoOn",
    "KeepOutput",
    "QueueSubmission",
    "QueuedMessage",
    "ResumePlan",
    "RunCall",
    "RunJob",
    "Step",
    "TellCall",
    "TimeOutJob",
    "Told",
    "Unstarted",
]


Told = Literal["unknown", "never_started", "denied", "expired", "void"]


class KeepOutput(NamedTuple):
    """Put a call's result into the host's history; the call is never run again."""

    message_id: str | None
    call_id: str
    output: Json
    """The item as the checkpoint held it; None: ``result`` has it."""
    result: str | None
    """Digest of the result on record; it stands, whatever the checkpoint held."""


class TellCall(NamedTuple):
    """Put into the host's history what is known of a call that is not run."""

    message_id: str | None
    call_id: str
    what: Told
    """``unknown``: it may have run. ``never_started``: it did not."""


class RunCall(NamedTuple):
    """Run a call that was never started, by way of `begin_tool_call`."""

    message_id: str
    call_id: str
    tool: str
    arguments: Json
    """As the checkpoint held them; None with ``digest``: the body of that digest."""
    digest: str | None
    approval: str | None
    """The request id of the approval that this call uses up."""


class AwaitApproval(NamedTuple):
    """Go on waiting for a person, under the same request id; then run the call."""

    request_id: str
    call: RunCall
    seconds_left: float | None
    """None: it has no time-out. 0: nobody decided in time, so it is closed
    ``expired``; if that is refused, it was decided meanwhile, and that stands."""


class CloseApproval(NamedTuple):
    """Close a request: its call is not to be made."""

    request_id: str
    reason: Literal["void"]


class Compact(NamedTuple):
    """Do the compaction that was about to be done, and record it as a rewrite."""

    pending: Json
    history_rewrite_generation: int
    """To record it under; once it is on record, no plan asks for it again."""


class QueuedMessage(NamedTuple):
    """A message in a queue, as the ledger took it in."""

    message_id: str
    sender: str | None
    digest: str | None


class QueueSubmission(NamedTuple):
    """Put a submission back into the queue: with all it absorbed, in order."""

    submission: QueuedMessage
    absorbed: tuple[QueuedMessage, ...]
    admitted: bool
    """False: admit it first, with all it absorbed, in one step."""


class RunJob(NamedTuple):
    """Run a job of a schedule again; job and slot are its identity."""

    job_id: str
    slot: datetime | None
    """In UTC."""
    attempt: int
    version: int
    keys: tuple[str, ...]


class DropJob(NamedTuple):
    """The job has finished: nothing is to be done."""

    job_id: str
    slot: datetime | None


class TimeOutJob(NamedTuple):
    """It is too late to run: bar it (``cron_exec_timeout``) and settle it."""

    job_id: str
    slot: datetime | None
    keys: tuple[str, ...]


class GoOn(NamedTuple):
    """Go on with the loop, now that each call has an answer."""

    keys: tuple[str, ...]
    loop: RuntimeRestartReactionLoopState | None
    """Its counters, where the checkpoint held them."""


class Unstarted(NamedTuple):
    """Messages that nobody has begun, in the order in which they came."""

    keys: tuple[str, ...]


Step = (
    KeepOutput
    | TellCall
    | RunCall
    | AwaitApproval
    | CloseApproval
    | Compact
    | QueueSubmission
    | RunJob
    | DropJob
    | TimeOutJob
    | GoOn
    | Unstarted
)


class ResumePlan(NamedTuple):
    """What to do next, in order, under the authority that came with it."""

    mode: CheckpointMode | None
    """None: there was no checkpoint."""
    keys: tuple[str, ...]
    """The executions that it goes on with."""
    steps: tuple[Step, ...]
    payload: RestartPayload | None
    execution_config: Json
