"""Ask a reader once what each message of a list is; the rest works with its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from tenure_gate.readers.anthropic import AnthropicReader
from tenure_gate.readers.openai import OpenAIReader
from tenure_gate.readers.opencode import OpenCodeReader
from tenure_gate.readers.protocol import SYSTEM, Message, MessageReader, Said
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import check_id, kind_of

__all__ = ["hear", "ids"]


def hear(messages: Sequence[Message], reader: MessageReader) -> list[Said]:
    """Return what the reader says of each message.

    Raises `InvalidInput` with the ``index`` of a message that it cannot read.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        msg = f"messages must be a list, not {kind_of(messages)}"
        raise InvalidInput(msg)
    glance = _glance_of(reader)
    heard: list[Said] = []
    try:
        for message in messages:
            said = glance(message) or _ask(reader, message)
            heard.append(said)
    except InvalidInput as wrong:
        raise _at(len(heard), wrong) from None
    return heard


def ids(messages: Sequence[Message], reader: MessageReader) -> Iterator[str | None]:
    """Yield the id of each message, be it no request.

    Raises `InvalidInput` with the ``index`` of a message that has a wrong one.
    """
    for index, message in enumerate(messages):
        try:
            name = reader.id(message)
        except InvalidInput as wrong:
            raise _at(index, wrong) from None
        yield name


def _at(index: int, wrong: InvalidInput) -> InvalidInput:
    msg = f"message {index}: {wrong.text}"
    return InvalidInput(msg, **{**wrong.evidence, "index": index})


def _glance_of(reader: MessageReader) -> Callable[[Message], Said | None]:
    """Return how messages of the plainest shape are read at once.

    Of a class derived from ours the methods are asked: it may have its own.
    """
    if (
        type(reader) is OpenAIReader
        or type(reader) is AnthropicReader
        or type(reader) is OpenCodeReader
    ):
        return reader.glance
    return _see_nothing


def _see_nothing(_message: Message) -> None:
    return None


def _ask(reader: MessageReader, message: Message) -> Said:
    """Ask the methods that a message of its role has to do with."""
    role = reader.role(message)
    if role == "assistant":
        parent, calls = reader.parent(message), reader.calls(message)
        return role, None, False, parent, calls, reader.results(message)
    if role == "user":
        key = reader.id(message)
        key = None if key is None else check_id("id", key)
        return role, key, reader.human(message), None, (), reader.results(message)
    if role == "tool":
        results = reader.results(message)
        if not results:
            _refuse("the reader says that it is a tool's, and finds no result")
        return role, None, False, None, (), results
    if role != "system":
        _refuse(f"the reader says that it is {role!r}, which is no role")
    return SYSTEM


def _refuse(text: str) -> NoReturn:
    raise InvalidInput(text)
