"""What the readers share: fields of the right type, or `InvalidInput`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, cast

from tenure_gate.readers.protocol import Human, Role
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import ID_CHARACTERS_MAX, kind_of

__all__ = [
    "Fields",
    "check_human",
    "content_of",
    "dicts",
    "fields_of",
    "is_fields",
    "is_plain_id",
    "mark",
    "optional_text",
    "pieces",
    "role_of",
    "said",
    "text_of",
    "vouched",
]

Fields: TypeAlias = Mapping[str, Any]
_HOST_MARKS = frozenset({"cache_control"})
"""What a host sets on a block for its provider, and moves as the list grows."""


def is_fields(value: object) -> TypeGuard[Fields]:
    """Say whether the value is a mapping, as a JSON object is."""
    return type(value) is dict or isinstance(value, Mapping)


def fields_of(what: str, value: object) -> Fields:
    """Return the value if it is a mapping."""
    if type(value) is dict or isinstance(value, Mapping):
        return cast("Fields", value)
    msg = f"{what} must be a dict, not {kind_of(value)}"
    raise InvalidInput(msg)


def role_of(what: str, value: object) -> Role:
    """Return one of the three roles that most formats know."""
    match value:
        case "user":
            return "user"
        case "assistant":
            return "assistant"
        case "system":
            return "system"
        case _:
            shown = repr(value)[:40] if isinstance(value, str) else kind_of(value)
            msg = f"{what} must be user, assistant or system, not {shown}"
            raise InvalidInput(msg)


def optional_text(what: str, value: object) -> str | None:
    """Return text, or None where nothing is given; an empty text is no id."""
    if value is None or (isinstance(value, str) and value):
        return value
    shown = "empty" if value == "" else kind_of(value)
    msg = f"{what} must be text, not {shown}"
    raise InvalidInput(msg)


def is_plain_id(value: object) -> bool:
    """Say whether it is an id, or None, that no other check would refuse."""
    if value is None:
        return True
    if type(value) is not str or not value.isascii():
        return False
    return 0 < len(value) <= ID_CHARACTERS_MAX and "\0" not in value


def text_of(what: str, value: object) -> str:
    """Return text that must be given and not be empty."""
    if type(value) is str and value:
        return value
    text = optional_text(what, value)
    if text is None:
        msg = f"{what} is missing"
        raise InvalidInput(msg)
    return text


def dicts(what: str, value: object) -> Sequence[Fields]:
    """Return the value if it is a list of mappings."""
    if not isinstance(value, list | tuple):
        msg = f"{what} must be a list, not {kind_of(value)}"
        raise InvalidInput(msg)
    listed = cast("Sequence[object]", value)
    for piece in listed:
        if not is_fields(piece):
            msg = f"each of {what} must be a dict, not {kind_of(piece)}"
            raise InvalidInput(msg)
    return cast("Sequence[Fields]", listed)


def pieces(what: str, value: object) -> Sequence[Fields]:
    """Return the value if it is a list of mappings that each name their type."""
    listed = dicts(what, value)
    for piece in listed:
        if not isinstance(piece.get("type"), str):
            msg = f"each of {what} must have a type"
            raise InvalidInput(msg)
    return listed


def content_of(message: Fields) -> str | Sequence[Fields] | None:
    """Return the content: text, a list of pieces, or None."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content
    return pieces("content", content)


def said(content: str | Sequence[Fields] | None) -> list[dict[str, Any]]:
    """Return what the content says, in one shape and without a host's marks."""
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {name: piece[name] for name in piece if name not in _HOST_MARKS}
        for piece in content
    ]


def mark(message: Fields, name: str) -> object:
    """Return what the host wrote under this name, or in ``metadata`` under it."""
    given: object = message.get(name)
    if "metadata" not in message:
        return given
    metadata = message["metadata"]
    if metadata is None or not is_fields(metadata):
        return given
    noted = metadata.get(name)
    if given is None or noted is None or given == noted:
        return noted if given is None else given
    msg = f"{name} and metadata.{name} differ; give one of them"
    raise InvalidInput(msg)


def check_human(human: Human | None) -> Human | None:
    """Return how a host vouches, or raise `InvalidInput`, or TypeError if it waits."""
    if human is not None and not callable(human):
        msg = f"human must be callable, not {kind_of(human)}"
        raise InvalidInput(msg)
    if inspect.iscoroutinefunction(human):
        msg = "human must be a plain function: the gate does not wait for it"
        raise TypeError(msg)
    return human


def vouched(given: object) -> bool:
    """Say whether a host's mark ``human`` vouches: only true does."""
    if given is None or isinstance(given, bool):
        return given is True
    msg = f"human must be true or false, not {kind_of(given)}"
    raise InvalidInput(msg)
