"""What waits in an owner's queue: submissions, and messages that nobody has begun.

Source of the rules: design section 7.
"""

from __future__ import annotations

from tenure_gate.recovery.steps import QueuedMessage, QueueSubmission, Step, Unstarted
from tenure_ledger.decisions.live import of_term
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import RuntimeRestartQueuedSubmission

__all__ = ["lead_of", "leads", "merged", "submission_of", "unstarted"]


def leads(state: State) -> list[Execution]:
    """Return what is open and was not absorbed, in order."""
    return [one for one in state.executions.listed() if one.absorbed_by is None]


def lead_of(state: State, key: str) -> str | None:
    """Return the execution that a key is or was absorbed by, if it is still open."""
    known = state.executions.by_key.get(key)
    if known is not None and known.absorbed_by is not None:
        known = state.executions.by_key.get(known.absorbed_by)
    if known is None or not known.open or not of_term(state.ownership, known):
        return None
    return known.key


def submission_of(
    state: State, payload: RuntimeRestartQueuedSubmission
) -> QueueSubmission | None:
    """Return the submission as the ledger has it, else as the checkpoint has it.

    What was merged on record stays merged, without what was cancelled since. None when
    a part of what was not has been dealt with by itself: then the rest is too.
    """
    key, absorbed = payload.submission_key, tuple(payload.absorbed_submission_keys)
    lead = lead_of(state, key)
    by_key = state.executions.by_key
    if lead is not None:
        return QueueSubmission(
            _message(state, lead),
            tuple(
                _message(state, at)
                for at in by_key[lead].absorbed
                if (known := by_key.get(at)) is not None and known.open
            ),
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


def merged(steps: list[Step]) -> list[str]:
    """Return the messages that are a part of a submission in these steps."""
    return [
        part.message_id
        for step in steps
        if isinstance(step, QueueSubmission)
        for part in step.absorbed
    ]


def unstarted(state: State, taken: list[str]) -> tuple[Unstarted, ...]:
    """Return what nobody has begun and no other step goes on with."""
    others = set(taken)
    waiting = tuple(
        one.key for one in leads(state) if not one.started and one.key not in others
    )
    return (Unstarted(waiting),) if waiting else ()
