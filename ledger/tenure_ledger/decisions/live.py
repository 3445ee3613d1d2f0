"""What belongs to an owner's live term, and the refusal of what does not.

The one place that says when a message is an execution of the live term (design
section 2), and the words for one that is not, or that has ended.
"""

from __future__ import annotations

from tenure_ledger.errors import (
    AlreadyDecided,
    NotAdmitted,
    NotFound,
    Rejection,
    refuse,
)
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.notices import Notice
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef

__all__ = [
    "acting_at",
    "admitted",
    "live_execution",
    "live_executions",
    "no_message",
    "of_term",
    "open_execution",
    "refuse_settled",
    "waiting_notices",
]


def of_term(own: Ownership, known: Execution) -> bool:
    """Say whether its latest admission was to the owner's latest term."""
    return known.admitted > 0 and known.term == own.term


def admitted(own: Ownership, known: Execution | None) -> bool:
    """Say whether the message is an execution of the live term."""
    return own.live and known is not None and of_term(own, known) and not known.stripped


def waiting_notices(state: State) -> list[Notice]:
    """Return the notices that wait for a request, oldest first.

    One that was given to a request which ended with its term, and was never settled,
    waits again.
    """
    by_key = state.executions.by_key
    return [
        one
        for one in state.notices.listed()
        if one.key is None
        or not (known := by_key.get(one.key))
        or not (known.open and admitted(state.ownership, known))
    ]


def live_executions(state: State) -> list[Execution]:
    """Return the executions of the latest term that are not settled, in order."""
    own = state.ownership
    return [one for one in state.executions.listed() if of_term(own, one)]


def live_execution(state: State, key: str) -> Execution | Rejection:
    """Return the execution of the live term with this key, or that it is none."""
    own = state.ownership
    known = state.executions.by_key.get(key)
    if known is not None and admitted(own, known):
        return known
    what = "admit it first"
    if known is not None and known.settled:
        what = (
            f"it was settled {known.outcome} in an earlier one; unfinished work goes "
            "on under a new message id"
        )
    elif known is not None and known.stripped:
        what = (
            f"it was stripped at version {known.stripped}; send it again under a new id"
        )
    return refuse(
        NotAdmitted,
        f"{key} is no execution of the live term: {what}",
        key=key,
        generation=own.generation,
        cut=own.cut.version if own.cut else 0,
    )


def open_execution(state: State, key: str) -> Execution | Rejection:
    """Return the execution of the live term with this key, if it is not settled."""
    known = live_execution(state, key)
    if isinstance(known, Rejection):
        return known
    return refuse_settled(known) if known.settled else known


def refuse_settled(known: Execution) -> Rejection:
    """Refuse because the execution was settled: the first outcome stands."""
    return refuse(
        AlreadyDecided,
        f"{known.key} was settled {known.outcome} at version {known.settled}: "
        "unfinished work goes on under a new message id",
        first=known.outcome,
        version=known.settled,
    )


def acting_at(state: State, version: int) -> Execution | None:
    """Return what the latest term worked on then: started last, not settled yet."""
    own = state.ownership
    running = [
        one
        for one in state.executions.by_key.values()
        if of_term(own, one)
        and one.absorbed_by is None
        and 0 < one.started <= version
        and not 0 < one.settled <= version
    ]
    return max(running, key=lambda one: one.started, default=None)


def no_message(owner: OwnerRef, key: str) -> Rejection:
    """Refuse because the owner knows no such message."""
    return refuse(NotFound, f"{owner} knows no message {key}", kind="execution", id=key)
