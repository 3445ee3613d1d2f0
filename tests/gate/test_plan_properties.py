"""Resume plans over random histories: total, and no call is run that may have run."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from broken_off import CALLS, HISTORIES, KEYS, OFTEN, BrokenOff, History, Step, lived
from tenure import (
    AwaitApproval,
    CloseApproval,
    Compact,
    GoOn,
    Json,
    KeepOutput,
    QueueSubmission,
    ResumePlan,
    Rewritten,
    RunCall,
    RunJob,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
    TellCall,
    Unstarted,
    execute_plan,
)
from tenure_ledger.decisions.live import of_term
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import RestartPayload, call_id_of

FIXED: dict[str, RestartPayload] = {
    "loop": RuntimeRestartReactionLoopState(
        consecutive_batches=1,
        pending_compact="yes",
        pending_tool_calls=["a", {"call_id": "b", "tool": "write", "arguments": {}}],
        completed_unpersisted_tool_outputs=["c"],
    ),
    "wait": RuntimeRestartToolApprovalWait(
        wait_started_at_ms=0, timeout_remaining_ms=30, dispatched_before_restart=False
    ),
    "queue": RuntimeRestartQueuedSubmission(
        submission_key="m3", absorbed_submission_keys=["m1", "m2"]
    ),
    "job": RuntimeRestartScheduledWorkContext(
        job_id="j",
        attempt=0,
        version=0,
        scheduled_work_context={"slot": "2026-01-01T00:00Z", "window_seconds": 20},
    ),
}


def run_calls(plan: ResumePlan) -> list[RunCall]:
    waits = [one.call for one in plan.steps if isinstance(one, AwaitApproval)]
    return [*waits, *(one for one in plan.steps if isinstance(one, RunCall))]


def said(plan: ResumePlan) -> set[tuple[str, Json]]:
    """Return the calls of which an item of the checkpoint names the message."""
    if not isinstance(plan.payload, RuntimeRestartReactionLoopState):
        return set()
    items = [
        *plan.payload.pending_tool_calls,
        *plan.payload.completed_unpersisted_tool_outputs,
    ]
    return {
        (call_id_of(item), item.get("message_id"))
        for item in items
        if isinstance(item, dict)
    }


def not_run_twice(state: State, plan: ResumePlan) -> None:
    """Hold that what ran, or may have, is not run, under no other message either."""
    live = state.recovery.checkpoint
    saved = 0 if live is None else live.version
    at_work = {
        one.key
        for one in state.executions.by_key.values()
        if of_term(state.ownership, one) and not 0 < one.settled <= saved
    }
    ran = {
        call.call_id
        for call in state.effects.calls.values()
        if call.dispatched and call.key in at_work
    }
    for run in run_calls(plan):
        known = state.effects.calls.get((run.message_id, run.call_id))
        assert known is None or not (known.dispatched or known.completed or known.late)
        assert state.executions.by_key[run.message_id].open
        if known is None and run.approval is None and run.call_id in ran:
            # Then the checkpoint itself says that it is another message's. (What a
            # person was asked about since is a new call.)
            assert (run.call_id, run.message_id) in said(plan)
    if isinstance(plan.payload, RuntimeRestartReactionLoopState):
        outputs = plan.payload.completed_unpersisted_tool_outputs
        kept = {step[:2] for step in plan.steps if isinstance(step, KeepOutput)}
        assert not {run[:2] for run in run_calls(plan)} & kept
        assert {call_id_of(item) for item in outputs} <= {at for _, at in kept}


thorough = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(HISTORIES)
def test_no_call_is_run_that_may_have_run(history: History) -> None:
    not_run_twice(*lived(history).plan())


@thorough
@given(HISTORIES)
def test_each_call_has_one_answer_and_each_result_on_record_is_kept(
    history: History,
) -> None:
    state, plan = lived(history).plan()
    answers: list[tuple[str | None, str]] = [run[:2] for run in run_calls(plan)]
    for step in plan.steps:
        if isinstance(step, KeepOutput | TellCall):
            answers.append(step[:2])
        if isinstance(step, TellCall) and step.message_id is not None:
            known = state.effects.calls.get((step.message_id, step.call_id))
            assert known is None or not (known.completed or known.late)
    assert len(answers) == len(set(answers))


@thorough
@given(HISTORIES)
def test_an_approval_is_used_only_as_it_was_decided(history: History) -> None:
    state, plan = lived(history).plan()
    for step in plan.steps:
        if isinstance(step, RunCall) and step.approval is not None:
            asked = state.effects.approvals[step.approval]
            assert asked.decision == "approved"
            assert asked.open
        if isinstance(step, AwaitApproval):
            asked = state.effects.approvals[step.request_id]
            assert asked.open
            assert not asked.decided
            assert step.seconds_left is None or step.seconds_left >= 0
        if isinstance(step, CloseApproval):
            asked = state.effects.approvals[step.request_id]
            assert asked.open


@thorough
@given(HISTORIES)
def test_every_open_message_that_nobody_began_is_gone_on_with_once(
    history: History,
) -> None:
    state, plan = lived(history).plan()
    found: list[str] = []
    for step in plan.steps:
        if isinstance(step, QueueSubmission):
            found.append(step.submission.message_id)
            if not step.admitted:
                found += [part.message_id for part in step.absorbed]
        if isinstance(step, Unstarted):
            found += step.keys
    others = [at for at in plan.keys if at not in found]
    assert len(found) == len(set(found))
    open_leads = [
        one.key
        for one in state.executions.listed()
        if one.absorbed_by is None and not one.started
    ]
    assert set(open_leads) <= {*found, *others}


@thorough
@given(HISTORIES)
def test_the_loop_goes_on_after_all_else_and_only_with_what_is_open(
    history: History,
) -> None:
    state, plan = lived(history).plan()
    for key in plan.keys:
        known = state.executions.by_key.get(key)
        assert known is None or known.open
    after = [step for step in plan.steps if not isinstance(step, Unstarted)]
    assert not any(isinstance(step, GoOn) for step in after[:-1])


KINDS = """KeepOutput TellCall RunCall AwaitApproval CloseApproval Compact
    QueueSubmission RunJob DropJob TimeOutJob GoOn Unstarted"""


def made_up(random: Random) -> History:
    """A history by chance, the same for the same seed."""
    loop, job = FIXED["loop"], FIXED["job"]
    payloads = (loop, FIXED["wait"], FIXED["wait"], FIXED["queue"], job, job)
    return [
        Step(
            random.choice(OFTEN),
            random.choice(KEYS),
            random.choice(CALLS),
            random.choice(payloads),
            random.random() < 0.5,
        )
        for _ in range(20)
    ]


def test_every_kind_of_step_is_reached_on_fixed_lives() -> None:
    seen: Counter[str] = Counter()
    for seed in range(300):
        _, plan = lived(made_up(Random(seed))).plan()  # noqa: S311  no secret
        seen.update(type(step).__name__ for step in plan.steps)
    assert [kind for kind in KINDS.split() if not seen[kind]] == []


@pytest.mark.prove
def test_in_long_lives_no_call_is_run_that_may_have_run() -> None:
    for seed in range(1000, 21_000):
        state, plan = lived(made_up(Random(seed))).plan()  # noqa: S311  no secret
        not_run_twice(state, plan)


class Twice:
    """A host that does what it is asked, and counts."""

    def __init__(self, life: BrokenOff) -> None:
        self.life = life
        self.history: dict[tuple[str | None, str], Json] = {}
        self.ran: Counter[str] = Counter()

    async def keep(self, step: KeepOutput | RunCall, output: Json) -> None:
        self.history.setdefault(step[:2], output)

    async def tell(self, step: TellCall) -> None:
        self.history.setdefault(step[:2], step.what)

    async def allowed(self, step: RunCall) -> bool:
        return step.call_id != "c"

    async def run_tool(
        self, step: RunCall, arguments: Json, idempotency_key: str
    ) -> Json:
        del arguments
        self.ran[idempotency_key] += 1
        return step.call_id

    async def answered(self, step: AwaitApproval) -> None:
        ledger = self.life.ledger
        ledger.decide_approval(self.life.held.owner, step.request_id, "approved", "ann")

    async def compact(self, step: Compact) -> Rewritten:
        return Rewritten(state=step.pending)

    async def queue(self, step: QueueSubmission | Unstarted) -> None: ...

    async def run_job(self, step: RunJob) -> None: ...

    async def go_on(self, step: GoOn) -> None: ...


@thorough
@given(HISTORIES)
def test_a_plan_carried_out_twice_is_carried_out_once(history: History) -> None:
    life = lived(history)
    life.come_back()
    _, plan = life.plan()
    host = Twice(life)
    work = execute_plan(life.ledger, life.held, plan, host)
    asyncio.run(work)
    after, told = life.ledger.head(), dict(host.history)
    answered = {
        step[:2] for step in plan.steps if isinstance(step, KeepOutput | TellCall)
    }
    answered |= {run[:2] for run in run_calls(plan)}
    assert answered <= told.keys()
    asyncio.run(execute_plan(life.ledger, life.held, plan, host))
    assert life.ledger.head() == after
    assert host.history == told
    assert set(host.ran.values()) <= {1}
