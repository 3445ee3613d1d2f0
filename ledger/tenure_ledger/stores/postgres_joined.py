"""One statement for all that a lone command writes: planned, sent and run at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain

from tenure_ledger.stores.postgres_wire import SAME, Call

__all__ = ["ADDED", "Joined"]

ADDED = "added"
"""What the statement calls the event that it has inserted: the others select from it,
so none is run before it and none without it."""

_SHAPES_MAX = 64
_PLACE = re.compile(r"\$(\d+)")


class Joined:
    """Makes one statement of several, once for each shape.

    ``put`` takes a statement that puts a row, and returns its table and the same with
    places from a number on, selecting from `ADDED`; None for any other statement.

    All parts see the tables as they were before the first of them. So only what meets
    no other's row is joined: one event, its command, one body, one row of each table.
    """

    def __init__(
        self,
        events: Sequence[str],
        others: Sequence[str],
        put: Callable[[str, int], tuple[str, str] | None],
    ) -> None:
        self._events = frozenset(events)
        self._others = frozenset(others)
        self._put = put
        self._made: dict[tuple[str, ...], str | None] = {}

    def of(self, calls: list[Call]) -> list[Call]:
        """Return one call instead of these, or these."""
        shape = tuple([call.sql for call in calls])
        if shape not in self._made:
            if len(self._made) >= _SHAPES_MAX:
                return calls
            self._made[shape] = self._join(calls)
        sql = self._made[shape]
        if sql is None:
            return calls
        values = list(chain.from_iterable([call.values for call in calls]))
        formats = list(chain.from_iterable([call.formats for call in calls]))
        return [Call(sql, values, formats)]

    def forget(self) -> None:
        """Make them anew: tables have changed."""
        self._made.clear()

    def _join(self, calls: list[Call]) -> str | None:
        event, *rest = calls
        if not rest or event.sql not in self._events:
            return None
        parts = [f"{ADDED} AS (\n{event.sql}\n)"]
        places, met = len(event.values), set[str]()
        for call in rest:
            part = self._part(call.sql, places + 1)
            if part is None or part[0] in met:
                return None
            met.add(part[0])
            parts.append(f"other_{len(met)} AS (\n{part[1]}\n)")
            places += len(call.values)
        return f"WITH {', '.join(parts)}\nSELECT position FROM {ADDED}"

    def _part(self, sql: str, first: int) -> tuple[str, str] | None:
        if sql not in self._others:
            return self._put(sql, first)
        # One of our own files: its values are places and nothing else. The event is
        # inserted where the ledger is the same, and the others with it.
        moved = _PLACE.sub(lambda place: f"${int(place[1]) + first - 1}", sql)
        return sql, moved.replace(f"WHERE {SAME}", f"FROM {ADDED}")
