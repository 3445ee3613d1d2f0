"""Notices: the self-healing text that waits for whoever takes the work over.

A notice is delivered to one execution, done when that execution is completed, and
pending again when it ends otherwise (design section 6).
"""

from __future__ import annotations

from typing import NamedTuple

from immutables import Map

from tenure_ledger.events import (
    Event,
    ExecutionSettled,
    Fact,
    NoticeDelivered,
    NoticeIssued,
)
from tenure_ledger.folds.judgement import APPLY, DUPLICATE, Judgement, without
from tenure_ledger.values import OwnerRef

__all__ = ["NOTICE", "Notice", "Notices"]

NOTICE = (
    "This subtask stopped during a restart and did not report a result. Its work may "
    "be partly or fully done: check what it already produced before redoing anything, "
    "then redo or redelegate only what is actually missing."
)
"""Verbatim from seed 000 section 5.2."""


_CANCELLED = "The user cancelled this. Do not redo it unless asked."
_REASONS = {
    "visible_output_started": "Output to the user had started.",
    "user_cancelled": _CANCELLED,
    "user_cancelled_whole_stream": _CANCELLED,
    "agent_closed": "The agent was closed.",
    "model_switch": "The model was switched.",
    "context_reset": "The context was reset.",
    "runtime_work_reap": "It was reaped: nobody was working on it any more.",
    "cron_exec_timeout": "The schedule's time for it was over.",
    "successor_accepted": "A successor took the work over.",
}
_FACTS = {
    "unfinished": "started and not finished",
    "output_may_have_been_seen": "its output may or may not have been seen",
    "output_completed": "its output is complete",
    "outcome_unknown": "it may or may not have happened",
}


class Notice(NamedTuple):
    """One notice, and how far it got."""

    notice: str
    version: int
    about: OwnerRef
    generation: int
    event_type: str
    reasons: tuple[str, ...]
    facts: tuple[Fact, ...]
    delivered: int = 0
    key: str | None = None
    """The execution that it was delivered to."""
    done: int = 0

    @property
    def text(self) -> str:
        """The verbatim text, then why (reasons), then what is known (facts)."""
        reasons = [_REASONS.get(reason, reason) for reason in self.reasons]
        return "\n".join([NOTICE, *dict.fromkeys(reasons), *map(_line, self.facts)])


def _line(fact: Fact) -> str:
    call = f"call {fact.call_id} of {fact.tool}" if fact.call_id else ""
    what = " in ".join(part for part in (call, f"message {fact.key}") if part)
    return f"- {what}: {_FACTS[fact.kind]}"


class Notices(NamedTuple):
    """Every notice of an owner."""

    by_id: Map[str, Notice] = Map()
    pending: Map[str, int] = Map()
    """Notices that are not done, by the version of their issue."""

    def listed(self) -> list[Notice]:
        """Return those that are not done, oldest first."""
        order = sorted(self.pending.items(), key=lambda pair: (pair[1], pair[0]))
        return [self.by_id[at] for at, _ in order]


def judge(state: Notices, event: Event) -> Judgement:
    """Say what a notice event is to this state (module `judgement`)."""
    match event:
        case NoticeIssued():
            return DUPLICATE if event.notice in state.by_id else APPLY
        case NoticeDelivered():
            known = state.by_id.get(event.notice)
            if known is None:
                return 0
            return DUPLICATE if known.done or known.key == event.key else APPLY
        case _:
            return APPLY


def apply(state: Notices, version: int, event: Event) -> Notices:
    """Return the state after a notice event, or after the settle of an execution."""
    match event:
        case NoticeIssued():
            notice = Notice(
                event.notice,
                version,
                event.about,
                event.about_generation,
                event.event_type,
                event.reasons,
                event.facts,
            )
            return Notices(
                state.by_id.set(event.notice, notice),
                state.pending.set(event.notice, version),
            )
        case NoticeDelivered():
            known = state.by_id.get(event.notice)
            if known is None:
                return state
            known = known._replace(delivered=version, key=event.key)
            return state._replace(by_id=state.by_id.set(event.notice, known))
        case ExecutionSettled() if state.pending:
            return _settled(state, version, event)
        case _:
            return state


def _settled(state: Notices, version: int, event: ExecutionSettled) -> Notices:
    by_id, pending = state.by_id, state.pending
    for at in state.pending:
        known = by_id[at]
        if known.key != event.key:
            continue
        if event.outcome == "completed":
            by_id = by_id.set(at, known._replace(done=version))
            pending = without(pending, at)
        else:
            by_id = by_id.set(at, known._replace(delivered=0, key=None))
    return Notices(by_id, pending)
