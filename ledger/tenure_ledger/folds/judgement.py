"""What a fold says of one stored event before it applies it.

Each fold module has one shape: values, ``judge``, ``apply``. ``judge`` returns `APPLY`,
`DUPLICATE` (the event is on record already: a no-op), or the version of the event that
this one contradicts (0: nothing on record allows it). ``apply`` is total: it takes the
event as true whatever ``judge`` said, which is how a quarantine keeps the later of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from immutables import Map

__all__ = ["APPLY", "DUPLICATE", "Judgement", "put", "without"]

Judgement = int

APPLY: Judgement = -2
DUPLICATE: Judgement = -1

K = TypeVar("K")
V = TypeVar("V")


def without(mapping: Map[K, V], key: K) -> Map[K, V]:
    """Return the map without ``key``; the same map if it is not there."""
    return mapping.delete(key) if key in mapping else mapping


def put(mapping: Map[K, V], rows: Mapping[K, V]) -> Map[K, V]:
    """Return the map with all of ``rows``."""
    return mapping.update(rows)
