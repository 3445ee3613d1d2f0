"""The rows of two tables as a session's latest command leaves them, whole."""

from __future__ import annotations

from written import Session

from tenure_ledger.rows import RowChange

__all__ = ["table_rows"]


def table_rows(session: Session, at: str, prefix: str = "new") -> list[RowChange]:
    """Return the rows of the session's latest step: admit, start or settle."""
    number, phase = divmod(session.version - 2, 3)
    versions = [session.version - phase + done for done in range(phase + 1)]
    admitted, started, settled = (*versions, None, None)[:3]
    key = ("session", session.owner.owner_id, f"{prefix}_{number:08d}")
    state = ("admitted", "started", "settled")[phase]
    outcome = "completed" if phase == 2 else None  # noqa: PLR2004  the third step
    row = (
        *key,
        *(state, outcome, "assistant_run", None, None, 0, 1, 1, session.incarnation),
        *(None, None, None, None, admitted, started, None, settled, None, None, None),
        *(at, at, at if started else None, at if settled else None),
    )
    changes = [RowChange("chat_executions", key, row)]
    if phase == 1 or session.version == 2:  # noqa: PLR2004  the first admission
        owner = ("session", session.owner.owner_id)
        held = (*owner, 1, session.agent_id, key[-1], at, None, None)
        changes.append(RowChange("recovery_owners", owner, held))
    return changes
