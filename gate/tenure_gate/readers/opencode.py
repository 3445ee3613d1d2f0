"""OpenCode session messages: ``{"info": {...}, "parts": [...]}``.

``info`` has the id, the role, the session and, for an answer, ``parentID``: the request
that it hangs on. A tool part holds a call and, once it is done, its result, so a call
and its result are never apart.

A host vouches for a person with a callable, or with ``human``: true in ``info``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Any, cast

from tenure_gate.readers.protocol import SYSTEM, Human, Message, Role, Said
from tenure_gate.readers.shapes import (
    Fields,
    check_human,
    fields_of,
    is_fields,
    is_plain_id,
    mark,
    optional_text,
    pieces,
    role_of,
    text_of,
    vouched,
)

__all__ = ["OpenCodeReader"]

_SHARED = ("sessionID", "agent", "model")
"""What requests of one session have in common."""
_MARKS = frozenset({"id", "messageID", "sessionID", "time"})
"""What two parts that say the same may differ in."""
_DONE = frozenset({"completed", "error"})


class OpenCodeReader:
    """Reads OpenCode session messages.

    ``human`` is how a host vouches that a person sent a message; without it ``human``
    in its ``info`` does.
    """

    def __init__(self, *, human: Human | None = None) -> None:
        self._human = check_human(human)

    def role(self, message: Message) -> Role:
        """Say what the message is; checks the shape of the whole message."""
        fields = fields_of("a message", message)
        info = fields_of("info", fields.get("info"))
        pieces("parts", fields.get("parts"))
        return role_of("info.role", info.get("role"))

    def glance(self, message: Message) -> Said | None:
        """Say all of a message of the plainest shape at once; None: ask the methods.

        Never anything else than they say. It is what makes long lists quick to read.
        """
        fields: Fields = message
        if type(message) is not dict:
            return None
        info: object = fields.get("info")
        found = _glance_at(fields.get("parts"))
        if found is None or not is_fields(info) or "metadata" in info:
            return None
        calls, results = found
        role, human = info.get("role"), info.get("human")
        if role == "assistant":
            parent = info.get("parentID")
            if parent is None or (type(parent) is str and parent):
                return "assistant", None, False, parent, calls, results
        elif role == "user":
            key, plain = info.get("id"), human is None or type(human) is bool
            if self._human is None and plain and is_plain_id(key):
                return "user", key, human is True, None, (), results
        return SYSTEM if role == "system" else None

    def id(self, message: Message) -> str | None:
        """Return ``info.id``."""
        return optional_text("info.id", message["info"].get("id"))

    def parent(self, message: Message) -> str | None:
        """Return ``info.parentID``."""
        return optional_text("info.parentID", message["info"].get("parentID"))

    def calls(self, message: Message) -> Sequence[str]:
        """Return the ``callID`` of each tool part."""
        return [
            text_of("callID", part.get("callID"))
            for part in message["parts"]
            if part["type"] == "tool"
        ]

    def results(self, message: Message) -> Sequence[str]:
        """Return the ``callID`` of each tool part that is completed or failed."""
        return [
            text_of("callID", part.get("callID"))
            for part in message["parts"]
            if _is_result(part)
        ]

    def human(self, message: Message) -> bool:
        """Ask the host's callable, or look at ``info.human``."""
        if self._human is not None:
            return vouched(self._human(message))
        return vouched(mark(message["info"], "human"))

    def same(self, first: Message, second: Message) -> bool:
        """Compare the parts, but for their ids and times."""
        return _said(first) == _said(second)

    def note(self, text: str, like: Message | None = None) -> dict[str, Any]:
        """Return a user message with one synthetic text part.

        The host reads ids, so it has one: the same text has the same id every time.
        """
        given: Fields = {} if like is None else like["info"]
        shared = {name: given[name] for name in _SHARED if name in given}
        name = sha256(text.encode(errors="replace")).hexdigest()[:24]
        info = {**shared, "id": f"msg_note_{name}", "role": "user"}
        return {"info": info, "parts": [_text_part(info, text)]}

    def replace(self, message: Message, text: str) -> dict[str, Any]:
        """Return a copy with one text part instead of its parts."""
        return {**message, "parts": [_text_part(message["info"], text)]}

    def part(
        self, message: Message, results: Collection[int], *, rest: bool
    ) -> dict[str, Any]:
        """Return a copy with these tool parts, and the other parts or none of them."""
        kept: list[Fields] = []
        place = 0
        for part in message["parts"]:
            if not _is_result(part):
                if rest:
                    kept.append(part)
                continue
            if place in results:
                kept.append(part)
            place += 1
        return {**message, "parts": kept}


def _glance_at(parts: object) -> tuple[list[str], list[str]] | None:
    """Return the ids of calls and of results; None: it must be looked at twice."""
    if not isinstance(parts, list):
        return None
    calls: list[str] = []
    results: list[str] = []
    for part in cast("list[object]", parts):
        if not is_fields(part):
            return None
        kind = part.get("type")
        if type(kind) is not str:
            return None
        if kind == "tool":
            name = part.get("callID")
            if type(name) is not str or not name:
                return None
            calls.append(name)
            if _is_result(part):
                results.append(name)
    return calls, results


def _is_result(part: Fields) -> bool:
    state = part.get("state")
    if part["type"] != "tool" or not is_fields(state):
        return False
    status = state.get("status")
    return isinstance(status, str) and status in _DONE


def _said(message: Fields) -> list[dict[str, Any]]:
    return [
        {name: part[name] for name in part if name not in _MARKS}
        for part in message["parts"]
    ]


def _text_part(info: Fields, text: str) -> dict[str, Any]:
    part = {"type": "text", "text": text, "synthetic": True}
    if "sessionID" in info:
        part["sessionID"] = info["sessionID"]
    if info.get("id") is not None:
        part["messageID"] = info["id"]
        part["id"] = f"prt_{info['id']}"
    return part
