"""One live snapshot per agent, never older than what it replaced (section 7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import LOOP, ONE, SESSION, TWO
from tenure import (
    AlreadyDecided,
    Authority,
    Evidence,
    FencedOut,
    First,
    InvalidInput,
    Ledger,
    NotAdmitted,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
    StaleCheckpoint,
    TermRetired,
)
from tenure_ledger import events as e
from tenure_ledger.payloads import RestartPayload
from worlds import World

OTHER = RuntimeRestartReactionLoopState(consecutive_batches=2)


def begin(world: World) -> Authority:
    """Claim the session with one message that runs and one that waits."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    world.ledger.admit(held, "m2", "human")
    return held


def saved(world: World) -> list[e.CheckpointSaved]:
    """Return every snapshot on record."""
    history = [one.event for one in world.ledger.history(SESSION)]
    return [one for one in history if isinstance(one, e.CheckpointSaved)]


def gone(ledger: Ledger) -> Evidence:
    """Say that whoever holds the session now is gone."""
    return Evidence.gone(ledger.owner(SESSION))


MODES: dict[str, RestartPayload] = {
    "tool_approval_wait": RuntimeRestartToolApprovalWait(
        wait_started_at_ms=1, dispatched_before_restart=False
    ),
    "queued_submission": RuntimeRestartQueuedSubmission(submission_key="m1"),
    "reaction_loop": LOOP,
    "scheduled_work": RuntimeRestartScheduledWorkContext(
        job_id="j", attempt=1, version=1
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_snapshot_keeps_its_payload_and_its_config(world: World, mode: str) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, MODES[mode], {"model": "large"})
    (event,) = saved(world)
    assert (event.mode, event.revision) == (mode, 0)
    assert world.ledger.body(SESSION, event.payload) == {
        "payload": MODES[mode].model_dump(mode="json"),
        "execution_config": {"model": "large"},
        "version": 1,
    }


def test_without_keys_it_names_what_the_term_has_not_settled(world: World) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.settle(held, "m1", "completed")
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.save_checkpoint(held, LOOP, keys=[])
    assert [one.keys for one in saved(world)] == [("m1", "m2"), ("m2",), ()]


def test_it_names_only_what_runs_in_the_live_term(world: World) -> None:
    held = begin(world)
    world.ledger.accept(SESSION, "m3", "gateway")
    for key in ("m3", "never seen"):
        with world.refuses(NotAdmitted):
            world.ledger.save_checkpoint(held, LOOP, keys=["m1", key])
    world.ledger.settle(held, "m1", "completed")
    with world.refuses(AlreadyDecided):
        world.ledger.save_checkpoint(held, LOOP, keys=["m1"])


def test_revisions_rise_and_the_same_again_adds_nothing(world: World) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP)
    at = world.ledger.save_checkpoint(held, OTHER, revision=7)
    with world.writes() as lines:
        assert world.ledger.save_checkpoint(held, OTHER, revision=7) == at
        assert world.open("p2").save_checkpoint(held, OTHER, revision=7) == at
    assert lines == []
    for payload, keys, revision in (
        (LOOP, None, 7),
        (OTHER, ["m1"], 7),
        (OTHER, None, 6),
        (LOOP, None, 0),
    ):
        with world.refuses(StaleCheckpoint) as refusal:
            world.ledger.save_checkpoint(held, payload, keys=keys, revision=revision)
        assert refusal.value.evidence == {"revision": 7, "version": at}
    world.ledger.save_checkpoint(held, LOOP)
    assert saved(world)[-1].revision == 8


def test_a_cleared_revision_does_not_come_back_in_its_holding(world: World) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, revision=3)
    world.ledger.clear_checkpoint(held)
    for payload in (LOOP, OTHER):
        with world.refuses(StaleCheckpoint):
            world.ledger.save_checkpoint(held, payload, revision=3)
    world.ledger.save_checkpoint(held, LOOP)
    assert saved(world)[-1].revision == 4


def test_clearing_drops_the_revision_that_was_seen_and_no_newer_one(
    world: World,
) -> None:
    held = begin(world)
    with world.writes() as lines:
        world.ledger.clear_checkpoint(held)
    assert lines == []
    world.ledger.save_checkpoint(held, LOOP, revision=1)
    at = world.ledger.save_checkpoint(held, LOOP, revision=2)
    with world.refuses(StaleCheckpoint) as refusal:
        world.ledger.clear_checkpoint(held, revision=1)
    assert refusal.value.evidence == {"revision": 2, "version": at}
    with world.writes() as lines:
        world.ledger.clear_checkpoint(held, "answered", revision=2)
        world.ledger.clear_checkpoint(held, "answered", revision=2)
    assert lines == ["ses_1 CheckpointCleared@1 answered"]


def test_a_held_up_write_of_an_ended_holding_changes_nothing(world: World) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP)
    now = world.ledger.take_over(SESSION, TWO, "host", gone(world.ledger))
    world.ledger.save_checkpoint(now, OTHER, keys=[])
    with world.refuses(TermRetired):
        world.ledger.save_checkpoint(held, LOOP, revision=9)
    with world.refuses(TermRetired):
        world.ledger.clear_checkpoint(held)


Moves = Callable[[Ledger, Authority], Authority]

CARRIES: dict[str, Moves] = {
    "lease_renewal": lambda on, by: on.advance(by, "lease_renewal"),
    "migration": lambda on, by: on.advance(by, "migration"),
    "instance_restart": lambda on, _: on.take_over(SESSION, ONE, "host", gone(on)),
}


@pytest.mark.parametrize("move", CARRIES)
def test_the_same_agent_carries_its_snapshot_on(world: World, move: str) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, revision=3)
    with world.writes() as lines:
        now = CARRIES[move](world.ledger, held)
    assert not any("Cleared" in one for one in lines)
    with world.refuses(StaleCheckpoint):
        world.ledger.save_checkpoint(now, OTHER, revision=3)
    if move != "lease_renewal":
        with world.refuses(FencedOut):
            world.ledger.save_checkpoint(held, LOOP, revision=4)
    with world.writes() as lines:
        world.ledger.clear_checkpoint(now, revision=3)
    assert lines == [f"ses_1 CheckpointCleared@{now.generation} done"]


CLEARS: dict[str, Moves] = {
    "retire": lambda on, by: (
        on.succeed(SESSION, ONE, "host") if on.retire(by, "accepted") else by
    ),
    "terminate": lambda on, by: (
        on.claim(SESSION, ONE, "host") if on.terminate(by, "done", "ok") else by
    ),
    "take_over": lambda on, _: on.take_over(SESSION, TWO, "host", gone(on)),
    "migration": lambda on, by: on.advance(by, "migration", TWO),
}


@pytest.mark.parametrize("move", CLEARS)
def test_every_other_end_of_the_holding_clears_it(world: World, move: str) -> None:
    held = begin(world)
    world.ledger.save_checkpoint(held, LOOP, revision=3)
    with world.writes() as lines:
        now = CLEARS[move](world.ledger, held)
    assert "ses_1 CheckpointCleared@1 term_ended" in lines
    with world.writes() as lines:
        world.ledger.clear_checkpoint(now)
    assert lines == []
    world.ledger.save_checkpoint(now, OTHER, revision=0)


def test_only_an_owner_with_an_agent_has_a_snapshot(world: World) -> None:
    held = begin(world)
    browser = OwnerRef("lease", "browser")
    lease = world.ledger.spawn(held, browser, author="host")
    with world.refuses(InvalidInput):
        world.ledger.save_checkpoint(lease, LOOP)
    with world.refuses(InvalidInput):
        world.ledger.save_checkpoint(held, RestartPayload())
