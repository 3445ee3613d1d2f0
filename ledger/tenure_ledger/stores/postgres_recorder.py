"""The recorder of `eventsourcing` on our table and our connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    Notification,
    StoredEvent,
)

from tenure_ledger.errors import InvalidInput
from tenure_ledger.rows import Row
from tenure_ledger.stores.postgres_wire import SAME, Call
from tenure_ledger.stores.recording import Write, record

__all__ = ["Recorder"]

_POSITION_MAX = 2**63 - 1
_HIGHEST = f"SELECT max(position) FROM stored_events WHERE {SAME}"  # noqa: S608
_COLUMNS = "originator_id, originator_version, topic, state"


class Recorder(ApplicationRecorder):
    """Reads as the stock recorder does; writes through a unit of ours."""

    def __init__(self, write: Write, ask: Callable[[Call], list[Row]]) -> None:
        super().__init__()
        self._write = write
        self._ask = ask

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,  # noqa: ANN401, ARG002  the signature that is overridden
    ) -> Sequence[int]:
        """Append events with the hash of each and return their positions.

        Raises IntegrityError (of `eventsourcing`) when a version exists already.
        """
        return list(record(self._write, stored_events))

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return events of a stream."""
        name = originator_id.hex if isinstance(originator_id, UUID) else originator_id
        last = _POSITION_MAX if lte is None else lte
        order = "DESC" if desc else "ASC"
        query = (
            f"SELECT {_COLUMNS} FROM stored_events "  # noqa: S608
            f"WHERE {SAME} AND originator_id = $1 AND originator_version > $2 "
            "AND originator_version <= $3 "
            f"ORDER BY originator_version {order} LIMIT $4"
        )
        values = [
            name.encode(),
            b"%d" % (-1 if gt is None else gt),
            b"%d" % last,
            None if limit is None else b"%d" % limit,
        ]
        found = self._ask(Call(query, values, (1, 0, 0, 0)))
        return [StoredEvent(*_event(row)) for row in found]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return events of all streams in the order of their positions."""
        first = 0 if start is None else start
        if start is not None and not inclusive_of_start:
            first += 1
        places = ", ".join(f"${at}" for at in range(4, 4 + len(topics)))
        query = (
            f"SELECT position, {_COLUMNS} FROM stored_events "  # noqa: S608
            f"WHERE {SAME} AND position >= $1 AND position <= $2 "
            f"{f'AND topic IN ({places}) ' if topics else ''}"
            "ORDER BY position LIMIT $3"
        )
        last = _POSITION_MAX if stop is None else stop
        values = [b"%d" % first, b"%d" % last, b"%d" % limit]
        values += [topic.encode() for topic in topics]
        found = self._ask(Call(query, values, (0, 0, 0, *(1 for _ in topics))))
        return [Notification(*_event(row[1:]), id=int(row[0] or 0)) for row in found]

    def max_notification_id(self) -> int | None:
        """Return the highest position, None in an empty ledger."""
        ((highest,),) = self._ask(Call(_HIGHEST))
        return None if highest is None else int(highest)

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> NoReturn:
        """Refuse: a subscription would pass what may still be committed."""
        raise InvalidInput(f"Follow the ledger instead (after {gt}, {topics}): follow.")


def _event(row: Row) -> tuple[str, int, str, bytes]:
    stream, version, topic, state = cast("tuple[str, int, str, bytes]", row)
    return stream, version, topic, state
