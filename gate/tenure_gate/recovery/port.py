"""What a host gives the executor of resume plans: a small port."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from tenure_gate.recovery.steps import (
    AwaitApproval,
    Compact,
    GoOn,
    KeepOutput,
    QueueSubmission,
    RunCall,
    RunJob,
    TellCall,
    Unstarted,
)
from tenure_ledger.bodies import Json

__all__ = ["ResumeHost", "Rewritten"]


class Rewritten(NamedTuple):
    """What a compaction did, for `history_rewritten`."""

    prompt_floor: str | None = None
    checkpoint_seq: str | None = None
    state: Json = None


@runtime_checkable
class ResumeHost(Protocol):
    """What only the host can do. Each method may be called again after a crash."""

    async def keep(self, step: KeepOutput | RunCall, output: Json) -> None:
        """Put a result into the history, unless the call has one there already."""
        ...

    async def tell(self, step: TellCall) -> None:
        """Put what is known of a call into the history, unless it has a result."""
        ...

    async def allowed(self, step: RunCall) -> bool:
        """Say whether this call may run now without asking a person."""
        ...

    async def run_tool(
        self, step: RunCall, arguments: Json, idempotency_key: str
    ) -> Json:
        """Run the tool and return its result."""
        ...

    async def answered(self, step: AwaitApproval) -> None:
        """Show the request to the person again; return once it was decided."""
        ...

    async def compact(self, step: Compact) -> Rewritten:
        """Do the compaction; what is returned is put on record."""
        ...

    async def queue(self, step: QueueSubmission | Unstarted) -> None:
        """Put messages back into the queue, unless they are there."""
        ...

    async def run_job(self, step: RunJob) -> None:
        """Run the job under its identity, and settle its executions."""
        ...

    async def go_on(self, step: GoOn) -> None:
        """Go on with the loop."""
        ...
