"""Who is told of what was closed, and what was seen before it is judged."""

from __future__ import annotations

import pytest

from recovering import KID, PAYLOADS, SESSION, begin, environment, restart, the
from tenure import Authority, Closed, Evidence, OwnerMoved, OwnerRef, recover
from tenure_ledger.decisions.recovering.command import Answers
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
BELOW = OwnerRef("session", "ses_below")


def family(world: World) -> Authority:
    """A session, a session below it and a sub-agent below that; return the middle."""
    held = begin(world.ledger)
    middle = world.ledger.spawn(held, BELOW, "manager/below", author="host")
    kid = world.ledger.spawn(middle, KID, "kid/1", author="host")
    world.ledger.admit(kid, "t1", "assistant_run")
    world.ledger.start(kid, "t1")
    return middle


@pytest.mark.parametrize("state", ["live", "cut"])
def test_the_nearest_that_is_open_is_told_and_not_the_root(
    world: World, state: str
) -> None:
    """A session that waits for its next term is open: that term reads the notice."""
    middle = family(world)
    if state == "cut":
        world.ledger.retire(middle, "continue", "Next: B.")
    closed = the(recover(world.open("p2"), environment(), only=[KID]), Closed)
    assert (closed.owner, closed.told) == (KID, BELOW)
    assert [one.about for one in world.ledger.pending_notices(BELOW)] == [KID]
    assert world.ledger.pending_notices(SESSION) == []


def test_past_one_that_ended_the_next_that_is_open_is_told(world: World) -> None:
    middle = family(world)
    world.ledger.terminate(middle, "done", "Done.")
    closed = the(recover(world.open("p2"), environment(), only=[KID]), Closed)
    assert (closed.owner, closed.told) == (KID, SESSION)
    assert world.ledger.pending_notices(BELOW) == []


@pytest.mark.parametrize("change", ["saved again", "cleared", "first saved"])
def test_a_checkpoint_that_is_not_the_one_that_was_read_settles_nothing(
    world: World, change: str
) -> None:
    """The evidence is of now, and the body that was judged is an old one."""
    ledger = world.ledger
    held = begin(ledger)
    if change != "first saved":
        ledger.save_checkpoint(held, LOOP)
    seen = ledger.fresh_state(SESSION)
    if change == "cleared":
        ledger.clear_checkpoint(held)
    else:
        ledger.save_checkpoint(held, PAYLOADS["queued_submission"])
    other = world.open("p2")
    evidence = Evidence.gone(other.owner(SESSION))
    with world.refuses(OwnerMoved) as refused:
        other.settle_recovery(seen, evidence, Answers(), "recovery")
    assert "the checkpoint of" in str(refused.value)
    # Looked at again, it is judged by what is there.
    report = restart(world)
    judged = report.closed if change == "cleared" else report.resumed
    assert [one.owner for one in judged] == [SESSION]
