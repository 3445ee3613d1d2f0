"""Rewritten histories, and interrupts that a person gives up (design section 6)."""

from __future__ import annotations

import pytest

from scenes import JOB, ONE, SESSION, TWO
from tenure import (
    AlreadyDecided,
    Authority,
    InvalidInput,
    NotFound,
    StaleCheckpoint,
    UnknownOwner,
)
from tenure_ledger import events as e
from worlds import World


def begin(world: World) -> Authority:
    """Claim the session."""
    return world.ledger.claim(SESSION, ONE, "host")


def test_a_rewrite_is_on_record_with_its_state(world: World) -> None:
    held = begin(world)
    world.ledger.history_rewritten(held, 3, "m5", "m4", {"kept": [1, 2]})
    event = world.ledger.history(SESSION)[-1].event
    assert isinstance(event, e.HistoryRewritten)
    assert (event.history_rewrite_generation, event.prompt_floor) == (3, "m5")
    assert event.checkpoint_seq == "m4"
    assert event.state is not None
    assert world.ledger.body(SESSION, event.state) == {"kept": [1, 2]}


def test_the_same_rewrite_again_adds_nothing_and_an_older_is_refused(
    world: World,
) -> None:
    held = begin(world)
    at = world.ledger.history_rewritten(held, 3, "m5", state="s")
    with world.writes() as lines:
        assert world.ledger.history_rewritten(held, 3, "m5", state="s") == at
    assert lines == []
    for generation, floor, state in ((3, "m6", "s"), (3, "m5", "t"), (2, "m5", "s")):
        with world.refuses(StaleCheckpoint) as refusal:
            world.ledger.history_rewritten(held, generation, floor, state=state)
        assert refusal.value.evidence == {"generation": 3, "version": at}
    assert world.ledger.history_rewritten(held, 4) > at


def test_a_rewrite_changes_no_owner_and_outlives_its_term(world: World) -> None:
    held = begin(world)
    at = world.ledger.history_rewritten(held, 3, "m5")
    world.ledger.check(held)
    world.ledger.retire(held, "continue")
    held = world.ledger.succeed(SESSION, TWO, "host")
    assert world.ledger.history_rewritten(held, 3, "m5") == at
    with world.refuses(StaleCheckpoint):
        world.ledger.history_rewritten(held, 1)
    with world.refuses(InvalidInput):
        world.ledger.history_rewritten(held, -1)


def strip(world: World, key: str, interrupt_id: str) -> None:
    """Strip a leftover, as the gate does."""
    stripped = e.StaleRequestStripped(
        author="gate",
        generation=1,
        key=key,
        verdict="stale_unadmitted",
        cut=1,
        interrupt_id=interrupt_id,
    )
    world.append(SESSION, stripped)


@pytest.mark.parametrize("live", [True, False])
def test_an_interrupt_is_settled_once(world: World, *, live: bool) -> None:
    held = begin(world)
    strip(world, "ghost", "i1")
    if not live:
        world.ledger.retire(held, "continue")
    with world.writes() as lines:
        at = world.ledger.settle_interrupt(SESSION, "i1", "given up", "ann")
        again = world.ledger.settle_interrupt(SESSION, "i1", "given up", "bob")
    assert lines == ["ses_1 InterruptSettled@1 given up"]
    assert again == at
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.settle_interrupt(SESSION, "i1", "interrupted", "ann")
    assert (refusal.value.first, refusal.value.evidence["version"]) == ("given up", at)


def test_only_an_interrupt_on_record_is_settled(world: World) -> None:
    with world.refuses(UnknownOwner):
        world.ledger.settle_interrupt(JOB, "i1", "given up", "ann")
    begin(world)
    with world.refuses(NotFound) as refusal:
        world.ledger.settle_interrupt(SESSION, "i1", "given up", "ann")
    assert (refusal.value.kind, refusal.value.id) == ("interrupt", "i1")
