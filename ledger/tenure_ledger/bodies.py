"""Bodies: JSON that a person or a tool may have written, stored or refused whole.

What is accepted is read back equal, on every store: objects with text keys, arrays,
text (NUL included), whole numbers of any practical size, finite numbers, true, false,
null. Everything else is `InvalidInput` before anything is written (scenario S26).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from tenure_ledger.errors import Corrupt, InvalidInput
from tenure_ledger.values import check_unicode, kind_of

__all__ = [
    "DEPTH_MAX",
    "Json",
    "body_digest",
    "body_value",
    "check_body",
    "encode_body",
    "sound_body",
]

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

BODY_BYTES_MAX = 64 * 1024 * 1024
DEPTH_MAX = 200
INTEGER_BITS_MAX = 4096
"""Python reads back decimal numbers of up to 4300 digits; this stays below."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_PLAIN = frozenset({dict, list, str, int, float, bool, type(None)})
_encoded = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":")
).encode
_INSTEAD: dict[type, str] = {
    tuple: "a list",
    set: "a list",
    frozenset: "a list",
    bytes: "text: decode it, or encode it as base64",
}


def encode_body(what: str, value: object) -> bytes:
    """Return the canonical JSON of ``value``: sorted keys, UTF-8, no spaces.

    Raises `InvalidInput` that names ``what`` and the place inside it.
    """
    plain = _check(what, value)
    text = _encoded(value)
    if not plain and json.loads(text) != value:
        msg = f"{what} holds a value of a class of yours that JSON changes: convert it"
        raise InvalidInput(msg)
    data = text.encode()
    if len(data) > BODY_BYTES_MAX:
        msg = f"{what} has {len(data)} bytes; at most {BODY_BYTES_MAX} are kept"
        raise InvalidInput(msg)
    return data


def check_body(what: str, value: object) -> None:
    """Raise `InvalidInput` for what `encode_body` would not take."""
    _check(what, value)


def body_value(data: bytes) -> Json:
    """Return what `encode_body` was given."""
    value: Json = json.loads(data)
    return value


def body_digest(data: bytes) -> str:
    """Return the digest under which a body is stored: sha256, hex."""
    return hashlib.sha256(data).hexdigest()


def sound_body(data: bytes | None, digest: str, of: object) -> bytes | None:
    """Return what is stored under a digest; None: it was erased, or never stored.

    ``of``: whose it is, for people. Raises `Corrupt` for what is not what was stored.
    """
    if data is not None and body_digest(data) != digest:
        msg = (
            f"the body {digest} of {of} was changed in the store: restore it from a "
            "backup"
        )
        raise Corrupt(msg)
    return data


def _check(what: str, value: object) -> bool:
    """Walk the value without recursion: its depth is the caller's choice.

    Return whether no value is of a subclass, which may say one thing here and another
    to the encoder.
    """
    if _is_plain(value):
        return True
    plain = True
    waiting: list[tuple[object, str, int]] = [(value, what, 0)]
    size = 0
    while waiting:
        item, where, depth = waiting.pop()
        plain = plain and type(item) in _PLAIN
        # At the least, and before any JSON is made: what is shared counts each time.
        size += 2 + len(item) if isinstance(item, str) else 2
        if size > BODY_BYTES_MAX:
            msg = f"{what} is longer than {BODY_BYTES_MAX} bytes, which is all we keep"
            raise InvalidInput(msg)
        if depth > DEPTH_MAX:
            msg = f"{what} is nested deeper than {DEPTH_MAX} levels; flatten it"
            raise InvalidInput(msg)
        if isinstance(item, str):
            check_unicode(where, item)
        elif _is_object(item):
            for key, inner in item.items():
                if not isinstance(key, str):
                    msg = f"{where} has a key that is {kind_of(key)}, not text"
                    raise InvalidInput(msg)
                plain = plain and type(key) is str
                check_unicode(f"a key of {where}", key)
                waiting.append((inner, f"{where}.{key[:40]}", depth + 1))
        elif _is_array(item):
            waiting.extend(
                (inner, f"{where}[{at}]", depth + 1) for at, inner in enumerate(item)
            )
        else:
            _check_scalar(where, item)
    return plain


def _is_plain(value: object) -> bool:
    """Say whether all of it is surely kept; False: look again, and say what is wrong.

    Nearly every value is, and this takes a third of the time that names each place.
    """
    waiting: list[tuple[Any, int]] = [(value, 0)]
    size = 0
    while waiting:
        item, depth = waiting.pop()
        kind = type(item)  # pyright: ignore[reportUnknownVariableType]
        size += 2 + len(item) if kind is str else 2
        if size > BODY_BYTES_MAX or depth > DEPTH_MAX:
            return False
        if kind is dict:
            if not all(type(key) is str and _is_text(key) for key in item):
                return False
            waiting.extend([(inner, depth + 1) for inner in item.values()])
        elif kind is list:
            waiting.extend([(inner, depth + 1) for inner in item])
        elif kind not in _KEPT or not _KEPT[kind](item):
            return False
    return True


def _is_text(text: str) -> bool:
    return text.isascii() or not _SURROGATES.search(text)


_KEPT: Mapping[type, Callable[[Any], bool]] = {
    str: _is_text,
    int: lambda number: number.bit_length() <= INTEGER_BITS_MAX,
    float: math.isfinite,
    bool: lambda _: True,
    type(None): lambda _: True,
}


def _check_scalar(where: str, item: object) -> None:
    if item is None or isinstance(item, bool):
        return
    if isinstance(item, float):
        if not math.isfinite(item):
            msg = f"{where} is {item}; JSON has no such number"
            raise InvalidInput(msg)
    elif isinstance(item, int):
        if int.bit_length(item) > INTEGER_BITS_MAX:
            msg = f"{where} is a number of more than {INTEGER_BITS_MAX} bits"
            raise InvalidInput(msg)
    else:
        use = _INSTEAD.get(type(item), "text, numbers, lists and dicts with text keys")
        msg = (
            f"{where} is {kind_of(item)}, which JSON does not give back equal: "
            f"use {use}"
        )
        raise InvalidInput(msg)


def _is_object(item: object) -> TypeGuard[dict[Any, object]]:
    return isinstance(item, dict)


def _is_array(item: object) -> TypeGuard[list[object]]:
    return isinstance(item, list)
