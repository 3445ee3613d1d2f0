"""What a command is told whose commit went wrong, or whose id is known already.

An ambiguous commit is settled by the command id; after the deadline nobody is told that
nothing was written while a commit is in doubt (design section 5, rules 1, 2 and 6).
"""

from __future__ import annotations

from time import monotonic

from tenure_ledger.errors import (
    CommandIdReused,
    Contended,
    Fault,
    OutcomeUnknown,
    Rejection,
    StoreUnavailable,
    refuse,
)
from tenure_ledger.grouping import Answer, Job
from tenure_ledger.rows import CommandRow, Conflict, Doubtful, Interrupted, Unit

__all__ = ["honest", "id_reused", "id_taken", "own_outcome", "to_try_again"]


def to_try_again(
    problem: Conflict | Doubtful | Interrupted, jobs: list[Job]
) -> list[Job]:
    """Return the jobs to try again; tell those whose deadline has come what is so."""
    late: Fault = Contended("other writers were faster until the deadline: call again")
    if isinstance(problem, Interrupted):
        late = StoreUnavailable(str(problem))
    again: list[Job] = []
    for job in jobs:
        job.doubtful = job.doubtful or isinstance(problem, Doubtful)
        if monotonic() < job.until:
            again.append(job)
        else:
            job.fail(honest(job, late))
    return again


def own_outcome(unit: Unit, job: Job, stored: CommandRow) -> Answer | None:
    """Return the outcome of this job's own doubtful commit, which nobody was told."""
    if job.sent is None:
        return None
    hashed, answer = job.sent
    rows = unit.tail(stored.stream, stored.first_version)
    return answer if hashed in {row.hash for row in rows[:1]} else None


def honest(job: Job, problem: BaseException) -> BaseException:
    """Never say that nothing was written while a commit is in doubt."""
    if not job.doubtful or not isinstance(problem, Fault):
        return problem
    return OutcomeUnknown(
        f"a commit was sent and not confirmed ({problem}): ask again under the command "
        f"id {job.command_id}",
        job.command_id,
    )


def id_reused(command_id: str, stored: CommandRow) -> Rejection:
    """Refuse a command under the id of another one."""
    return refuse(
        CommandIdReused,
        f"command id {command_id} belongs to another command, whose first event is "
        f"version {stored.first_version}: make a new id",
        version=stored.first_version,
    )


def id_taken(command_id: str, stored: CommandRow) -> Rejection:
    """Refuse a command whose authority is another process's."""
    return refuse(
        CommandIdReused,
        f"command id {command_id} gave its authority to another process at version "
        f"{stored.first_version}: ask under a new id",
        version=stored.first_version,
    )
