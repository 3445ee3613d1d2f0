"""Notices: the self-healing text that waits for whoever takes the work over.

A notice is delivered to one execution, done when that execution is completed, and
pending again when it ends otherwise (design section 6).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import (
    ExecutionAdmitted,
    ExecutionSettled,
    Fact,
    NoticeDelivered,
    NoticeIssued,
)
from tenure_ledger.folds.judgement import (
    APPLY,
    DUPLICATE,
    Judgement,
    Rule,
    Rules,
    Value,
    always,
    without,
)
from tenure_ledger.values import OwnerRef

__all__ = ["LATE_RESULT", "NOTICE", "RULES", "Notice", "Notices"]

NOTICE = (
    "This subtask stopped during a restart and did not report a result. Its work may "
    "be partly or fully done: check what it already produced before redoing anything, "
    "then redo or redelegate only what is actually missing."
)
"""Verbatim from seed 000 section 5.2."""
LATE_RESULT = "late_result"
"""The event type of a notice that tells what became known late, of no restart."""


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
    "partial_recovery_descriptor": "Its saved state was not whole.",
    "invalid_recovery_descriptor": "Its saved state could not be used.",
    "missing_conversation": "Its conversation is gone.",
    "invalid_structural_owner_identity": "It had lost its place below its parent.",
    "recovery_identity_mismatch": "It was of another agent type or tenant.",
    "invalid_durable_owner_identity": "Another run had taken its place.",
    "invalid_inherited_execution_authority": "It was not allowed to go on.",
}
_ABOUT = {"closed_in_recovery", "runtime_work_reap", LATE_RESULT}
"""Event types whose notices may wait above the owner that they are about."""
_FACTS = {
    "unfinished": "started and not finished",
    "output_may_have_been_seen": "its output may or may not have been seen",
    "output_completed": "its output is complete",
    "outcome_unknown": "it may or may not have happened",
    "failed": "it failed",
    "cancelled": "it was cancelled",
}


class Notice(Value, frozen=True):
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
    issued_at: datetime | None = None
    delivered_at: datetime | None = None
    done_at: datetime | None = None

    @property
    def text(self) -> str:
        """The verbatim text, then why (reasons), then what is known (facts).

        What became known late is told by its facts alone: nothing was restarted. The
        facts begin with which subtask it is, where a session's notice is about another.
        A reason that holds for some of the facts alone stands with those.
        """
        begin = [] if self.event_type == LATE_RESULT else [NOTICE]
        partly = {reason for fact in self.facts for reason in fact.reasons}
        reasons = _sentences(one for one in self.reasons if one not in partly)
        of = self.about
        below = of.recovery_class != "session" and self.event_type in _ABOUT
        which = [f"- of {of.recovery_class} {of.owner_id}:"] if below else []
        lines = [*reasons, *which, *map(_line, self.facts)]
        return "\n".join([*begin, *lines])


def _line(fact: Fact) -> str:
    call = f"call {fact.call_id} of {fact.tool}" if fact.call_id else ""
    message = f"message {fact.key}" if fact.key else "its earlier work"
    what = " in ".join(part for part in (call, message) if part)
    told = [_FACTS[fact.kind], *_sentences(fact.reasons)]
    return f"- {what}: {'. '.join(told)}"


def _sentences(reasons: Iterable[str]) -> list[str]:
    """Return what they say, each sentence once."""
    return [*dict.fromkeys(_REASONS.get(reason, reason) for reason in reasons)]


class Notices(Value, frozen=True):
    """Every notice of an owner."""

    by_id: Map[str, Notice] = Map()
    pending: Map[str, int] = Map()
    """Notices that are not done, by the version of their issue."""

    def listed(self) -> list[Notice]:
        """Return those that are not done, oldest first."""
        order = sorted(self.pending.items(), key=lambda pair: (pair[1], pair[0]))
        return [self.by_id[at] for at, _ in order]


def _judge_issued(_own: object, state: Notices, event: NoticeIssued) -> Judgement:
    return DUPLICATE if event.notice in state.by_id else APPLY


def _issue(_own: object, state: Notices, version: int, event: NoticeIssued) -> Notices:
    notice = Notice(
        event.notice,
        version,
        event.about,
        event.about_generation,
        event.event_type,
        event.reasons,
        event.facts,
        issued_at=event.recorded_at,
    )
    return Notices(
        state.by_id.set(event.notice, notice),
        state.pending.set(event.notice, version),
    )


def _judge_delivered(_own: object, state: Notices, event: NoticeDelivered) -> Judgement:
    known = state.by_id.get(event.notice)
    if known is None:
        return 0
    return DUPLICATE if known.done or known.key == event.key else APPLY


def _deliver(
    _own: object, state: Notices, version: int, event: NoticeDelivered
) -> Notices:
    known = state.by_id.get(event.notice)
    if known is None:
        return state
    known = replace(
        known, delivered=version, key=event.key, delivered_at=event.recorded_at
    )
    return Notices(state.by_id.set(event.notice, known), state.pending)


def _absorbed(
    _own: object, state: Notices, _version: int, event: ExecutionAdmitted
) -> Notices:
    """Hand on what a message was given to the execution that it is part of now."""
    if not (state.pending and event.absorbed):
        return state
    by_id = state.by_id
    for at in state.pending:
        if by_id[at].key in event.absorbed:
            by_id = by_id.set(at, replace(by_id[at], key=event.key))
    return Notices(by_id, state.pending)


def _settled(
    _own: object, state: Notices, version: int, event: ExecutionSettled
) -> Notices:
    """Take a notice as done with the completed execution that it was delivered to."""
    if not state.pending:
        return state
    by_id, pending = state.by_id, state.pending
    for at in state.pending:
        known = by_id[at]
        if known.key != event.key:
            continue
        if event.outcome == "completed":
            done = replace(known, done=version, done_at=event.recorded_at)
            by_id = by_id.set(at, done)
            pending = without(pending, at)
        else:
            by_id = by_id.set(
                at, replace(known, delivered=0, key=None, delivered_at=None)
            )
    return Notices(by_id, pending)


RULES: Rules[Notices] = {
    NoticeIssued: Rule(_judge_issued, _issue),
    NoticeDelivered: Rule(_judge_delivered, _deliver),
    ExecutionAdmitted: Rule(always, _absorbed),
    ExecutionSettled: Rule(always, _settled),
}
