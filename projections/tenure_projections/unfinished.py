"""Which owners a restart may have to look at: those that the tables say are not done.

Never the proof: whoever is asked about one of them decides on its stream's head.
Source: design section 7, step 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from tenure_ledger.rows import Column, Snapshot
from tenure_ledger.values import OwnerRef

__all__ = ["unfinished"]

_Where = dict[str, Column]

_SOURCES: tuple[tuple[str, tuple[str, str], _Where], ...] = (
    ("runtime_restart_checkpoints", ("recovery_class", "recovery_owner_id"), {}),
    ("chat_executions", ("recovery_class", "session_id"), {"status": "waiting"}),
    ("chat_executions", ("recovery_class", "session_id"), {"status": "admitted"}),
    ("chat_executions", ("recovery_class", "session_id"), {"status": "started"}),
    ("notices", ("recovery_class", "owner_id"), {"done_version": None}),
    # What a notice is about was closed; its children may be left.
    ("notices", ("about_class", "about_id"), {"done_version": None}),
)
"""Table, the columns that name an owner, and which rows."""


def unfinished(
    snapshot: Snapshot, columns: dict[str, tuple[str, ...]]
) -> list[OwnerRef]:
    """Return every such owner once, in the order of class and id.

    ``columns`` are those of each table, by name.
    """
    found: set[tuple[str, str]] = set()
    for table, names, where in _SOURCES:
        found.update(_named(snapshot, table, columns[table], names, where))
    found.update(_unended(snapshot, columns["recovery_owners"]))
    return [OwnerRef(*pair) for pair in sorted(found)]


def _named(
    snapshot: Snapshot,
    table: str,
    columns: tuple[str, ...],
    names: tuple[str, str],
    where: _Where,
) -> Iterator[tuple[str, str]]:
    first, second = map(columns.index, names)
    for row in snapshot.rows(table, where):
        yield str(row[first]), str(row[second])


def _unended(snapshot: Snapshot, columns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield what nobody holds and has not ended, and what is no session and is held.

    The parent of that may have ended, and no table says who it is. A session whose
    parent ended is found as soon as it is given work.
    """
    kind, owner, agent = map(columns.index, ("recovery_class", "owner_id", "agent_id"))
    for row in snapshot.rows("recovery_owners", {"terminal_at": None}):
        if row[agent] is None or row[kind] != "session":
            yield str(row[kind]), str(row[owner])
