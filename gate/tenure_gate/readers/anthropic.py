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
from typing import Any

from tenure_gate.readers.protocol import Human, Message, Role
from tenure_gate.readers.shapes import (
    Fields,
    check_human,
    content_of,
    fields_of,
    mark,
    optional_text,
    said,
    text_of,
    vouched,
)
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import kind_of

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
        match fields.get("role"):
            case "user":
                if isinstance(content, str) or not content:
                    return "user"
                return "tool" if all(map(_is_result, content)) else "user"
            case "assistant":
                return "assistant"
            case "system":
                return "system"
            case other:
                shown = repr(other)[:40] if isinstance(other, str) else kind_of(other)
                msg = f"role must be user, assistant or system, not {shown}"
                raise InvalidInput(msg)

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
