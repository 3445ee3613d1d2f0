"""Let a recorder of `eventsourcing` write through a unit of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from uuid import UUID

from eventsourcing.persistence import IntegrityError, StoredEvent

from tenure_ledger.errors import Fault, OutcomeUnknown
from tenure_ledger.rows import Conflict, Doubtful, EventRow, Unit, row_hash

__all__ = ["Write", "record"]

Write = Callable[[], AbstractContextManager[Unit]]
"""Return a unit with the recorder's own deadline."""

_TRIES_MAX = 10


def record(write: Write, stored_events: Sequence[StoredEvent]) -> Sequence[int]:
    """Append events, with the hash of each, and return their positions.

    A commit in doubt is looked up, and its own rows are no conflict (design section
    12). Raises IntegrityError (of `eventsourcing`) when a version exists already, and
    the faults of the store.
    """
    rows = [_row(event) for event in stored_events]
    doubtful: Doubtful | None = None
    for _ in range(_TRIES_MAX):
        try:
            with write() as unit:
                if doubtful is not None and (found := _stored(unit, rows)):
                    unit.confirm()
                    unit.commit()
                    return found
                positions = unit.add(rows, None)
                unit.commit()
                return positions
        except Conflict as conflict:
            raise IntegrityError(str(conflict)) from conflict
        except Doubtful as problem:
            doubtful = problem
        except Fault as problem:
            if doubtful is None:
                raise
            raise _unknown(problem) from problem
    raise _unknown(doubtful) from doubtful


def _stored(unit: Unit, rows: Sequence[EventRow]) -> list[int]:
    """Return the positions of these very rows; empty if they are not stored."""
    found: list[int] = []
    for row in rows:
        stored = unit.tail(row.stream, row.version)[:1]
        found += [one.position for one in stored if one.hash == row.hash]
    return found if len(found) == len(rows) else []


def _unknown(problem: BaseException | None) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"a commit of recorded events was sent and not confirmed ({problem}): look "
        "whether they are there",
        "",
    )


def _row(event: StoredEvent) -> EventRow:
    name = event.originator_id
    stream = name.hex if isinstance(name, UUID) else name
    version, topic, state = event.originator_version, event.topic, event.state
    digest = row_hash(stream, version, topic, state)
    return EventRow(0, stream, version, topic, state, digest)
