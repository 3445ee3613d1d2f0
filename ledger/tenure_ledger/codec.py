"""From events to stored bytes and back: topics, versions, upcasters.

A stored event is a topic and JSON. Old versions are lifted on reading, hop by hop; a
missing hop stops the program at start-up. A topic that this version does not know is
handed on as `Unknown`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, get_args

from pydantic import ValidationError

from tenure_ledger.errors import Corrupt
from tenure_ledger.events import Event, EventUnion, Recorded, Unknown
from tenure_ledger.rows import EventRow
from tenure_ledger.values import kind_of

__all__ = [
    "EVENTS",
    "UPCASTERS",
    "Upcaster",
    "check_chain",
    "check_columns",
    "decode",
    "encode",
]

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes the JSON of one version and returns that of the next."""

EVENTS: Mapping[str, type[Event]] = {
    kind.model_fields["topic"].default: kind
    for kind in get_args(get_args(EventUnion)[0])
}
"""Every event class of this version by its topic."""

UPCASTERS: dict[str, tuple[str, Upcaster]] = {}
"""Topic of an old version -> topic of the next version and the way there."""

_UNREADABLE = (
    ValidationError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    RecursionError,
)

_TOPIC = re.compile(r"(?P<name>[a-z-]+)\.v(?P<number>[1-9][0-9]*)\Z")


def encode(event: Event) -> bytes:
    """Return the bytes that are stored and hashed for a sealed event."""
    return event.__pydantic_serializer__.to_json(event, exclude_defaults=True)


def check_columns(row: EventRow) -> None:
    """Raise `Corrupt` if a column holds another type than this library writes.

    SQLite keeps text where bytes are meant, and the other way round, if told to.
    """
    _position, stream, version, topic, state, hashed = row
    if (
        type(stream) is str
        and type(version) is int
        and type(topic) is str
        and type(state) is bytes
        and type(hashed) is bytes
    ):
        return
    kinds = (str, int, str, bytes, bytes)
    odd = [
        f"{name} is {kind_of(value)}"
        for name, value, kind in zip(row._fields[1:], row[1:], kinds, strict=True)
        if type(value) is not kind
    ]
    msg = (
        f"event {version} of {stream} at position {row.position} cannot be read: its "
        f"{', its '.join(odd)}; run verify() and restore a backup"
    )
    raise Corrupt(msg)


def decode(row: EventRow) -> Recorded:
    """Return the stored event, lifted to this version's shape.

    Raises `Corrupt` when the row is not what this library writes.
    """
    check_columns(row)
    kind = EVENTS.get(row.topic)
    try:
        if kind is not None:
            event = kind.__pydantic_validator__.validate_json(row.state)
        else:
            event = _lift(row.topic, json.loads(row.state))
    except _UNREADABLE as error:
        msg = (
            f"event {row.version} of {row.stream} ({row.topic}) cannot be read: "
            f"{error}; run verify() and restore a backup"
        )
        raise Corrupt(msg) from error
    return Recorded(row.position, row.stream, row.version, row.hash, event)


def _lift(topic: str, data: dict[str, Any]) -> Event | Unknown:
    while topic in UPCASTERS:
        topic, upcaster = UPCASTERS[topic]
        data = upcaster(data)
    kind = EVENTS.get(topic)
    if kind is None:
        ignorable = data.get("ignorable") is True
        return Unknown(topic, ignorable, MappingProxyType(data))
    return kind.model_validate(data)


def check_chain(
    events: Mapping[str, object], upcasters: Mapping[str, tuple[str, Upcaster]]
) -> None:
    """Raise `RuntimeError` unless every older version has a way to the present one.

    An event at ``.v3`` needs the hops v1 -> v2 and v2 -> v3. Called at import.
    """
    for topic in events:
        match = _TOPIC.match(topic)
        if match is None:
            msg = f"topic {topic!r} is not name.vN"
            raise RuntimeError(msg)
        name, number = match["name"], int(match["number"])
        for old in range(1, number):
            hop = upcasters.get(f"{name}.v{old}")
            if hop is None or hop[0] != f"{name}.v{old + 1}":
                msg = f"no upcaster from {name}.v{old} to {name}.v{old + 1}"
                raise RuntimeError(msg)
    for old_topic in upcasters:
        if old_topic in events:
            msg = f"{old_topic} has an upcaster but is the present version"
            raise RuntimeError(msg)


check_chain(EVENTS, UPCASTERS)
