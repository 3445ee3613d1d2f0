"""Scenario S24: attempts of A, and between them an event of B that is rejected."""

from __future__ import annotations

from following import Counts
from tenure import Authority, ModelRows, OwnerRef, Recorded
from worlds import World

__all__ = ["A", "Attempts", "B", "C", "held", "write_attempts"]

A, B, C = (OwnerRef("session", name) for name in "abc")


def held(world: World, session: OwnerRef, *messages: str) -> Authority:
    """Claim a session and admit messages to it."""
    authority = world.ledger.claim(session, f"agent of {session.owner_id}", "host")
    for message in messages:
        world.ledger.admit(authority, message, "assistant_run")
    return authority


def write_attempts(world: World) -> None:
    """Start two messages of A and two of B, in turn."""
    a, b = held(world, A, "a1", "a2"), held(world, B, "b1", "b2")
    world.ledger.start(a, "a1")
    world.ledger.start(b, "b1")
    world.ledger.start(a, "a2")
    world.ledger.start(b, "b2")


class Attempts(Counts):
    """Counts the starts of each stream."""

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Pass over what is no start."""
        if recorded.event.topic == "execution-started.v1":
            super().handle(recorded, rows)
