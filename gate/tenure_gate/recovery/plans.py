"""Resume plans: what a host does next with work that may come back.

`plan_of` is pure and total: asked again about the same state at the same time, it is
the same plan. Source of the rules: design section 7.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tenure_gate.recovery.pending import Pending
from tenure_gate.recovery.steps import (
    Compact,
    DropJob,
    GoOn,
    ResumePlan,
    RunJob,
    Step,
    TimeOutJob,
)
from tenure_gate.recovery.waiting import (
    lead_of,
    leads,
    merged,
    submission_of,
    unstarted,
)
from tenure_ledger.attribution import Attribution
from tenure_ledger.bodies import Json
from tenure_ledger.decisions.recovering.waits import wait_of
from tenure_ledger.errors import InvalidInput
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import (
    RestartPayload,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
)
from tenure_ledger.snapshots import RestartSnapshot
from tenure_ledger.values import check_id, check_moment

__all__ = ["plan_of", "run_key"]


def run_key(job_id: str, slot: datetime) -> str:
    """Return the message id for a job's run: one for each slot, in UTC.

    A run admitted under it a second time is the same execution. Raises `InvalidInput`
    for a slot without a zone.
    """
    moment = check_moment("slot", slot)
    if moment is None:
        msg = "slot must be a datetime with a time zone"
        raise InvalidInput(msg)
    return check_id("the key of a run", _run_key(job_id, moment))


def _run_key(job_id: str, slot: datetime) -> str:
    return f"{job_id}@{slot.isoformat()}"


class _Owner(NamedTuple):
    """What a plan reads of an owner, with its live checkpoint."""

    state: State
    live: Checkpoint
    keys: tuple[str, ...]
    """The open executions that the checkpoint names or stands for."""
    now: datetime


def plan_of(
    state: State, snapshot: RestartSnapshot | None, now: datetime
) -> ResumePlan:
    """Return what to do next with an owner whose work may come back.

    ``state`` is the owner's after the new generation was given, ``snapshot`` its live
    checkpoint, None if it has none. ``now`` judges time-outs and windows alone.
    """
    live = state.recovery.checkpoint
    if snapshot is None or live is None:
        return ResumePlan(None, (), unstarted(state, []), None, None)
    owner = _Owner(state, live, _resumed(state, live), now)
    steps, keys = _steps(owner, snapshot.payload)
    whole = (*steps, *unstarted(state, [*keys, *merged(steps)]))
    return ResumePlan(
        live.mode, keys, whole, snapshot.payload, snapshot.execution_config
    )


def _resumed(state: State, live: Checkpoint) -> tuple[str, ...]:
    """Return the executions that the checkpoint resumes.

    Of those that it names, what had begun, and what they took in since; if nothing had,
    all. One that names none stands for what had begun.
    """
    executions = state.executions
    named = [at for key in live.keys if (at := lead_of(state, key)) is not None]
    begun = [at for at in named if executions.by_key[at].started]
    if not live.keys:
        begun = [one.key for one in leads(state) if one.started]
    found = dict.fromkeys(begun)
    while begun:
        taken = executions.taken.get(begun.pop(0), ())
        open_ones = [at for key in taken if (at := lead_of(state, key))]
        more = [at for at in open_ones if at not in found]
        found.update(dict.fromkeys(more))
        begun += more
    return tuple(found or dict.fromkeys(named))


def _steps(
    owner: _Owner, payload: RestartPayload
) -> tuple[list[Step], tuple[str, ...]]:
    """Return the steps of the mode, and the executions that they go on with."""
    pending = _pending(owner, payload)
    match payload:
        case RuntimeRestartToolApprovalWait():
            waiting = pending._replace(
                wait=wait_of(owner.live, payload),
                dispatched=payload.dispatched_before_restart,
                waits=True,
            )
            return [*waiting.steps(), *_go_on(owner, None)], owner.keys
        case RuntimeRestartReactionLoopState():
            return [
                *pending.steps(),
                *_compact(owner, payload),
                *_go_on(owner, payload),
            ], owner.keys
        case RuntimeRestartQueuedSubmission():
            return _queue(owner, payload, pending)
        case RuntimeRestartScheduledWorkContext():
            return [*pending.steps(), _job(owner, payload)], owner.keys
        case _:
            # No class of ours; the host has the payload.
            return [*pending.steps(), *_go_on(owner, None)], owner.keys


def _pending(owner: _Owner, payload: RestartPayload) -> Pending:
    by_key = owner.state.executions.by_key
    keys: list[str] = []
    for key in owner.keys:
        keys += [key, *by_key[key].absorbed]
    calls: list[Json] = []
    outputs: list[Json] = []
    if isinstance(payload, RuntimeRestartReactionLoopState):
        calls = payload.pending_tool_calls
        outputs = payload.completed_unpersisted_tool_outputs
    return Pending(
        owner.state,
        tuple(keys),
        owner.live.version,
        owner.now,
        Attribution(owner.state, owner.live, [*outputs, *calls]),
        tuple(calls),
        tuple(outputs),
    )


def _go_on(
    owner: _Owner, loop: RuntimeRestartReactionLoopState | None
) -> tuple[Step, ...]:
    """Go on, unless all that the checkpoint named has ended since."""
    return (GoOn(owner.keys, loop),) if owner.keys or not owner.live.keys else ()


def _compact(
    owner: _Owner, payload: RuntimeRestartReactionLoopState
) -> tuple[Step, ...]:
    """Compact once: a rewrite that was recorded since is this one."""
    rewrite = owner.state.relay.rewrite
    done = rewrite is not None and rewrite.version > owner.live.version
    if done or not payload.pending_compact:
        return ()
    following = 1 if rewrite is None else rewrite.generation + 1
    return (Compact(payload.pending_compact, following),)


def _queue(
    owner: _Owner, payload: RuntimeRestartQueuedSubmission, pending: Pending
) -> tuple[list[Step], tuple[str, ...]]:
    """Queue the submission with all that it absorbed; what else had begun goes on."""
    queued = submission_of(owner.state, payload)
    at = None if queued is None else queued.submission.message_id
    by_key = owner.state.executions.by_key
    begun = tuple(key for key in owner.keys if key != at and by_key[key].started)
    steps = pending.steps()
    if queued is not None:
        steps.append(queued)
    if begun:
        steps.append(GoOn(begun, None))
    return steps, begun if at is None else (at, *begun)


def _job(owner: _Owner, payload: RuntimeRestartScheduledWorkContext) -> Step:
    """Run the job again, unless it has finished or its time is over."""
    slot, ends = payload.slot, payload.window_ends_at
    by_key = owner.state.executions.by_key
    run = None if slot is None else by_key.get(_run_key(payload.job_id, slot))
    finished = run is not None and run.settled > 0
    if finished or (owner.live.keys and not owner.keys):
        return DropJob(payload.job_id, slot)
    if ends is not None and owner.now >= ends:
        return TimeOutJob(payload.job_id, slot, owner.keys)
    return RunJob(payload.job_id, slot, payload.attempt, payload.version, owner.keys)
