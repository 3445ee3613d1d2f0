"""Messages of the Anthropic Messages API: content blocks.

``{"role": "user", "content": [{"type": "text", "text": "…"}], "id": "msg_1"}``. Calls
are ``tool_use`` blocks of the assistant, results ``tool_result`` blocks of the next
user message; tools that run at the provider have both in the assistant's message.

A user message of results alone is no request. One of results and text is both: its
results hang on the request whose calls they answer, the rest is a request of its own,
under the id of the message. Where only one of the two is shown, the view holds a copy
with those blocks.

The provider gives requests no id, so the host does: under ``id`` or in ``metadata``.
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
    fields_of,
    is_fields,
    is_plain_id,
    mark,
    optional_text,
    role_of,
    said,
    text_of,
    vouched,
)
from tenure_ledger.errors import InvalidInput

__all__ = ["AnthropicReader"]

_CALL = "tool_use"
"""And server_tool_use, mcp_tool_use."""
_RESULT = "tool_result"
"""And web_search_tool_result, mcp_tool_result, whatever a provider's tool returns."""


class AnthropicReader:
    """Reads Anthropic messages.

    ``human`` is how a host vouches that a person sent a message; without it the mark
    ``human`` in the message does.
    """

    def __init__(self, *, human: Human | None = None) -> None:
        self._human = check_human(human)

    def role(self, message: Message) -> Role:
        """Say what the message is; a user message of results alone is a ``tool``'s."""
        fields = fields_of("a message", message)
        content = content_of(fields)
        if content is None:
            msg = "a message has no content"
            raise InvalidInput(msg)
        role = role_of("role", fields.get("role"))
        if role == "user" and content and not isinstance(content, str):
            return "tool" if all(map(_is_result, content)) else "user"
        return role

    def glance(self, message: Message) -> Said | None:
        """Say all of a message of the plainest shape at once; None: ask the methods.

        Never anything else than they say. It is what makes long lists quick to read.
        """
        fields: Fields = message
        if type(message) is not dict or "metadata" in fields:
            return None
        role: object = fields.get("role")
        content: Any = fields.get("content")
        found = _glance_at(content)
        if found is None:
            return None
        calls, results = found
        if role == "assistant":
            if "parent_id" in fields:
                return None
            if not (calls or results):
                return SPOKE
            return "assistant", None, False, None, calls, results
        if role == "user":
            if results and len(results) == len(content):
                return "tool", None, False, None, (), results
            key, human = fields.get("id"), fields.get("human")
            plain = human is None or type(human) is bool
            if self._human is None and plain and is_plain_id(key):
                return "user", key, human is True, None, (), results
        return SYSTEM if role == "system" else None

    def id(self, message: Message) -> str | None:
        """Return ``id``, or that of ``metadata``."""
        return optional_text("id", mark(message, "id"))

    def parent(self, message: Message) -> str | None:
        """Return ``parent_id``, or that of ``metadata``."""
        return optional_text("parent_id", mark(message, "parent_id"))

    def calls(self, message: Message) -> Sequence[str]:
        """Return the ids of the ``tool_use`` blocks."""
        return [
            text_of(f"the id of a {block['type']} block", block.get("id"))
            for block in _blocks(message)
            if block["type"].endswith(_CALL)
        ]

    def results(self, message: Message) -> Sequence[str]:
        """Return the ``tool_use_id`` of the ``tool_result`` blocks."""
        return [
            text_of("tool_use_id", block.get("tool_use_id"))
            for block in _blocks(message)
            if _is_result(block)
        ]

    def human(self, message: Message) -> bool:
        """Ask the host's callable, or look at the mark ``human``."""
        if self._human is not None:
            return vouched(self._human(message))
        return vouched(mark(message, "human"))

    def same(self, first: Message, second: Message) -> bool:
        """Compare all blocks but results; where a cache ends is no matter."""
        return _request(first) == _request(second)

    def note(self, text: str, like: Message | None = None) -> dict[str, Any]:
        """Return a user message with this text."""
        del like
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def replace(self, message: Message, text: str) -> dict[str, Any]:
        """Return a copy with its results and this text."""
        results = [block for block in _blocks(message) if _is_result(block)]
        return {**message, "content": [*results, {"type": "text", "text": text}]}

    def part(
        self, message: Message, results: Collection[int], *, rest: bool
    ) -> dict[str, Any]:
        """Return a copy with these results, and the other blocks or none of them."""
        kept: list[Fields] = []
        place = 0
        for block in _blocks(message):
            if not _is_result(block):
                if rest:
                    kept.append(block)
                continue
            if place in results:
                kept.append(block)
            place += 1
        return {**message, "content": kept}


def _glance_at(content: object) -> tuple[list[str], list[str]] | None:
    """Return the ids of calls and of results; None: it must be looked at twice."""
    calls: list[str] = []
    results: list[str] = []
    if type(content) is str:
        return calls, results
    if not isinstance(content, list):
        return None
    for block in cast("list[object]", content):
        if not is_fields(block):
            return None
        kind = block.get("type")
        if kind == "text":
            continue
        if type(kind) is not str:
            return None
        result = kind.endswith(_RESULT)
        if result or kind.endswith(_CALL):
            name = block.get("tool_use_id" if result else "id")
            if type(name) is not str or not name:
                return None
            (results if result else calls).append(name)
    return calls, results


def _blocks(message: Fields) -> Sequence[Fields]:
    content = message["content"]
    return () if isinstance(content, str) else content


def _is_result(block: Fields) -> bool:
    return bool(block["type"].endswith(_RESULT))


def _request(message: Fields) -> list[dict[str, Any]]:
    content = message["content"]
    if isinstance(content, str):
        return said(content)
    return said([block for block in content if not _is_result(block)])
