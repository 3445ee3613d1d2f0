"""A transcript as text: read it, and tell which of the three formats it is in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn, cast

from tenure_gate.readers.anthropic import AnthropicReader
from tenure_gate.readers.openai import OpenAIReader
from tenure_gate.readers.opencode import OpenCodeReader
from tenure_gate.readers.protocol import Message, MessageReader
from tenure_gate.readers.shapes import is_fields
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import check_choice, check_text, kind_of

__all__ = ["Format", "Transcript", "guess_format", "guess_reader", "load_transcript"]

Format = Literal["openai", "anthropic", "opencode"]

_READERS: Mapping[Format, Callable[[], MessageReader]] = {
    "openai": OpenAIReader,
    "anthropic": AnthropicReader,
    "opencode": OpenCodeReader,
}
_OPENAI_ROLES = frozenset({"developer", "tool", "function"})
_OPENAI_FIELDS = ("tool_calls", "tool_call_id", "function_call")
_OPENAI_BLOCKS = frozenset({"image_url", "input_audio", "file", "refusal"})
_ANTHROPIC_BLOCKS = frozenset({"image", "document", "thinking", "redacted_thinking"})
_ANTHROPIC_ENDS = ("tool_use", "tool_result")
_CHARACTERS_MAX = 2**31 - 1


class Transcript(NamedTuple):
    """The messages of a transcript, and who reads them."""

    messages: list[Message]
    reader: MessageReader
    format: Format


def load_transcript(text: str, format: Format | None = None) -> Transcript:  # noqa: A002  the word that a caller would use
    """Read a JSON list of messages, ``{"messages": [...]}``, or one message a line.

    The format is told from the messages where it is not named. Raises `InvalidInput`
    that names the line, for lines, or the index.
    """
    text = check_text("the transcript", text, _CHARACTERS_MAX).removeprefix("\ufeff")
    messages = _whole(text)
    if messages is None:
        messages = list(_lines(text))
    if format is None:
        format = guess_format(messages)  # noqa: A001  as above
    else:
        _check_named(messages, check_choice("format", format, Format))
    return Transcript(messages, _READERS[format](), format)


def guess_reader(messages: Sequence[Message]) -> MessageReader:
    """Return the reader of the format that the messages are in.

    Texts without tools look the same in OpenAI's and Anthropic's format, and are read
    as OpenAI's. Raises `InvalidInput` where marks of two formats meet.
    """
    return _READERS[guess_format(messages)]()


def guess_format(messages: Sequence[Message]) -> Format:
    """Return the name of the format; see `guess_reader`."""
    found = _marked(messages)
    if len(found) > 1:
        (first, at), (second, there), *_ = found.items()
        msg = (
            f"message {at} is in the format {first} and message {there} in {second}: "
            "name the format"
        )
        raise InvalidInput(msg, index=there)
    return next(iter(found)) if found else "openai"


def _check_named(messages: Sequence[Message], named: Format) -> None:
    """Raise `InvalidInput` where all marks are of another format than is named."""
    found = _marked(messages)
    if found and named not in found:
        name, at = next(iter(found.items()))
        msg = (
            f"message {at} is in the format {name}: this is no list in the format "
            f"{named}; name no format, or {name}"
        )
        raise InvalidInput(msg, index=at)


def _marked(messages: Sequence[Message]) -> dict[Format, int]:
    """Return the formats that are marked, each with the first index of a mark."""
    found: dict[Format, int] = {}
    for index, message in enumerate(messages):
        for name in _marks(message):
            found.setdefault(name, index)
    return found


def _marks(message: object) -> Iterator[Format]:
    """Yield the formats that the message cannot do without."""
    if not is_fields(message):
        return
    if "info" in message and "parts" in message:
        yield "opencode"
        return
    if message.get("role") in tuple(_OPENAI_ROLES) or any(
        message.get(name) is not None for name in _OPENAI_FIELDS
    ):
        yield "openai"
    content: object = message.get("content")
    if not isinstance(content, list):
        return
    for block in cast("Sequence[object]", content):
        kind = block.get("type") if is_fields(block) else None
        if not isinstance(kind, str):
            continue
        if kind in _OPENAI_BLOCKS:
            yield "openai"
        elif kind in _ANTHROPIC_BLOCKS or kind.endswith(_ANTHROPIC_ENDS):
            yield "anthropic"


def _whole(text: str) -> list[Message] | None:
    """Return the messages of one JSON value; None: it is one message a line."""
    try:
        value = _parse(text)
    except _Unreadable as wrong:
        if text.lstrip().startswith("["):
            at = "" if wrong.line is None else f"line {wrong.line}: "
            msg = f"{at}this is no JSON: {wrong}"
            raise InvalidInput(msg, line=wrong.line) from None
        return None
    if is_fields(value):
        if "messages" not in value:
            return [value]
        value = value["messages"]
    if isinstance(value, list):
        return list(cast("Sequence[Message]", value))
    msg = f"a transcript must be a list of messages, not {kind_of(value)}"
    raise InvalidInput(msg)


def _lines(text: str) -> Iterator[Message]:
    # Not `splitlines`: JSON text may hold line separators other than the newline.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _parse(line)
        except _Unreadable as wrong:
            msg = f"line {number}: this is no JSON: {wrong}"
            raise InvalidInput(msg, line=number) from None
        if not is_fields(value):
            msg = f"line {number}: a message must be a JSON object"
            raise InvalidInput(msg, line=number)
        yield value


class _Unreadable(Exception):  # noqa: N818  never leaves this module
    """The text is no JSON; ``line`` is where, if that is known."""

    line: int | None = None


def _parse(text: str) -> Any:  # noqa: ANN401  what JSON holds
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise _Unreadable("it is nested too deeply") from None
    except ValueError as wrong:
        unreadable = _Unreadable(getattr(wrong, "msg", None) or str(wrong))
        unreadable.line = getattr(wrong, "lineno", None)
        raise unreadable from None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
