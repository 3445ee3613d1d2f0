"""What a host gives, made plain and bounded, or refused as `InvalidInput`."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from typing import Any, cast

from tenure_ledger.errors import InvalidInput

__all__ = [
    "IDS_MAX",
    "ID_BYTES_MAX",
    "ID_CHARACTERS_MAX",
    "SECONDS_MAX",
    "TEXT_CHARACTERS_MAX",
    "check_choice",
    "check_flag",
    "check_id",
    "check_integer",
    "check_moment",
    "check_name",
    "check_optional_id",
    "check_seconds",
    "check_text",
    "check_unicode",
    "json_fields",
    "kind_of",
    "set_plain",
]

ID_CHARACTERS_MAX = 256
ID_BYTES_MAX = 800
"""Three longer ids would break PostgreSQL's index limit of 2704 bytes."""
TEXT_CHARACTERS_MAX = 100_000
"""A sentence that goes into a header: evidence, a status. Longer text is a body."""
SECONDS_MAX = 10 * 366 * 86400.0
"""Ten years: a longer lease or time-out is a mistake in units."""
IDS_MAX = 10_000
"""So many ids are taken at once."""

_NAME = re.compile(r"[a-z0-9_.-]{1,64}\Z")


def kind_of(value: object) -> str:
    """Return the name of the value's type with its article: ``a tuple``, ``an int``."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in set('aeio') else 'a'} {name}"


def check_text(what: str, value: object, characters_max: int) -> str:
    """Return ``value`` as plain text if every store keeps it as it is.

    Of a subclass of `str` the characters are kept and nothing else. Raises
    `InvalidInput` for anything but text, for NUL, for half a surrogate pair (half an
    emoji) and for more than ``characters_max`` characters.
    """
    if not isinstance(value, str):
        msg = f"{what} must be text, not {type(value).__name__}"
        raise InvalidInput(msg)
    if type(value) is not str:
        # What `str` of an enumeration's member returns is its name.
        value = str.__str__(value)
    if len(value) > characters_max:
        msg = f"{what} has {len(value)} characters; at most {characters_max} are kept"
        raise InvalidInput(msg)
    if "\0" in value:
        msg = f"{what} contains a NUL character; remove it"
        raise InvalidInput(msg)
    check_unicode(what, value)
    return value


def check_unicode(what: str, text: str) -> None:
    """Raise `InvalidInput` for half a surrogate pair, which no UTF-8 can keep."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        msg = f"{what} contains half a surrogate pair; decode it before"
        raise InvalidInput(msg) from None


def _shown(value: object) -> str:
    """Return a bad value for a message; not every value has a ``repr`` that works."""
    return f"{value!r:.80}" if isinstance(value, str) else type(value).__name__


def check_id(what: str, value: object) -> str:
    """Return ``value`` if it is an id that a host may give (design section 3).

    Any text of 1 to 256 characters and at most 800 bytes of UTF-8, compared as given.
    """
    text = check_text(what, value, ID_CHARACTERS_MAX)
    if not text:
        msg = f"{what} is empty; give 1 to {ID_CHARACTERS_MAX} characters"
        raise InvalidInput(msg)
    if not text.isascii() and len(text.encode()) > ID_BYTES_MAX:
        msg = f"{what} has more than {ID_BYTES_MAX} bytes of UTF-8; shorten it"
        raise InvalidInput(msg)
    return text


def check_name(what: str, value: object) -> str:
    """Return ``value`` if it is a class or type name: ``[a-z0-9_.-]{1,64}``."""
    if not isinstance(value, str) or not _NAME.match(value):
        msg = f"{what} must match [a-z0-9_.-]{{1,64}}, not {_shown(value)}"
        raise InvalidInput(msg)
    return str.__str__(value)


def check_choice(what: str, value: object, choices: Any) -> Any:  # noqa: ANN401
    """Return the literal of ``choices`` that ``value`` equals, or `InvalidInput`."""
    # What `get_args` returns for a Literal, at a tenth of its price.
    allowed: tuple[object, ...] = choices.__args__
    if value not in allowed:
        choices = ", ".join(map(str, allowed))
        msg = f"{what} must be one of {choices}, not {_shown(value)}"
        raise InvalidInput(msg)
    return value if type(value) is str else allowed[allowed.index(value)]


def check_integer(what: str, value: object, least: int, most: int = 2**63 - 1) -> int:
    """Return ``value`` if it is a whole number that fits the stores' 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"{what} must be a whole number, not {type(value).__name__}"
        raise InvalidInput(msg)
    if not least <= value <= most:
        msg = f"{what} must be from {least} to {most}"
        raise InvalidInput(msg)
    return int.__index__(value)


def check_flag(what: str, value: object) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool):
        msg = f"{what} must be True or False, not {type(value).__name__}"
        raise InvalidInput(msg)
    return value


def check_optional_id(what: str, value: object) -> str | None:
    """Return an id that may be left out, as `check_id` does."""
    return None if value is None else check_id(what, value)


def set_plain(holder: object, **checked: object) -> None:
    """Replace fields of a frozen value by what their checks returned, where it differs.

    A subclass of `str` or `int` becomes the plain value, so that what is stored, sent
    and compared is the same whoever built it.
    """
    for name, value in checked.items():
        if getattr(holder, name) is not value:
            object.__setattr__(holder, name, value)


def json_fields(kind: Any, what: str, value: object) -> dict[str, Any]:  # noqa: ANN401
    """Return the fields of a dataclass as JSON gave them.

    Raises `InvalidInput` that names what is missing, or not known.
    """
    if not isinstance(value, dict):
        msg = f"{what} must be a JSON object, not {kind_of(value)}"
        raise InvalidInput(msg)
    given = dict(cast("dict[str, Any]", value))
    known = {one.name: one.default is MISSING for one in fields(kind)}
    missing = [name for name, needed in known.items() if needed and name not in given]
    odd = [f"{name:.40}" for name in given if name not in known]
    if missing or odd:
        wrong = f"lacks {', '.join(missing)}" if missing else f"has {odd[0]!r} too many"
        msg = f"{what} {wrong}: pass on what to_json gave"
        raise InvalidInput(msg)
    return given


def check_seconds(what: str, seconds: object) -> float | None:
    """Return a length of time in seconds, or raise `InvalidInput`."""
    if seconds is None:
        return None
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        msg = f"{what} must be a number of seconds, not {type(seconds).__name__}"
        raise InvalidInput(msg)
    if not 0 <= seconds <= SECONDS_MAX:
        # A huge whole number has no text (and is no float) in Python.
        msg = f"{what} must be from 0 to {SECONDS_MAX:.0f} seconds"
        raise InvalidInput(msg)
    return float(seconds)


def check_moment(what: str, moment: object) -> datetime | None:
    """Return a time in UTC, or raise `InvalidInput`."""
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        msg = f"{what} must be a datetime with a time zone"
        raise InvalidInput(msg)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        msg = f"{what} is no time in UTC: {moment}"
        raise InvalidInput(msg) from None
