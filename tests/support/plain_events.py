"""One stream's events as plain headers, and who held its owner after each.

From the design alone, without a fold of the library: see `tables_again`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

__all__ = ["ENDS", "Header", "Said", "moment", "said_in"]

Header = tuple[str, int, str, bytes]
"""Stream, version, topic, state: four columns of ``stored_events``."""
ENDS = {
    "retirement-cut": "cut",
    "owner-terminated": "terminal",
    "conversation-deleted": "deleted",
}
"""What ends a holding, and the status after it."""


class Said(NamedTuple):
    """One event of an owner's stream, and who held the owner right after it."""

    version: int
    kind: str
    has: dict[str, Any]
    term: int
    incarnation: str | None
    agent: str | None
    status: str

    def get(self, name: str) -> Any:  # noqa: ANN401  a field of any event
        """Return a field, None where the header does not have it."""
        return self.has.get(name)


def said_in(headers: list[Header]) -> list[Said]:
    """Return the events, in order."""
    said: list[Said] = []
    term, incarnation, agent, status, parent = 0, None, None, "absent", None
    for _, version, topic, state in headers:
        kind, has = topic.partition(".")[0], json.loads(state)
        if kind in {"ownership-claimed", "generation-advanced"}:
            parent = has.get("parent") or parent
            if has.get("reason") != "lease_renewal":
                same = status == "live" and agent == has.get("agent_id")
                on = {"instance_restart", "migration"}
                term += not (same and has.get("reason") in on)
                incarnation, agent = has["event_id"], has.get("agent_id")
                nobody = agent is None and parent is None
                status = "imported" if nobody or has["generation"] == 0 else "live"
        elif kind == "authority-revoked" and has.get("ends_holding"):
            status = "revoked"
        else:
            status = ENDS.get(kind, status)
        said.append(Said(version, kind, has, term, incarnation, agent, status))
    return said


def moment(text: str | None) -> str | None:
    """Return a time of a header as the tables have it."""
    if text is None:
        return None
    at = datetime.fromisoformat(text).astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond:06}Z"
