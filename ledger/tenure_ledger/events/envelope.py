"""What every event carries, and the types of its fields."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, Field

__all__ = ["UNSEALED", "Digest", "Event", "Id", "Name", "Version"]

UNSEALED = datetime(1, 1, 1, tzinfo=UTC)
"""``recorded_at`` of an event that no shell has sealed yet."""

Id = Annotated[str, Field(min_length=1, max_length=1600)]
"""An id that was checked at the edge; the bound holds for composed ids too."""
Name = Annotated[str, Field(min_length=1, max_length=64)]
Digest = Annotated[str, Field(min_length=1, max_length=256)]
Version = Annotated[int, Field(ge=0)]
"""A version in a stream: from 1; 0 names nothing on record."""


class Event(BaseModel, frozen=True, extra="forbid"):
    """The envelope that every event carries (design section 4).

    A decision fills ``author``, ``generation``, ``fenced``; the shell seals the rest.
    """

    topic: str
    """The stored name, a literal with its version."""
    event_id: str = ""
    """UUID4; of a grant it is the ``incarnation`` of the holding it gives."""
    command_id: str = ""
    index: Annotated[int, Field(ge=0)] = 0
    """Place of this event within its command."""
    count: Annotated[int, Field(ge=1)] = 1
    """Number of events of the command, over all its streams."""
    author: Id
    generation: Annotated[int, Field(ge=0, le=2**63 - 1)]
    """The live generation it was accepted under; of an unfenced one the generation it
    is about."""
    fenced: bool = False
    """Written by the live holding: that is proof of life."""
    recorded_at: datetime = UNSEALED
    """UTC, from the ledger's clock. Never decides order."""
    schema_version: int = 1
    previous_hash: str = ""
    """Hex hash of the event before it in the stream."""
    ignorable: bool = False
    """A version that does not know this event may pass over it."""
