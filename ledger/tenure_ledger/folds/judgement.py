"""What a fold says of one stored event before it applies it, and how.

Each fold has one shape: values, and ``RULES``: for each event that it knows one `Rule`;
where it is long, the rules lie in modules that its docstring names. Its ``judge``
returns `APPLY`, `DUPLICATE` (the event is on record already: a no-op), or the version
of the event that this one contradicts (0: nothing on record allows it). Its ``apply``
is total: it takes the event as true whatever ``judge`` said, which is how a quarantine
keeps the later of two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from immutables import Map
from msgspec import Struct

from tenure_ledger.events import Event

__all__ = [
    "APPLY",
    "DUPLICATE",
    "Judgement",
    "Rule",
    "Rules",
    "Value",
    "always",
    "without",
]

Judgement = int

APPLY: Judgement = -2
DUPLICATE: Judgement = -1

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")


class Value(Struct, frozen=True, gc=False):
    """A part of a state: frozen, compared by value.

    A struct, because it is copied with a change at every event, and that costs a
    seventh of what it costs with a named tuple. It cannot be part of a cycle, so the
    garbage collector need not look at it.
    """


class Rule(NamedTuple, Generic[S]):
    """How one part of the state takes one kind of event.

    Both functions are given the ownership first: before the event, and after it.
    """

    judge: Callable[[Any, S, Any], Judgement]
    """Takes ownership, part and event."""
    apply: Callable[[Any, S, int, Any], S]
    """Takes ownership, part, version and event; returns the part after the event."""


Rules = Mapping[type[Event], Rule[S]]


def always(_own: object, _part: object, _event: Event) -> Judgement:
    """Judge an event that nothing on record can contradict."""
    return APPLY


def without(mapping: Map[K, V], key: K) -> Map[K, V]:
    """Return the map without ``key``; the same map if it is not there."""
    return mapping.delete(key) if key in mapping else mapping
