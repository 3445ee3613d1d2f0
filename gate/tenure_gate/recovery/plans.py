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
    QueuedMessage,
    QueueSubmission,
    ResumePlan,
    RunJob,
    Step,
    TimeOutJob,
    Unstarted,
)
from tenure_ledger.decisions.live import of_term
from tenure_ledger.errors import InvalidInput
from tenure_ledger.folds.executions import Execution
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
        return ResumePlan(None, (), _unstarted(state, []), None, None)
    owner = _Owner(state, live, _resumed(state, live), now)
    steps, keys = _steps(owner, snapshot.payload)
    whole = (*steps, *_unstarted(state, [*keys, *_merged(steps)]))
    return ResumePlan(
        live.mode, keys, whole, snapshot.payload, snapshot.execution_config
    )


def _resumed(state: State, live: Checkpoint) -> tuple[str, ...]:
    """Return the executions that the checkpoint resumes.

    Of those that it names, what had begun; if nothing had, all. One that names none
    stands for what had begun.
    """
    by_key = state.executions.by_key
    named = [at for key in live.keys if (at := _lead(state, key)) is not None]
    begun = [at for at in named if by_key[at].started]
    if not live.keys:
        begun = [one.key for one in _leads(state) if one.started]
    return tuple(dict.fromkeys(begun or named))


def _leads(state: State) -> list[Execution]:
    """Return what is open and was not absorbed, in order."""
    return [one for one in state.executions.listed() if one.absorbed_by is None]


def _lead(state: State, key: str) -> str | None:
    """Return the execution that a key is or was absorbed by, if it is still open."""
    known = state.executions.by_key.get(key)
    if known is not None and known.absorbed_by is not None:
        known = state.executions.by_key.get(known.absorbed_by)
    if known is None or not known.open or not of_term(state.ownership, known):
        return None
    return known.key


def _steps(
    owner: _Owner, payload: RestartPayload
) -> tuple[list[Step], tuple[str, ...]]:
    """Return the steps of the mode, and the executions that they go on with."""
    pending = _pending(owner)
    match payload:
        case RuntimeRestartToolApprovalWait():
            left = payload.timeout_remaining_ms
            waiting = pending._replace(
                seconds_saved=None if left is None else left / 1000,
                saved_at=owner.live.updated_at,
                dispatched=payload.dispatched_before_restart,
                waits=True,
            )
            return [*waiting.steps(), *_go_on(owner, None)], owner.keys
        case RuntimeRestartReactionLoopState():
            return [
                *pending.steps(
                    payload.pending_tool_calls,
                    payload.completed_unpersisted_tool_outputs,
                ),
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


def _pending(owner: _Owner) -> Pending:
    by_key = owner.state.executions.by_key
    keys: list[str] = []
    for key in owner.keys:
        keys += [key, *by_key[key].absorbed]
    acting = max(owner.keys, key=lambda at: by_key[at].started, default=None)
    return Pending(owner.state, tuple(keys), owner.live.version, acting, owner.now)


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
    queued = _submission(owner.state, payload)
    at = None if queued is None else queued.submission.message_id
    by_key = owner.state.executions.by_key
    begun = tuple(key for key in owner.keys if key != at and by_key[key].started)
    steps = pending.steps()
    if queued is not None:
        steps.append(queued)
    if begun:
        steps.append(GoOn(begun, None))
    return steps, begun if at is None else (at, *begun)


def _submission(
    state: State, payload: RuntimeRestartQueuedSubmission
) -> QueueSubmission | None:
    """Return the submission as the ledger has it, else as the checkpoint has it.

    None when a part of it has been dealt with by itself: then the rest is too.
    """
    key, absorbed = payload.submission_key, tuple(payload.absorbed_submission_keys)
    lead = _lead(state, key)
    by_key = state.executions.by_key
    if lead is not None:
        return QueueSubmission(
            _message(state, lead),
            tuple(_message(state, at) for at in by_key[lead].absorbed),
            admitted=True,
        )
    parts = tuple(dict.fromkeys(at for at in absorbed if at != key))
    if not all(_free(by_key.get(at)) for at in (key, *parts)):
        return None
    messages = tuple(_message(state, at) for at in parts)
    return QueueSubmission(_message(state, key), messages, admitted=False)


def _free(known: Execution | None) -> bool:
    """Say whether a message may still become a part of a submission."""
    if known is None:
        return True
    alone = known.absorbed_by is None and not known.absorbed
    return known.open and alone and not known.started


def _message(state: State, key: str) -> QueuedMessage:
    known = state.executions.by_key.get(key)
    if known is None:
        return QueuedMessage(key, None, None)
    return QueuedMessage(key, known.sender, known.digest)


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


def _merged(steps: list[Step]) -> list[str]:
    """Return the messages that are a part of a submission in these steps."""
    return [
        part.message_id
        for step in steps
        if isinstance(step, QueueSubmission)
        for part in step.absorbed
    ]


def _unstarted(state: State, taken: list[str]) -> tuple[Step, ...]:
    """Return what nobody has begun and no other step goes on with."""
    others = set(taken)
    waiting = tuple(
        one.key for one in _leads(state) if not one.started and one.key not in others
    )
    return (Unstarted(waiting),) if waiting else ()
