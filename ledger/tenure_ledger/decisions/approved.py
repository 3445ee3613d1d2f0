"""Whether a call may be dispatched under its approval (design section 7)."""

from __future__ import annotations

from tenure_ledger.errors import (
    AlreadyDecided,
    KeyReused,
    NotAdmitted,
    NotFound,
    Rejection,
    refuse,
)
from tenure_ledger.folds.effects import Approval, Effects
from tenure_ledger.folds.stream import State

__all__ = ["latest", "usable"]


def latest(effects: Effects, call_id: str) -> Approval | None:
    """Return the latest request for this call."""
    at = effects.by_call.get(call_id)
    return None if at is None else effects.approvals[at]


def usable(
    state: State,
    call_id: str,
    tool: str,
    arguments: str,
    request_id: str | None,
    policy_version: str | None = None,
) -> Rejection | None:
    """Return why this call may not be dispatched under this approval, if so.

    Without a request id the latest request of this term for the call id decides, unless
    another call has used it. ``policy_version`` is the one in force now; None: not
    asked.
    """
    known = latest(state.effects, call_id)
    if request_id is None and known is not None:
        used_up = known.consumed or known.requested < state.ownership.term_version
        known = None if used_up else known
    if request_id is not None:
        known = state.effects.approvals.get(request_id)
        if known is None:
            return refuse(
                NotFound,
                f"there is no approval request {request_id}",
                kind="approval",
                id=request_id,
            )
    if known is None:
        return None
    if (known.call_id, known.tool, known.arguments) != (call_id, tool, arguments):
        return refuse(
            KeyReused,
            f"approval {known.request_id} is for call {known.call_id} of {known.tool} "
            "with other arguments: ask again for this one",
            request_id=known.request_id,
        )
    if policy_version is not None and policy_version != known.policy_version:
        return refuse(
            KeyReused,
            f"approval {known.request_id} was asked for under policy version "
            f"{known.policy_version}, and now it is {policy_version}: close it and ask "
            "again",
            request_id=known.request_id,
            policy_version=known.policy_version,
        )
    return _approved(known, named=request_id is not None)


def _approved(known: Approval, *, named: bool) -> Rejection | None:
    if known.consumed or known.closed or known.decision == "denied":
        first = "consumed" if known.consumed else known.reason or known.decision
        return refuse(
            AlreadyDecided,
            f"approval {known.request_id} is {first}: do not run the call",
            first=first,
            request_id=known.request_id,
        )
    if not known.decided:
        return refuse(
            NotAdmitted,
            f"approval {known.request_id} is not decided: wait for it",
            request_id=known.request_id,
        )
    if not named:
        return refuse(
            NotAdmitted,
            f"the call has approval {known.request_id}: pass approval=",
            request_id=known.request_id,
        )
    return None
