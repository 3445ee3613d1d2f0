"""What is written about the ledger itself."""

from __future__ import annotations

from typing import Literal

from tenure_ledger.events.envelope import Event, Id, Name, Version

__all__ = [
    "BodiesErased",
    "QuarantineResolved",
    "UpkeepEvent",
    "VerdictGiven",
]


class QuarantineResolved(Event, frozen=True):
    """Of two contradicting events, ``keep`` stands and ``drop`` does not."""

    topic: Literal["quarantine-resolved.v1"] = "quarantine-resolved.v1"
    keep: Version
    drop: Version


class BodiesErased(Event, frozen=True):
    """The bodies of this stream are gone; chain and decisions stand."""

    topic: Literal["bodies-erased.v1"] = "bodies-erased.v1"
    reason: Id


class VerdictGiven(Event, frozen=True):
    """A gate's verdict, kept only where the host asked for it."""

    topic: Literal["verdict-given.v1"] = "verdict-given.v1"
    key: Id
    verdict: Name
    cut: Version


UpkeepEvent = QuarantineResolved | BodiesErased | VerdictGiven
