"""Bodies: JSON that a person or a tool may have written, stored or refused whole.

What is accepted is read back equal, on every store: objects with text keys, arrays,
text (NUL included), whole numbers of any practical size, finite numbers, true, false,
null. Everything else is `InvalidInput` before anything is written (scenario S26).
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, TypeGuard

from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import check_unicode

__all__ = ["Json", "body_digest", "body_value", "encode_body"]

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

BODY_BYTES_MAX = 64 * 1024 * 1024
DEPTH_MAX = 200
INTEGER_BITS_MAX = 4096
"""Python reads back decimal numbers of up to 4300 digits; this stays below."""


def encode_body(what: str, value: object) -> bytes:
    """Return the canonical JSON of ``value``: sorted keys, UTF-8, no spaces.

    Raises `InvalidInput` that names ``what`` and the place inside it.
    """
    _check(what, value)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    data = text.encode()
    if len(data) > BODY_BYTES_MAX:
        msg = f"{what} has {len(data)} bytes; at most {BODY_BYTES_MAX} are kept"
        raise InvalidInput(msg)
    return data


def body_value(data: bytes) -> Json:
    """Return what `encode_body` was given."""
    value: Json = json.loads(data)
    return value


def body_digest(data: bytes) -> str:
    """Return the digest under which a body is stored: sha256, hex."""
    return hashlib.sha256(data).hexdigest()


def _check(what: str, value: object) -> None:
    """Walk the value without recursion: its depth is the caller's choice."""
    waiting: list[tuple[object, str, int]] = [(value, what, 0)]
    size = 0
    while waiting:
        item, where, depth = waiting.pop()
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
                    msg = f"{where} has a key that is a {type(key).__name__}, not text"
                    raise InvalidInput(msg)
                check_unicode(f"a key of {where}", key)
                waiting.append((inner, f"{where}.{key[:40]}", depth + 1))
        elif _is_array(item):
            waiting.extend(
                (inner, f"{where}[{at}]", depth + 1) for at, inner in enumerate(item)
            )
        else:
            _check_scalar(where, item)


def _check_scalar(where: str, item: object) -> None:
    if item is None or isinstance(item, bool):
        return
    if isinstance(item, float):
        if not math.isfinite(item):
            msg = f"{where} is {item}; JSON has no such number"
            raise InvalidInput(msg)
    elif isinstance(item, int):
        if item.bit_length() > INTEGER_BITS_MAX:
            msg = f"{where} is a number of more than {INTEGER_BITS_MAX} bits"
            raise InvalidInput(msg)
    else:
        msg = f"{where} is a {type(item).__name__}, which JSON does not give back equal"
        raise InvalidInput(msg)


def _is_object(item: object) -> TypeGuard[dict[Any, object]]:
    return isinstance(item, dict)


def _is_array(item: object) -> TypeGuard[list[object]]:
    return isinstance(item, list)
