"""What became of each message, said again (`tables_again`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from plain_events import ENDS, Said, moment
from tenure_ledger.rows import Column

__all__ = ["executions"]

Owner = tuple[str, str]
Made = tuple[Column, ...]
Message = dict[str, Any]

_HUMAN = {"human", "human_successor_root"}


def executions(owner: Owner, said: list[Said]) -> Iterator[Made]:
    """Yield the row of every message."""
    messages: dict[str, Message] = {}
    for one in said:
        _message(messages, one)
        ends = one.kind in ENDS and one.kind != "conversation-deleted"
        if ends or (one.kind == "authority-revoked" and one.get("ends_holding")):
            _free(messages)
    last = said[-1]
    for key, its in messages.items():
        absorbed = its["absorbed"]
        yield (
            *owner,
            key,
            _status(its, last),
            its.get("outcome"),
            its.get("origin"),
            its.get("sender"),
            its.get("digest"),
            int(its.get("human", False)),
            its.get("term", 0),
            its.get("generation", 0),
            its.get("incarnation"),
            json.dumps(absorbed, ensure_ascii=False) if absorbed else None,
            its.get("lead"),
            its.get("into"),
            *(its.get(name) for name in ("accepted", "admitted", "started", "output")),
            *(its.get(name) for name in ("settled", "stripped", "verdict", "late")),
            *(moment(its.get(f"{name}_at")) for name in ("known", "admitted")),
            *(moment(its.get(f"{name}_at")) for name in ("started", "ended")),
        )


def _message(messages: dict[str, Message], one: Said) -> None:
    if one.kind not in _MESSAGE or (one.kind == "late-result" and one.get("call_id")):
        return
    at = one.get("recorded_at")
    its = messages.setdefault(one.get("key"), {"absorbed": []})
    match one.kind:
        case "submission-accepted":
            _first(its, accepted=one.version, known_at=at)
            _first(its, sender=one.get("sender"), digest=one.get("content_digest"))
            its["human"] = its.get("human") or bool(one.get("vouched_human"))
        case "execution-admitted":
            _admit(messages, its, one)
        case "execution-started":
            for each in _sharing(messages, its, one):
                each.update(started=one.version, started_at=at, into=one.get("into"))
        case "execution-settled":
            for each in _sharing(messages, its, one):
                each.update(settled=one.version, outcome=one.get("outcome"))
                _first(each, ended_at=at)
        case "stale-request-stripped":
            its.update(stripped=one.version, verdict=one.get("verdict"))
            _first(its, known_at=at, ended_at=at)
        case _:
            its["late" if one.kind == "late-result" else "output"] = one.version


_MESSAGE = {
    "submission-accepted",
    "execution-admitted",
    "execution-started",
    "execution-settled",
    "stale-request-stripped",
    "output-started",
    "late-result",
}


def _sharing(
    messages: dict[str, Message], its: Message, one: Said
) -> Iterator[Message]:
    """Yield the message, and what it absorbed, which shares start and settle."""
    absorbed = [messages[key] for key in its["absorbed"]]
    yield its
    for each in absorbed:
        if _open(each) and each.get("lead") == one.get("key"):
            yield each


def _admit(messages: dict[str, Message], its: Message, one: Said) -> None:
    at = one.get("recorded_at")
    absorbed: list[str] = one.get("absorbed") or []
    for key in (one.get("key"), *absorbed):
        each = messages.setdefault(key, {"absorbed": []})
        each.update(admitted=one.version, admitted_at=at, term=one.term)
        each.update(generation=one.get("generation"), incarnation=one.incarnation)
        each["lead"] = None if each is its else one.get("key")
        _first(each, known_at=at)
    its.update(origin=one.get("origin"), absorbed=absorbed)
    _first(its, sender=one.get("sender"), digest=one.get("content_digest"))
    its["human"] = its.get("human") or one.get("origin") in _HUMAN


def _free(messages: dict[str, Message]) -> None:
    """End what was only admitted, and what it took, which goes on by itself."""
    ended = {
        key for key, its in messages.items() if _open(its) and not its.get("accepted")
    }
    for its in messages.values():
        if its.get("lead") in ended and _open(its):
            its["lead"] = None


def _first(its: Message, **values: object) -> None:
    for name, value in values.items():
        if its.get(name) is None:
            its[name] = value


def _open(its: Message) -> bool:
    return not its.get("settled") and not its.get("stripped")


def _status(its: Message, last: Said) -> str:
    if not _open(its):
        return "settled" if its.get("settled") else "stripped"
    running = last.status in {"live", "imported"}
    if last.status == "deleted":
        return "lapsed"
    if running and its.get("admitted") and its.get("term") == last.term:
        return "started" if its.get("started") else "admitted"
    return "waiting" if its.get("accepted") else "lapsed"
