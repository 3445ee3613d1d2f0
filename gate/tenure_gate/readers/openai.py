"""OpenAI chat messages, and the plain dicts of all who took that shape over.

``{"role": "user", "content": "…", "id": "msg_1"}``. Roles: system and developer, user,
assistant (with ``tool_calls``), tool (with ``tool_call_id``); of older lists also
``function_call`` and the role function.

The provider gives messages no id, so the host does: under ``id`` or in ``metadata``.
In the same two places it may vouch for a person (``human``: true) and name the message
that an answer hangs on (``parent_id``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from tenure_gate.readers.protocol import SPOKE, SYSTEM, Human, Message, Role, Said
from tenure_gate.readers.shapes import (
    Fields,
    check_human,
    content_of,
    dicts,
    fields_of,
    is_fields,
    is_plain_id,
    mark,
    optional_text,
    pieces,
    said,
    text_of,
    vouched,
)
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import kind_of

__all__ = ["OpenAIReader"]

_ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


class OpenAIReader:
    """Reads OpenAI chat messages; the reader that is used when none is named.

    ``human`` is how a host vouches that a person sent a message; without it the mark
    ``human`` in the message does.
    """

    def __init__(self, *, human: Human | None = None) -> None:
        self._human = check_human(human)

    def role(self, message: Message) -> Role:
        """Say what the message is; checks the shape of the whole message."""
        fields = fields_of("a message", message)
        name = fields.get("role")
        role = _ROLES.get(name) if isinstance(name, str) else None
        if role is None:
            shown = repr(name)[:40] if isinstance(name, str) else kind_of(name)
            msg = f"role must be one of {', '.join(map(str, _ROLES))}, not {shown}"
            raise InvalidInput(msg)
        content = fields.get("content")
        if content is None and role == "user":
            msg = "a user message has no content"
            raise InvalidInput(msg)
        if content is not None and not isinstance(content, str):
            pieces("content", content)
        return role

    def glance(self, message: Message) -> Said | None:
        """Say all of a message of the plainest shape at once; None: ask the methods.

        Never anything else than they say. It is what makes long lists quick to read.
        """
        fields: Fields = message
        if type(message) is not dict or "metadata" in fields:
            return None
        role, content = fields.get("role"), fields.get("content")
        if type(content) is not str and (content is not None or role == "user"):
            return None
        if role == "assistant":
            if "parent_id" in fields or fields.get("function_call") is not None:
                return None
            calls = fields.get("tool_calls")
            return SPOKE if calls is None else _glance_at_calls(calls)
        if role == "tool":
            call = fields.get("tool_call_id")
            if type(call) is str and call:
                return "tool", None, False, None, (), (call,)
        elif role == "user" and self._human is None:
            return _glance_at_request(fields)
        return SYSTEM if role == "system" else None

    def id(self, message: Message) -> str | None:
        """Return ``id``, or that of ``metadata``."""
        return optional_text("id", mark(message, "id"))

    def parent(self, message: Message) -> str | None:
        """Return ``parent_id``, or that of ``metadata``."""
        given = mark(message, "parent_id")
        return None if given is None else optional_text("parent_id", given)

    def calls(self, message: Message) -> Sequence[str]:
        """Return the ids of ``tool_calls``."""
        calls = message.get("tool_calls")
        if calls is None:
            older = message.get("function_call")
            return () if older is None else (_older("function_call", older),)
        return [
            text_of("the id of a tool call", call.get("id"))
            for call in dicts("tool_calls", calls)
        ]

    def results(self, message: Message) -> Sequence[str]:
        """Return the ``tool_call_id`` of a tool message."""
        role = message["role"]
        if role == "tool":
            return (text_of("tool_call_id", message.get("tool_call_id")),)
        return (_older("a function's message", message),) if role == "function" else ()

    def human(self, message: Message) -> bool:
        """Ask the host's callable, or look at the mark ``human``."""
        if self._human is not None:
            return vouched(self._human(message))
        return vouched(mark(message, "human"))

    def same(self, first: Message, second: Message) -> bool:
        """Compare the contents."""
        return said(content_of(first)) == said(content_of(second))

    def note(self, text: str, like: Message | None = None) -> dict[str, Any]:
        """Return a message of role user: it is the one role every provider takes."""
        del like
        return {"role": "user", "content": text}

    def replace(self, message: Message, text: str) -> dict[str, Any]:
        """Return a copy with this content."""
        return {**message, "content": text}

    def part(
        self, message: Message, results: Collection[int], *, rest: bool
    ) -> dict[str, Any]:
        """Return a copy: a message that holds a result holds nothing else."""
        del results, rest
        return dict(message)


def _glance_at_calls(calls: object) -> Said | None:
    if not isinstance(calls, list):
        return None
    names: list[str] = []
    for call in cast("list[object]", calls):
        name = call.get("id") if is_fields(call) else None
        if type(name) is not str or not name:
            return None
        names.append(name)
    return "assistant", None, False, None, names, ()


def _glance_at_request(message: Fields) -> Said | None:
    key, human = message.get("id"), message.get("human")
    if human is not None and type(human) is not bool:
        return None
    if not is_plain_id(key):
        return None
    return "user", key, human is True, None, (), ()


def _older(what: str, holder: object) -> str:
    """Return the name in place of an id: these calls came one at a time."""
    name = fields_of(what, holder).get("name")
    return f"function {text_of(f'the name of {what}', name)}"
