"""Calls, approvals, interrupts and notices, said again (`tables_again`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from plain_events import Said, moment
from tenure_ledger.rows import Column

__all__ = ["interrupts", "notices", "requests", "tool_calls"]

Owner = tuple[str, str]
Made = tuple[Column, ...]
Steps = dict[str, Said]
"""The first event of each kind about one thing."""


def tool_calls(owner: Owner, said: list[Said]) -> Iterator[Made]:
    """Yield the row of every call."""
    calls: dict[tuple[str, str], Steps] = {}
    for one in said:
        at = (one.get("key"), one.get("call_id"))
        if one.kind == "tool-call-intended":
            calls.setdefault(at, {})
        if at in calls:
            calls[at].setdefault(one.kind, one)
    for at, steps in calls.items():
        asked = steps["tool-call-intended"]
        dispatched, completed, closed = (
            steps.get(f"tool-call-{name}")
            for name in ("dispatched", "completed", "closed")
        )
        late = steps.get("late-result")
        state = "dispatched" if dispatched else "intended"
        yield (
            *owner,
            *at,
            asked.get("tool"),
            "completed" if completed else "closed" if closed else state,
            _of(closed, "outcome"),
            asked.get("idempotency_key"),
            asked.get("arguments"),
            _of(late or completed, "result"),
            *_versions(asked, dispatched, completed, closed, late),
            *_moments(asked, dispatched, completed or closed),
        )


def requests(owner: Owner, said: list[Said]) -> Iterator[Made]:
    """Yield the row of every request for a decision."""
    for request, steps in _by(said, "request_id").items():
        asked = steps["approval-requested"]
        decided, consumed, closed = (
            steps.get(f"approval-{name}") for name in ("decided", "consumed", "closed")
        )
        state = _of(decided, "decision") or "waiting"
        yield (
            *owner,
            request,
            *(asked.get(name) for name in ("call_id", "tool", "arguments_digest")),
            asked.get("policy_version"),
            "consumed" if consumed else "closed" if closed else state,
            _of(decided, "decision"),
            _of(decided, "author"),
            _of(closed, "reason"),
            asked.get("timeout_seconds"),
            moment(asked.get("expires_at")),
            *_versions(asked, decided, consumed, closed),
            *_moments(asked, decided, consumed or closed),
        )


def interrupts(owner: Owner, said: list[Said]) -> Iterator[Made]:
    """Yield the row of every interrupt."""
    for interrupt, steps in _by(said, "interrupt_id").items():
        opened = steps["stale-request-stripped"]
        settled = steps.get("interrupt-settled")
        yield (
            *owner,
            interrupt,
            *(opened.get(name) for name in ("key", "verdict", "cut", "author")),
            *(*_versions(opened), *_moments(opened)),
            _of(settled, "outcome"),
            *(*_versions(settled), *_moments(settled)),
        )


def notices(owner: Owner, said: list[Said]) -> Iterator[Made]:
    """Yield the row of every notice, without its text."""
    told: dict[str, tuple[Said, Said | None, Said | None]] = {}
    for one in said:
        notice = str(one.get("notice"))
        if one.kind == "notice-issued":
            told.setdefault(notice, (one, None, None))
        elif one.kind == "notice-delivered":
            issued, given, done = told[notice]
            if done is None and _of(given, "key") != one.get("key"):
                told[notice] = (issued, one, None)
        elif one.kind == "execution-settled":
            for at, (issued, given, done) in told.items():
                if given is None or done or given.get("key") != one.get("key"):
                    continue
                ended = one.get("outcome") == "completed"
                told[at] = (issued, given, one) if ended else (issued, None, None)
    for notice, (issued, given, done) in told.items():
        about = issued.get("about")
        yield (
            *owner,
            notice,
            *(about["recovery_class"], about["owner_id"]),
            *(issued.get("about_generation"), issued.get("event_type")),
            json.dumps(issued.get("reasons") or []),
            _facts(issued),
            "",
            *(*_versions(issued), *_moments(issued)),
            *(*_versions(given), _of(given, "key"), *_moments(given)),
            *(*_versions(done), *_moments(done)),
        )


def _facts(issued: Said) -> str:
    given: list[dict[str, Any]] = issued.get("facts") or []
    facts = [{name: value for name, value in one.items() if value} for one in given]
    return json.dumps(facts, ensure_ascii=False, sort_keys=True)


def _by(said: list[Said], name: str) -> dict[str, Steps]:
    found: dict[str, Steps] = {}
    for one in said:
        if one.get(name) is not None:
            found.setdefault(one.get(name), {}).setdefault(one.kind, one)
    return found


def _of(one: Said | None, name: str) -> Any:  # noqa: ANN401  a field of any event
    return None if one is None else one.get(name)


def _versions(*steps: Said | None) -> list[int | None]:
    return [None if one is None else one.version for one in steps]


def _moments(*steps: Said | None) -> list[str | None]:
    return [moment(_of(one, "recorded_at")) for one in steps]
