"""S1: a cancelled run's last checkpoint write lands after its replacement has saved."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tenure import (
    Authority,
    Evidence,
    FencedOut,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    StaleCheckpoint,
    TermRetired,
)
from tenure_ledger.bodies import body_digest, encode_body
from tenure_ledger.events import CheckpointSaved
from worlds import World

S = OwnerRef("session", "ses_1")


class Snapshot(NamedTuple):
    """The latest checkpoint as it is stored: its event's bytes and its body."""

    version: int
    state: bytes
    body: bytes | None


def loop(batches: int) -> RuntimeRestartReactionLoopState:
    return RuntimeRestartReactionLoopState(
        consecutive_batches=batches,
        completed_unpersisted_tool_outputs=[{"call_id": "a", "output": batches}],
    )


def digest(payload: RuntimeRestartReactionLoopState) -> str:
    stored = {
        "payload": payload.model_dump(),
        "execution_config": None,
        "version": 1,
    }
    return body_digest(encode_body("checkpoint", stored))


def snapshot(world: World) -> Snapshot:
    saved = [
        one.event
        for one in world.ledger.history(S)
        if isinstance(one.event, CheckpointSaved)
    ]
    rows = world.store().tail(S.stream, 0)
    row = next(row for row in reversed(rows) if row.topic == "checkpoint-saved.v1")
    return Snapshot(
        row.version, row.state, world.store().body(S.stream, saved[-1].payload)
    )


def begin(ledger: Ledger) -> Authority:
    one = ledger.claim(S, agent_id="agent/1", author="host")
    ledger.save_checkpoint(one, loop(1))
    return one


def bodies(world: World, *payloads: RuntimeRestartReactionLoopState) -> list[bool]:
    store = world.store()
    return [store.body(S.stream, digest(payload)) is not None for payload in payloads]


def test_s1_step_4_the_late_write_of_a_replaced_agent_is_refused_as_stale(
    world: World,
) -> None:
    ledger = world.ledger
    one = begin(ledger)
    seen = Evidence.gone(ledger.owner(S), "cancelled")
    two = ledger.take_over(S, agent_id="agent/2", author="host", evidence=seen)
    third = ledger.save_checkpoint(two, loop(3))
    before, head = snapshot(world), ledger.head()
    assert before.version == third
    with pytest.raises(TermRetired) as late:
        ledger.save_checkpoint(one, loop(2))
    assert late.value.code == "term_retired"
    assert (late.value.holder, late.value.generation) == ("agent/2", 2)
    assert snapshot(world) == before
    assert ledger.head() == head
    assert bodies(world, loop(1), loop(2), loop(3)) == [True, False, True]


def test_s1_step_4_the_late_write_of_the_same_agents_dead_run_is_refused(
    world: World,
) -> None:
    ledger = world.ledger
    one = begin(ledger)
    seen = Evidence.gone(ledger.owner(S), "cancelled")
    two = ledger.take_over(S, agent_id="agent/1", author="host", evidence=seen)
    ledger.save_checkpoint(two, loop(3))
    before, head = snapshot(world), ledger.head()
    with pytest.raises(FencedOut) as late:
        ledger.save_checkpoint(one, loop(2), revision=99)
    assert (late.value.code, late.value.generation) == ("fenced_out", 2)
    with pytest.raises(FencedOut):
        ledger.clear_checkpoint(one)
    assert (snapshot(world), ledger.head()) == (before, head)
    assert bodies(world, loop(2)) == [False]


def test_s1_step_4_a_late_write_of_the_live_run_itself_is_told_by_its_revision(
    world: World,
) -> None:
    ledger = world.ledger
    one = ledger.claim(S, agent_id="agent/1", author="host")
    third = ledger.save_checkpoint(one, loop(3), revision=3)
    before, head = snapshot(world), ledger.head()
    with pytest.raises(StaleCheckpoint) as late:
        ledger.save_checkpoint(one, loop(2), revision=2)
    assert (late.value.code, late.value.evidence["revision"]) == ("stale_checkpoint", 3)
    with pytest.raises(StaleCheckpoint):
        ledger.save_checkpoint(one, loop(2), revision=3)
    assert ledger.save_checkpoint(one, loop(3), revision=3) == third
    assert (snapshot(world), ledger.head()) == (before, head)
    assert bodies(world, loop(2)) == [False]


def test_s1_the_newer_clock_of_the_late_writer_changes_nothing(world: World) -> None:
    one = begin(world.ledger)
    seen = Evidence.gone(world.ledger.owner(S))
    two = world.ledger.take_over(S, agent_id="agent/2", author="host", evidence=seen)
    world.ledger.save_checkpoint(two, loop(3))
    before = snapshot(world)
    with pytest.raises(TermRetired):
        world.ledger.save_checkpoint(one, loop(2), revision=2**63 - 1)
    assert snapshot(world) == before
