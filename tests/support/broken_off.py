"""Short lives of one session, random or not, that break off with a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hypothesis import strategies as st
from pydantic import JsonValue

from tenure import (
    Authority,
    Evidence,
    First,
    Ledger,
    OwnerRef,
    Refused,
    ResumePlan,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
    arguments_digest,
    open_ledger,
)
from tenure_gate.recovery.plans import plan_of
from tenure_ledger.events import Decision
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import ExecutionConfig, RestartPayload
from tenure_ledger.snapshots import RestartSnapshot

__all__ = [
    "CALLS",
    "HISTORIES",
    "KEYS",
    "OFTEN",
    "BrokenOff",
    "History",
    "Step",
    "lived",
]

S = OwnerRef("session", "ses_1")
KEYS, CALLS = ("m1", "m2", "m3", "m4"), ("a", "b", "c")


class Step(NamedTuple):
    """One thing that happens, and what it may need."""

    action: str
    key: str
    call: str
    payload: RestartPayload
    flag: bool


History = Sequence[Step]


class BrokenOff:
    """A session that lives through steps; what is refused is left out."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.ledger: Ledger = open_ledger("memory://", clock=lambda: self.now)
        first = First("m1", "human")
        self.held: Authority = self.ledger.claim(S, "t1", "host", first=first)
        self.payload: RestartPayload | None = None
        self.requests: list[str] = []

    def plan(self) -> tuple[State, ResumePlan]:
        """Return the session's state, and its plan, which is the same each time."""
        snapshot = None
        if self.payload is not None:
            snapshot = RestartSnapshot(self.payload, ExecutionConfig(), None)
        state = self.ledger.fresh_state(S)
        plan = plan_of(state, snapshot, self.now)
        assert plan_of(state, snapshot, self.now) == plan
        return state, plan

    def accept(self, step: Step) -> None:
        """Take a message in."""
        self.ledger.accept(S, step.key, "inbox", human=True)

    def admit(self, step: Step) -> None:
        """Admit it, with what has lower keys or alone."""
        absorbed = [one for one in KEYS if one < step.key] if step.flag else []
        self.ledger.admit(self.held, step.key, "human", absorbed=absorbed)

    def start(self, step: Step) -> None:
        """Begin it."""
        self.ledger.start(self.held, step.key)

    def settle(self, step: Step) -> None:
        """End it."""
        self.ledger.settle(self.held, step.key, "completed")

    def intend(self, step: Step) -> None:
        """Record a call that waits."""
        self.ledger.intend_tool_call(self.held, step.key, step.call, "write", {})

    def begin(self, step: Step) -> None:
        """Dispatch a call."""
        asked = self.requests[-1] if step.flag and self.requests else None
        self.ledger.begin_tool_call(self.held, step.key, step.call, "write", {}, asked)

    def complete(self, step: Step) -> None:
        """Complete a call."""
        self.ledger.complete_tool_call(self.held, (step.key, step.call), "result")

    def ask(self, step: Step) -> None:
        """Ask a person about a call."""
        timeout = 30 if step.flag else None
        one = self.ledger.request_approval(
            self.held, step.call, "write", arguments_digest({}), "p1", timeout
        )
        self.requests.append(one.request_id)

    def decide(self, step: Step) -> None:
        """Decide the latest request."""
        if self.requests:
            decision: Decision = "approved" if step.flag else "denied"
            self.ledger.decide_approval(S, self.requests[-1], decision, "ann")

    def save(self, step: Step) -> None:
        """Save a checkpoint of everything, or of one message."""
        keys = None if step.flag else [step.key]
        self.ledger.save_checkpoint(self.held, step.payload, keys=keys)
        self.payload = step.payload

    def wait(self, step: Step) -> None:
        """Let the clock go on, or back."""
        self.now += timedelta(seconds=40 if step.flag else -40)

    def restart(self, _: Step) -> None:
        """Come back."""
        self.come_back()

    def come_back(self) -> None:
        """Take the session over, as its own agent."""
        gone = Evidence.gone(self.ledger.owner(S))
        self.held = self.ledger.take_over(S, "t1", "host", gone)


ACTIONS: Mapping[str, Callable[[BrokenOff, Step], None]] = {
    action.__name__: action
    for action in (
        BrokenOff.accept,
        BrokenOff.admit,
        BrokenOff.start,
        BrokenOff.settle,
        BrokenOff.intend,
        BrokenOff.begin,
        BrokenOff.complete,
        BrokenOff.ask,
        BrokenOff.decide,
        BrokenOff.save,
        BrokenOff.wait,
        BrokenOff.restart,
    )
}
OFTEN = [*ACTIONS, "begin", "save", "save"]


def _named(call_id: str, message_id: str | None) -> JsonValue:
    call: dict[str, JsonValue] = {"call_id": call_id, "tool": "write", "arguments": {}}
    return call if message_id is None else {**call, "message_id": message_id}


_key, _call = st.sampled_from(KEYS), st.sampled_from(CALLS)
_named_call = st.builds(_named, _call, st.none() | _key | st.just("nobody's"))
_items: st.SearchStrategy[list[JsonValue]] = st.lists(
    st.one_of(_call, _named_call), max_size=4
)
PAYLOADS: st.SearchStrategy[RestartPayload] = st.one_of(
    st.builds(
        RuntimeRestartReactionLoopState,
        consecutive_batches=st.just(1),
        pending_compact=st.booleans(),
        pending_tool_calls=_items,
        completed_unpersisted_tool_outputs=_items,
    ),
    st.builds(
        RuntimeRestartToolApprovalWait,
        wait_started_at_ms=st.just(0),
        timeout_remaining_ms=st.none() | st.integers(-1, 90_000),
        dispatched_before_restart=st.booleans(),
    ),
    st.builds(
        RuntimeRestartQueuedSubmission,
        submission_key=_key,
        absorbed_submission_keys=st.lists(_key, max_size=3),
    ),
    st.builds(
        RuntimeRestartScheduledWorkContext,
        job_id=st.just("j"),
        attempt=st.just(0),
        version=st.just(0),
        scheduled_work_context=st.just(
            {"slot": "2026-01-01T00:00Z", "window_seconds": 60}
        ),
    ),
)
HISTORIES: st.SearchStrategy[History] = st.lists(
    st.builds(Step, st.sampled_from(OFTEN), _key, _call, PAYLOADS, st.booleans()),
    max_size=25,
)


def lived(history: History) -> BrokenOff:
    """Return the session after these steps."""
    life = BrokenOff()
    for step in history:
        with suppress(Refused):
            ACTIONS[step.action](life, step)
    return life
