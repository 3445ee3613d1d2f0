"""The tables, said again from the headers alone: plain scans, no fold of the library.

Written from the design and `docs/reference.md`, so that a mistake in a fold shows; a
table that is compared with its own rebuild shows none. Of sound histories only: nothing
here knows of contradictions, or of events of a later release.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from plain_events import ENDS, Header, Said, moment, said_in
from projected import Rows
from tables_again_effects import interrupts, notices, requests, tool_calls
from tables_again_work import executions
from tenure_ledger.rows import Column
from tenure_projections.tables import TABLES

__all__ = ["Body", "tables_again", "unlike"]

Body = Callable[[str, str], bytes | None]
"""Takes a stream and a digest."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def tables_again(headers: Iterable[Header], body: Body) -> Rows:
    """Return all rows of all tables."""
    streams: dict[str, list[Header]] = {}
    for header in headers:
        streams.setdefault(header[0], []).append(header)
    rows: Rows = {table.spec.name: {} for table in TABLES}
    for stream, found in streams.items():
        kind, _, rest = stream.partition(":")
        if kind != "owner":
            continue
        recovery_class, _, owner_id = rest.partition(":")
        owner = (recovery_class, owner_id)
        said = said_in(sorted(found, key=lambda one: one[1]))
        _owner(rows, owner, said)
        for name, make in _MAKERS.items():
            rows[name].update({row[: _KEYS[name]]: row for row in make(owner, said)})
        live = _checkpoint(stream, owner, said, body)
        if live is not None:
            rows["runtime_restart_checkpoints"][live[:1]] = live
    return rows


def unlike(stored: Rows, again: Rows) -> list[str]:
    """Return what differs. The text of a notice is no fact: it is left out."""
    at = NOTICES.spec.columns.index("text")
    found: list[str] = []
    for name, rows in again.items():
        for key in sorted(stored[name].keys() | rows.keys(), key=repr):
            one, two = stored[name].get(key), rows.get(key)
            if name == NOTICES.spec.name and one is not None and two is not None:
                two = (*two[:at], one[at], *two[at + 1 :])
            if one != two:
                found.append(f"{name} {key}: {one} and not {two}")
    return found


(NOTICES,) = (table for table in TABLES if table.spec.name == "notices")
_MAKERS = {
    "chat_executions": executions,
    "interrupts": interrupts,
    "notices": notices,
    "tool_calls": tool_calls,
    "approvals": requests,
}
_KEYS = {table.spec.name: len(table.spec.key) for table in TABLES}


def _owner(rows: Rows, owner: tuple[str, str], said: list[Said]) -> None:
    grants = [one for one in said if one.kind in _GRANTS]
    ended = [one for one in said if one.kind in ENDS]
    for one in ended:
        before = said[max(0, said.index(one) - 1)]
        key = (*owner, one.version)
        if one.kind == "retirement-cut":
            rows["retirement_cuts"][key] = (*key, *_cut(one, before))
        elif one.kind == "owner-terminated":
            end = (*owner, one.get("generation"), one.get("event_type"))
            row = (*end, moment(one.get("recorded_at")), _payload(one))
            rows["recovery_owner_terminal_events"].setdefault(end, row)
    if not grants:
        return
    last = said[-1]
    at, status = None, None
    if last.status in ENDS.values():
        at, status = ended[-1].get("recorded_at"), ended[-1].get("terminal_status")
    rows["recovery_owners"][owner] = (
        *owner,
        grants[-1].get("generation"),
        last.agent if last.status in {"live", "imported"} else None,
        _work(said),
        moment(grants[-1].get("recorded_at")),
        None if last.status == "cut" else moment(at),
        "deleted" if last.status == "deleted" else status,
    )


_GRANTS = {"ownership-claimed", "generation-advanced"}


def _cut(one: Said, before: Said) -> tuple[Column, ...]:
    boundary: dict[str, Any] = one.get("boundary") or {}
    return (
        one.get("generation"),
        before.incarnation,
        before.agent,
        one.get("outcome"),
        boundary.get("message_id"),
        boundary.get("index"),
        one.get("handover"),
        one.get("author"),
        moment(one.get("recorded_at")),
    )


def _payload(one: Said) -> str:
    told = {
        "terminal_status": one.get("terminal_status"),
        "incarnation": one.incarnation,
        "author": one.get("author"),
        "version": one.version,
    }
    return json.dumps(told, sort_keys=True, ensure_ascii=False)


def _work(said: list[Said]) -> str | None:
    """Return what the latest term works on: what began last, else the first of it."""
    term = [one for one in said if one.term == said[-1].term]
    for one in reversed(term):
        if one.kind == "execution-started":
            return str(one.get("into") or one.get("key"))
    admitted = (one.get("key") for one in term if one.kind == "execution-admitted")
    return next(admitted, None)


def _checkpoint(
    stream: str, owner: tuple[str, str], said: list[Said], body: Body
) -> tuple[Column, ...] | None:
    live: Said | None = None
    created, generation = "", 0
    for one in said:
        if one.kind == "checkpoint-saved":
            created = created if live is not None else one.get("recorded_at")
            live, generation = one, one.get("generation")
        elif one.kind == "checkpoint-cleared":
            live = None
        elif one.kind == "generation-advanced" and live is not None:
            carried = one.get("agent_id") == live.agent
            generation = one.get("generation") if carried else generation
    if live is None or live.agent is None:
        return None
    stored = body(stream, live.get("payload"))
    parts: dict[str, Any] = {} if stored is None else json.loads(stored)
    payload, config = parts.get("payload"), parts.get("execution_config")
    return (
        live.agent,
        live.get("mode"),
        None if stored is None else _readable(payload),
        _milliseconds(created),
        _milliseconds(live.get("recorded_at")),
        *owner,
        None if config is None else _readable(config),
        generation,
    )


def _readable(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _milliseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)
