"""Hypothesis strategies for every event, made from the fields of the models.

`histories` has small pools, so that what is generated collides; `any_event` has any
text that a host may give. A new event or field needs nothing here, unless its type is
new.
"""

from __future__ import annotations

import types
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from tenure import Boundary, Event, Evidence, OwnerRef, Recorded, Unknown
from tenure_ledger.codec import EVENTS
from tenure_ledger.events import Fact, OwnershipClaimed

__all__ = [
    "FITTING",
    "any_event",
    "any_id",
    "any_name",
    "events",
    "histories",
    "of_kind",
    "owners",
    "record",
    "unknowns",
]

any_id = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    min_size=1,
    max_size=60,
)
any_name = st.text("abcxyz019_.-", min_size=1, max_size=64)
owners = st.builds(OwnerRef, any_name, any_id)
any_time = st.datetimes(
    datetime(2000, 1, 1),  # noqa: DTZ001  the zone is given apart
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)

SMALL_TEXT = {
    "author": ["host"],
    "key": ["m1", "m2", "m3"],
    "absorbed": ["m1", "m2", "m3"],
    "keys": ["m1", "m2", "m3"],
    "into": ["m1", "m2"],
    "agent_id": ["a1", "a2"],
    "previous_agent_id": ["a1", "a2"],
    "content_digest": ["d1", "d2"],
    "notice": ["n1", "n2"],
    "request_id": ["r1", "r2"],
    "interrupt_id": ["i1", "i2"],
}
FITTING: dict[str, object] = {"generation": 1, "fenced": False}
"""What makes an event one about a first holding."""
SEALED_LATER = {"topic", "command_id", "index", "count", "schema_version"}


def _text(name: str, *, small: bool) -> st.SearchStrategy[str]:
    if small:
        return st.sampled_from(SMALL_TEXT.get(name, ["x", "y"]))
    return any_name if name in {"event_type", "disposition", "verdict"} else any_id


def _least(field: FieldInfo) -> int:
    """Return the lowest number that the field allows."""
    found = [one.ge for one in field.metadata if isinstance(one, Ge)]
    return max([0, *(least for least in found if isinstance(least, int))])


def _of(kind: Any, name: str, *, small: bool) -> st.SearchStrategy[Any]:  # noqa: ANN401
    """Return a strategy for one field's type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated and arguments[0] is int:
        return st.integers(_least(arguments[1]), 3 if small else 2**63 - 1)
    if origin is Annotated:
        return _of(arguments[0], name, small=small)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in {Union, types.UnionType}:
        return st.one_of(*(_of(one, name, small=small) for one in arguments))
    if origin is tuple:
        items = _of(arguments[0], name, small=small)
        return st.lists(items, max_size=2, unique_by=str).map(tuple)
    if kind in {Fact, Boundary, Evidence}:
        hints = get_type_hints(kind, include_extras=True)
        fields = {at: _of(hint, at, small=small) for at, hint in hints.items()}
        return st.builds(kind, **fields)
    if kind is OwnerRef:
        pool = st.sampled_from([OwnerRef("session", "s1"), OwnerRef("browser", "b1")])
        return pool if small else owners
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: _text(name, small=small),
        bool: st.booleans(),
        int: st.integers(0, 3 if small else 2**63 - 1),
        float: st.floats(0, 1e9),
        datetime: any_time,
        type(None): st.none(),
    }
    return simple[kind]


def of_kind(kind: type[Event], *, small: bool) -> st.SearchStrategy[Event]:
    """Return events of one kind."""
    hints = get_type_hints(kind, include_extras=True)
    names = [name for name in kind.model_fields if name not in SEALED_LATER]
    fields = {name: _of(hints[name], name, small=small) for name in names}
    return st.fixed_dictionaries(fields).map(kind.model_validate)


def any_event(kind: type[Event]) -> st.SearchStrategy[Event]:
    """Return events of one kind with any text that a host may give."""
    return of_kind(kind, small=False)


_CLAIMED = OwnershipClaimed(author="host", generation=1, agent_id="a1", event_id="h1")
_BY_KIND = [of_kind(kind, small=True) for kind in EVENTS.values()]


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Return an event of any kind; two in three fit a first holding."""
    event = draw(draw(st.sampled_from(_BY_KIND)))
    changes: list[dict[str, object]] = [{}, {"generation": 1}, FITTING]
    return event.model_copy(update=draw(st.sampled_from(changes)))


@st.composite
def unknowns(draw: st.DrawFn) -> Unknown:
    """Return an event of a version to come."""
    return Unknown("moon-phase-noted.v7", draw(st.booleans()))


@st.composite
def histories(draw: st.DrawFn, size: int) -> list[Event]:
    """Return a history of a stream, mostly such that begins with a claim."""
    found = draw(st.lists(events(), max_size=size))
    return [_CLAIMED, *found] if draw(st.booleans()) else found


def record(stream: str, *history: Event | Unknown) -> list[Recorded]:
    """Return the history as it is stored."""
    return [
        Recorded(version, stream, version, version.to_bytes(32, "big"), event)
        for version, event in enumerate(history, 1)
    ]
