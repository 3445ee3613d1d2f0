"""Every event as one type, and an event where it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from tenure_ledger.events.effects import EffectEvent
from tenure_ledger.events.envelope import Event
from tenure_ledger.events.ownership import OwnershipEvent
from tenure_ledger.events.recovery import RecoveryEvent
from tenure_ledger.events.relay import RelayEvent
from tenure_ledger.events.upkeep import UpkeepEvent

__all__ = ["EventUnion", "Recorded", "Unknown"]

EventUnion = Annotated[
    OwnershipEvent | RelayEvent | RecoveryEvent | EffectEvent | UpkeepEvent,
    Field(discriminator="topic"),
]
"""Every event, told apart by its topic."""


class Unknown(NamedTuple):
    """A stored event of a newer version: shown, never folded."""

    topic: str
    ignorable: bool
    header: Mapping[str, Any] = MappingProxyType({})
    """The stored JSON, as it is."""


class Recorded(NamedTuple):
    """One event where it is stored."""

    position: int
    stream: str
    version: int
    hash: bytes
    event: Event | Unknown
