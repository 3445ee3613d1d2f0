"""Owners that share a commit: each is settled as if alone, in the same order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from recovering import CLOSED, SESSION, begin, environment, restart, the
from tenure import (
    Closed,
    Corrupt,
    Fault,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    RuntimeRestartReactionLoopState,
    Skipped,
    StoreUnavailable,
    reap,
    recover,
    recover_each,
)
from tenure_gate.recovery.coordinator import TOGETHER
from tenure_gate.recovery.holders import HolderAnswer
from tenure_ledger.methods.recovering import RecoveryWriter, Seen
from worlds import World

LOOP = RuntimeRestartReactionLoopState(consecutive_batches=1)


def numbered(number: int) -> OwnerRef:
    return OwnerRef("session", f"ses_{number:03}")


def leave(world: World, count: int) -> None:
    """Leave so many sessions behind: every second one can be resumed."""
    for number in range(count):
        held = begin(world.ledger, numbered(number), f"manager/{number}")
        if number % 2:
            world.ledger.save_checkpoint(held, LOOP)


def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many owners each commit settles."""
    found: list[int] = []
    settle = RecoveryWriter.settle

    def noting(writer: RecoveryWriter, seen: Sequence[Seen]) -> object:
        found.append(len(seen))
        return settle(writer, seen)

    monkeypatch.setattr(RecoveryWriter, "settle", noting)
    return found


def test_a_report_settles_many_owners_in_one_commit_and_says_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = TOGETHER + 3
    leave(world, count)
    alone = [
        (type(one).__name__, one.owner)
        for one in recover(world.open("p2"), environment(), dry_run=True).results
    ]
    found = sizes(monkeypatch)
    report = restart(world)
    assert found == [TOGETHER, 3]
    assert [(type(one).__name__, one.owner) for one in report.results] == alone
    assert len(report.resumed) + len(report.closed) == count
    for one in report.resumed:
        world.ledger.check(one.authority)


def test_one_by_one_nothing_is_settled_before_it_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops reading leaves the rest to the next run."""
    leave(world, 4)
    found = sizes(monkeypatch)
    run = recover_each(world.open("p2"), environment())
    assert isinstance(next(run), Closed)
    del run
    assert found == [1]
    assert world.ledger.owner(numbered(1)).process == "p1"


def test_a_parent_is_settled_before_its_child_is_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kid, sibling = OwnerRef("subagent", "kid"), OwnerRef("subagent", "sibling")
    held = begin(world.ledger)
    for child in (kid, sibling):
        one = world.ledger.spawn(held, child, f"agent/{child.owner_id}", author="x")
        world.ledger.save_checkpoint(one, LOOP)
    found = sizes(monkeypatch)
    report = restart(world)
    assert found == [1, 2]
    assert [one.owner for one in report.closed] == [SESSION, kid, sibling]
    assert {one.assertion for one in report.closed} == {
        None,
        "invalid_structural_owner_identity",
    }
    notices = world.ledger.pending_notices(SESSION)
    assert [(one.about, one.event_type) for one in notices] == [
        (SESSION, CLOSED),
        (kid, CLOSED),
        (sibling, CLOSED),
    ]


def test_a_body_that_was_changed_leaves_its_commit_to_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(world, 4)
    ledger = world.open("p2")
    store = world.store()
    read = type(store).body
    spoiled = numbered(1).stream

    def body(of: object, stream: str, digest: str) -> bytes | None:
        found: bytes | None = read(of, stream, digest)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        return b"{}" if stream == spoiled else found

    monkeypatch.setattr(type(store), "body", body)
    report = recover(ledger, environment())
    monkeypatch.undo()
    (failed,) = report.failed
    assert failed.owner == numbered(1)
    assert isinstance(failed.error, Corrupt)
    assert [one.owner for one in report.closed] == [numbered(0), numbered(2)]
    assert the(report, Resumed).owner == numbered(3)


def test_a_fault_at_one_owner_of_a_commit_is_told_and_the_others_are_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(world, 4)
    ledger = world.open("p2")
    unit = type(world.store().write(1.0))
    add = unit.add

    def failing(of: object, events: Sequence[object], *rest: object) -> object:
        if any(getattr(row, "stream", "") == numbered(2).stream for row in events):
            msg = "the disk is gone"
            raise StoreUnavailable(msg)
        return add(of, events, *rest)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(unit, "add", failing)
    report = recover(ledger, environment())
    monkeypatch.undo()
    (failed,) = report.failed
    assert failed.owner == numbered(2)
    assert isinstance(failed.error, Fault)
    assert len(report.results) - len(report.due) == 3
    after = restart(world)
    assert [one.owner for one in after.closed] == [numbered(2)]


def test_what_was_deleted_meanwhile_is_told_as_that(world: World) -> None:
    """Nobody was faster with it: it is not there any more."""
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)

    def exists(owner: OwnerRef) -> bool:
        world.ledger.delete_conversation(owner, "ann")
        return True

    report = restart(world, conversation_exists=exists)
    assert the(report, Skipped)[:2] == (SESSION, "deleted")


def test_what_was_deleted_before_the_reaper_closed_it_is_told_as_that(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.advance(held, "lease_renewal", lease_seconds=60)
    world.pass_seconds(60)

    def holder(owner: OwnerRef, _process: str | None) -> HolderAnswer:
        world.ledger.delete_conversation(owner, "ann")
        return "gone"

    asked = RecoveryEnvironment(holder=holder)
    assert the(reap(world.open("p2"), asked), Skipped)[:2] == (SESSION, "deleted")


def test_whoever_wrote_since_it_was_looked_at_is_told_as_alive(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)

    def exists(_owner: OwnerRef) -> bool:
        world.ledger.mark_output_started(held, "m1")
        return True

    report = restart(world, conversation_exists=exists)
    assert the(report, Skipped)[:2] == (SESSION, "alive")
    world.ledger.check(held)
