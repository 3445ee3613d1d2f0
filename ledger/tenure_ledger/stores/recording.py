"""Let a recorder of `eventsourcing` write through a unit of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

from eventsourcing.persistence import IntegrityError, StoredEvent

from tenure_ledger.rows import Conflict, EventRow, Unit, row_hash

__all__ = ["Write", "record"]

Write = Callable[[], AbstractContextManager[Unit]]
"""Return a unit with the recorder's own deadline."""


def record(write: Write, stored_events: Sequence[StoredEvent]) -> Sequence[int]:
    """Append events, with the hash of each, and return their positions.

    Raises IntegrityError (of `eventsourcing`) when a version exists already, and the
    faults of the store.
    """
    try:
        with write() as unit:
            positions = unit.add([_row(event) for event in stored_events], None)
            unit.commit()
    except Conflict as conflict:
        raise IntegrityError(str(conflict)) from conflict
    return positions


def _row(event: StoredEvent) -> EventRow:
    name = event.originator_id
    stream = name.hex if isinstance(name, UUID) else name
    version, topic, state = event.originator_version, event.topic, event.state
    digest = row_hash(stream, version, topic, state)
    return EventRow(0, stream, version, topic, state, digest)
