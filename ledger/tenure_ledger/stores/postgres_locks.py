"""What a unit locks until its end, each thing once: the calls, which it sends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tenure_ledger.rows import Column
from tenure_ledger.stores.known_tables import quote
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_place import Place
from tenure_ledger.stores.postgres_tables import Tables
from tenure_ledger.stores.postgres_wire import Call

__all__ = ["ALONE", "AS_WRITER", "Locks"]

AS_WRITER = Call("LOCK TABLE stored_events IN ROW EXCLUSIVE MODE")
"""A writer holds this before it has a transaction id: the horizon rests on it."""
ALONE = Call("LOCK TABLE stored_events IN SHARE ROW EXCLUSIVE MODE")
"""Keeps every writer out."""

_HOLD = sql("hold")
_TRY_HOLD = sql("try_hold")
_HOLD_SHARED = sql("hold_shared")


class Locks:
    """The locks of one unit."""

    def __init__(self, place: Place, tables: Tables) -> None:
        self._place = place
        self._tables = tables
        self._held: set[str] = set()
        self._in_front: set[str] = set()
        """Streams that it has waited for in line, and holds alone."""

    def of_table(self, table: str, where: Mapping[str, Column]) -> list[Call]:
        """Return the calls that keep rows as they are, unless that was done."""
        whole = f"table {table}"
        if whole in self._held:
            return []
        if self._tables.is_kept(table):
            self._held.add(whole)
            return [Call(f"LOCK TABLE {quote(table)} IN SHARE MODE")]
        part = self._tables.part(table, where)
        held = whole if part is None else f"{whole} {part}"
        if held in self._held:
            return []
        self._held.add(held)
        hold = self._call(_HOLD, held)
        return [hold] if part is None else [self._call(_HOLD_SHARED, whole), hold]

    def of_streams(self, streams: Iterable[str]) -> list[Call]:
        """Return the calls that keep others of its kind from these streams."""
        wanted = {f"stream {stream}" for stream in streams} - self._held
        self._held |= wanted
        return [self._call(_HOLD, what) for what in sorted(wanted)]

    def join_line(self, stream: str) -> tuple[Call, bool] | None:
        """Return the call that waits in line for the stream; None: that was done.

        And whether it waits: who holds one already waits for no other, or two would
        wait for each other.
        """
        held = f"line {stream}"
        if held in self._held:
            return None
        waits = not any(one.startswith("line ") for one in self._held)
        self._held.add(held)
        return self._call(_HOLD if waits else _TRY_HOLD, held), waits

    def got_in_front(self, stream: str) -> None:
        """Note that the unit holds the stream alone."""
        self._in_front.add(stream)

    def line(self, stream: str) -> bytes | None:
        """Return the lock that others hold while they wait for the stream in line."""
        if stream in self._in_front:
            return None
        return self._place.lock(f"line {stream}")

    def _call(self, query: str, what: str) -> Call:
        return Call(query, [self._place.lock(what)], [0])
