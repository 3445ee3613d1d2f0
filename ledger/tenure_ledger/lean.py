"""Read and write events fast: as plain structs with the fields of the event models.

A long stream is folded, and a ledger verified, from events that nobody keeps. For that
the models of `tenure_ledger.events` are too dear: reading them takes four times as
long, and writing them twice. The structs here are derived from the models, field by
field, bounds and defaults included, so there is still one definition; what they do not
take is left to the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec
from pydantic.fields import FieldInfo

from tenure_ledger.codec import EVENTS, check_columns, decode, encode
from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import Event, Unknown
from tenure_ledger.folds.stream import State, evolve, follow
from tenure_ledger.rows import EventRow
from tenure_ledger.values import OwnerRef

__all__ = ["load", "parse", "read", "write"]

_PLAIN = (str, int, bool, float, datetime, NoneType, OwnerRef)
_BOUNDS = ("ge", "gt", "le", "lt", "min_length", "max_length")


class _NotPlainError(TypeError):
    """A field holds a value of a class of ours: the model must build it."""


def read(row: EventRow) -> Event | Unknown:
    """Return what is stored in the row, to look at and to fold, not to keep.

    It has the fields of the event, and is no instance of its class. Raises `Corrupt`.
    """
    check_columns(row)
    return parse(row)


def parse(row: EventRow) -> Event | Unknown:
    """Return what `read` does, of a row whose columns were checked."""
    reader = _READERS.get(row.topic)
    if reader is not None:
        try:
            return reader(row.state)
        except (msgspec.MsgspecError, ValueError, InvalidInput):
            pass
    return decode(row).event


def write(event: Event) -> bytes:
    """Return the bytes that are stored and hashed: those of `tenure_ledger.codec`."""
    kind = _STRUCTS.get(event.topic)
    return encode(event) if kind is None else _encode(kind(**vars(event)))


def load(state: State, rows: Iterable[EventRow]) -> State:
    """Return the state after these rows, which are the next of its stream.

    Raises `Corrupt`. What a quarantine keeps are events that were read in full.
    """
    for row in rows:
        _position, _stream, version, _topic, _state, hashed = row
        if state.quarantine is None:
            after = follow(state, version, hashed, read(row))
            if after.quarantine is None:
                state = after
                continue
        state = evolve(state, decode(row))
    return state


def _struct(kind: type[Event]) -> type[msgspec.Struct] | None:
    try:
        fields = [
            (name, _type_of(field), field.default)
            if not field.is_required()
            else (name, _type_of(field))
            for name, field in kind.model_fields.items()
        ]
    except _NotPlainError:
        return None
    return msgspec.defstruct(
        kind.__name__,
        fields,
        frozen=True,
        gc=False,
        kw_only=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
    )


def _reader(struct: type[msgspec.Struct]) -> Callable[[bytes], Event]:
    # Not an Event, but with all of its fields: what folds and chains look at.
    return cast("Callable[[bytes], Event]", msgspec.json.Decoder(struct).decode)


def _type_of(field: FieldInfo) -> Any:  # noqa: ANN401  a type, of whatever kind
    if field.default_factory is not None:
        raise _NotPlainError
    return _bounded(_plain(field.annotation), field.metadata)


def _plain(kind: Any) -> Any:  # noqa: ANN401  a type, of whatever kind
    """Return the type without what only pydantic knows."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN or origin is Literal:
        return kind
    if origin is Annotated:
        plain = _plain(inner[0])
        for extra in inner[1:]:
            given = extra.metadata if isinstance(extra, FieldInfo) else [extra]
            plain = _bounded(plain, given)
        return plain
    if origin in (Union, UnionType):
        return Union[tuple(map(_plain, inner))]  # noqa: UP007  built at run time
    if origin is tuple and inner[1:] == (Ellipsis,):
        return GenericAlias(tuple, (_plain(inner[0]), Ellipsis))
    raise _NotPlainError


def _bounded(plain: Any, metadata: Iterable[object]) -> Any:  # noqa: ANN401  as above
    bounds = {
        bound: getattr(extra, bound)
        for extra in metadata
        for bound in _BOUNDS
        if getattr(extra, bound, None) is not None
    }
    return Annotated[plain, msgspec.Meta(**bounds)] if bounds else plain


_STRUCTS = {
    topic: struct
    for topic, kind in EVENTS.items()
    if (struct := _struct(kind)) is not None
}
_READERS = {topic: _reader(struct) for topic, struct in _STRUCTS.items()}
_encode = msgspec.json.Encoder().encode
