"""Sessions to judge requests in: always three terms and two cuts, but for the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tenure import Authority, Evidence, First, Ledger, OwnerRef
from tenure_gate.journal import JournalSnapshot
from worlds import World

__all__ = ["SCENES", "S", "first_term", "journal_of", "third_term"]

S = OwnerRef("session", "ses_1")


def journal_of(ledger: Ledger, owner: OwnerRef = S) -> JournalSnapshot:
    """Return what the gate would judge by now."""
    state = ledger._shell.state(owner.stream)  # pyright: ignore[reportPrivateUsage]
    return JournalSnapshot.of(state)


def first_term(world: World) -> Authority:
    """No term has ended: ``m1`` runs, ``q1`` was admitted, ``h1`` accepted.

    ``d1`` is done; ``c1`` was cancelled before anybody admitted it.
    """
    on = world.ledger
    held = on.claim(S, "a1", "host", first=First("d1", "human"))
    on.start(held, "d1")
    on.settle(held, "d1", "completed")
    on.accept(S, "c1", "inbox", human=True)
    on.bar_replay(S, "user_cancelled", "a person", ["c1"])
    on.admit(held, "m1", "human")
    on.start(held, "m1")
    on.admit(held, "q1", "assistant_run")
    on.accept(S, "h1", "inbox", human=True)
    return held


def third_term(world: World) -> Authority:
    """Two terms ended; ``zz1``, ``zz2`` are leftovers that sort behind everything.

    ``w`` was accepted in the first, and carried over twice; ``g`` was stripped in the
    second; ``aa3`` runs now; ``q3`` waits with what it absorbed; ``h3`` is accepted.
    """
    on = world.ledger
    one = on.claim(S, "a1", "host", first=First("m1", "human"))
    on.start(one, "m1")
    on.settle(one, "m1", "completed")
    on.admit(one, "zz1", "tool_probe")
    on.accept(S, "w", "inbox", human=True)
    cut = on.retire(one, "continue", "Done: A. Next: B.")
    two = on.succeed(S, "a2", "host", first=First("m2", "continue_relay"))
    version = on.owner(S).version
    on.strip_requests(S, [("g", "stale_unadmitted", cut)], "gate", version)
    on.start(two, "m2")
    on.admit(two, "zz2", "assistant_run")
    on.retire(two, "accepted")
    three = on.succeed(S, "a3", "host", first=First("aa3", "human_successor_root"))
    on.start(three, "aa3")
    on.admit(three, "d3", "runtime_recovery")
    on.start(three, "d3")
    on.settle(three, "d3", "failed")
    on.admit(three, "q3", "human", absorbed=["x3", "y3"])
    on.accept(S, "h3", "inbox", human=True)
    on.accept(S, "c3", "inbox", human=True)
    on.bar_replay(S, "user_cancelled", "a person", ["c3"])
    return three


def renewed(world: World) -> Authority:
    """The third term, its generation raised three times in the middle."""
    on = world.ledger
    held = third_term(world)
    held = on.advance(held, "lease_renewal", lease_seconds=60)
    held = on.advance(held, "migration")
    seen = Evidence.gone(on.owner(S), "its process is gone")
    return on.take_over(S, "a3", "host", seen)


def waiting(world: World) -> Authority:
    """Three terms ended by cuts, and nobody holds the session now."""
    held = third_term(world)
    world.ledger.retire(held, "continue")
    return held


def ended(world: World) -> Authority:
    """The first term ended by a terminal event, without any cut."""
    held = first_term(world)
    world.ledger.terminate(held, "done", "ok")
    return held


SCENES: Mapping[str, Callable[[World], Authority]] = {
    scene.__name__: scene for scene in (first_term, third_term, renewed, waiting, ended)
}
