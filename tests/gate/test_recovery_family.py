"""Parents and children after a restart: top-down, nothing left open, each one told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recovering import (
    CLOSED,
    PAYLOADS,
    SESSION,
    STATUS,
    again,
    begin,
    environment,
    owner_row,
    restart,
    the,
)
from tenure import (
    Authority,
    Closed,
    First,
    OwnerEnded,
    OwnerRef,
    Resumed,
    Skipped,
    SuccessionDue,
    recover,
    recover_each,
)
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
C1, C2, D = (OwnerRef("subagent", name) for name in ("c1", "c2", "d"))


def spawn(world: World, parent: Authority, child: OwnerRef) -> Authority:
    """Spawn a child that is idle."""
    return world.ledger.spawn(parent, child, f"kid/{child.owner_id}", author="host")


def work(world: World, held: Authority, *, save: bool = True) -> Authority:
    """Let it begin a task, with a checkpoint or without."""
    world.ledger.admit(held, "t1", "assistant_run")
    world.ledger.start(held, "t1")
    if save:
        world.ledger.save_checkpoint(held, LOOP)
    return held


def about(world: World, owner: OwnerRef) -> list[OwnerRef]:
    """Return whom the notices that wait there are about, oldest first."""
    return [one.about for one in world.ledger.pending_notices(owner)]


@pytest.mark.parametrize("with_checkpoints", [True, False])
def test_s22_a_supervisor_that_cannot_be_resumed_takes_its_children_with_it(
    world: World, *, with_checkpoints: bool
) -> None:
    """S22 step 4: T1 crashed and fails; C1, C2 and D are settled in the same pass."""
    one = begin(world.ledger)
    world.ledger.mark_output_started(one, "m1")
    first = spawn(world, one, C1)
    work(world, spawn(world, one, C2), save=with_checkpoints)
    work(world, spawn(world, first, D), save=with_checkpoints)
    if with_checkpoints:
        world.ledger.save_checkpoint(one, LOOP)
        work(world, first)
    report = restart(world)
    assert [found.owner for found in report.closed] == [SESSION, C1, C2, D]
    structural = "invalid_structural_owner_identity"
    assert [found.assertion for found in report.closed] == [None, *[structural] * 3]
    assert report.resumed == ()
    for owner in (C1, C2, D):
        assert owner_row(world, owner)["terminal_status"] == STATUS
        assert world.ledger.owner(owner).agent_id is None
    # The session goes on, so it is the nearest that is open; of D too.
    assert about(world, SESSION) == [SESSION, C1, C2, D]
    assert again(world).results == report.due
    two = world.ledger.succeed(SESSION, "manager/2", "host")
    back = world.ledger.spawn(two, C1, "kid/again", author="manager/2")
    assert back.generation == 2


def test_children_of_what_goes_on_go_on_after_it(world: World) -> None:
    one = begin(world.ledger)
    world.ledger.save_checkpoint(one, LOOP)
    first = work(world, spawn(world, one, C1))
    work(world, spawn(world, first, D))
    report = restart(world)
    assert [found.owner for found in report.resumed] == [SESSION, C1, D]


def test_a_child_is_closed_and_its_living_parent_is_told_at_once(world: World) -> None:
    one = world.open("host").claim(
        SESSION, "manager/1", "host", first=First("m1", "human")
    )
    world.ledger.start(one, "m1")
    work(world, spawn(world, one, C1), save=False)
    report = restart(world, "host")
    assert the(report, Closed)[:2] == (C1, 1)
    assert the(report, Skipped)[:2] == (SESSION, "alive")
    world.ledger.deliver_notices(one, "m1")
    (notice,) = world.ledger.pending_notices(SESSION)
    assert (notice.about, notice.key, notice.event_type) == (C1, "m1", CLOSED)
    world.ledger.settle(one, "m1", "completed")
    assert world.ledger.pending_notices(SESSION) == []


def test_a_living_child_of_the_closed_is_reported_and_goes_on(world: World) -> None:
    one = begin(world.ledger)
    first = work(world, spawn(world, one, C1))
    living = world.open("worker").advance(first, "migration")
    work(world, spawn(world, living, D), save=False)
    report = restart(world, "worker")
    assert [found.owner for found in report.closed] == [SESSION, D]
    assert the(report, Skipped)[:2] == (C1, "alive")
    world.ledger.check(living)
    # Its own child is told to it: it is the nearest ancestor that is open.
    assert about(world, C1) == [D]
    assert about(world, SESSION) == [SESSION]


def test_a_retired_parent_is_still_a_parent(world: World) -> None:
    one = begin(world.ledger)
    work(world, spawn(world, one, C1))
    world.ledger.retire(one, "accepted")
    report = restart(world)
    assert the(report, Resumed).owner == C1
    assert the(report, SuccessionDue).owner == SESSION


def test_a_child_of_what_ended_is_an_orphan(world: World) -> None:
    one = begin(world.ledger)
    first = spawn(world, one, C1)
    work(world, spawn(world, first, D))
    world.ledger.terminate(first, "done", "Done.")
    world.ledger.save_checkpoint(one, LOOP)
    report = restart(world)
    closed = the(report, Closed)
    assert (closed.owner, closed.told) == (D, SESSION)
    assert closed.assertion == "invalid_structural_owner_identity"
    assert about(world, SESSION) == [D]


def test_what_an_ancestor_may_no_more_nobody_below_it_may(world: World) -> None:
    one = begin(world.open("host"))
    spawned = world.ledger.spawn(one, C1, "kid/c1", grants=["read"], author="host")
    kid = world.ledger.spawn(spawned, D, "kid/d", grants=["read"], author="host")
    work(world, kid)
    world.ledger.revoke(one, C1, ["read"])
    closed = the(restart(world, "host"), Closed)
    assert closed.owner == D
    assert closed.assertion == "invalid_inherited_execution_authority"


def test_a_child_of_what_is_closed_is_settled_however_old_it_is(world: World) -> None:
    one = begin(world.ledger)
    work(world, spawn(world, one, C1))
    world.pass_seconds(7200)
    world.ledger.admit(one, "m2", "assistant_run")
    report = recover(world.open("p2"), environment(), max_age_seconds=600)
    assert [found.owner for found in report.closed] == [SESSION, C1]


def test_a_parent_that_was_cut_is_told_of_its_child(world: World) -> None:
    one = begin(world.ledger)
    work(world, spawn(world, one, C1), save=False)
    before = about(world, SESSION)
    world.ledger.retire(one, "accepted", finishes=["m1"])
    assert the(restart(world), Closed).told == SESSION
    assert about(world, SESSION) == [*before, C1]


def test_when_no_ancestor_is_open_the_root_session_is_told(world: World) -> None:
    one = begin(world.ledger)
    first = spawn(world, one, C1)
    work(world, spawn(world, first, D))
    world.ledger.terminate(first, "done", "Done.")
    world.ledger.terminate(one, "done", "Done.")
    before = len(world.ledger.pending_notices(SESSION))
    assert the(restart(world), Closed).told == SESSION
    assert about(world, SESSION)[before:] == [D]


def test_what_becomes_known_of_a_closed_child_is_told_where_its_end_was(
    world: World,
) -> None:
    one = begin(world.ledger)
    world.ledger.save_checkpoint(one, LOOP)
    first = spawn(world, one, C1)
    work(world, first, save=False)
    call = world.ledger.begin_tool_call(first, "t1", "c1", "mail", {"to": "ann"})
    restart(world)
    late = (
        "c1 LateResult@1 t1 c1",
        "ses_1 NoticeIssued@2 late_result",
    )
    with world.refuses(OwnerEnded, *late):
        world.ledger.complete_tool_call(first, call, "sent")
    with world.writes() as lines:
        world.ledger.late_result(C1, "host", "t1", "all done")
    assert lines == ["c1 LateResult@1 t1", "ses_1 NoticeIssued@2 late_result"]
    ended, mail, task = world.ledger.pending_notices(SESSION)[-3:]
    assert ended.event_type == CLOSED
    assert mail.text == (
        "- of subagent c1:\n- call c1 of mail in message t1: its output is complete"
    )
    assert task.about == C1


def test_named_children_are_settled_after_their_named_parents(world: World) -> None:
    one = begin(world.ledger)
    first = spawn(world, one, C1)
    spawn(world, first, D)
    report = recover(world.open("p2"), environment(), only=[D, C1])
    assert [found.owner for found in report.resumed] == [C1, D]


def test_an_idle_child_is_found_again_after_a_run_that_broke_off(
    world: World,
) -> None:
    """Killed between parent and child: the notice about the parent leads there."""
    one = begin(world.ledger)
    first = spawn(world, one, C1)
    spawn(world, first, D)
    run = _run(world)
    assert isinstance(next(run), Closed)
    assert world.ledger.owner(C1).status == "live"
    report = restart(world)
    assert [found.owner for found in report.closed] == [C1, D]


def test_below_a_child_that_was_closed_it_is_found_by_the_notice_alone(
    world: World,
) -> None:
    """Its parent ended for good, and no other row speaks of it any more."""
    one = begin(world.open("host"))
    first = work(world, spawn(world, one, C1))
    world.ledger.mark_output_started(first, "t1")
    spawn(world, first, D)
    run = _run(world, "host")
    while not isinstance(next(run), Closed):
        pass
    assert world.ledger.owner(C1).status == "terminal"
    assert world.ledger.owner(D).status == "live"
    report = restart(world, "host")
    assert [found.owner for found in report.closed] == [D]
    assert about(world, SESSION) == [C1, D]


def _run(world: World, *alive: str) -> Iterator[object]:
    """Run as far as it is asked to, and no further."""
    return recover_each(world.open("p2"), environment(*alive))


def test_who_is_told_of_a_closed_child_is_looked_at_again(world: World) -> None:
    held = begin(world.ledger)
    work(world, spawn(world, held, C1), save=False)
    world.ledger.settle(held, "m1", "completed")
    dry = recover(world.open("p2"), environment(), dry_run=True)
    done = restart(world)
    for report in (dry, done):
        assert [(type(one), one.owner) for one in report.results] == [
            (Closed, C1),
            (Resumed, SESSION),
        ]
    assert [type(one) for one in again(world).results] == [Skipped]


def test_an_idle_child_of_one_that_ended_is_found_without_any_notice(
    world: World,
) -> None:
    held = begin(world.ledger)
    one = spawn(world, held, C1)
    spawn(world, one, D)
    world.ledger.terminate(one, "done", "Done.")
    world.ledger.settle(held, "m1", "completed")
    assert D in world.ledger.unfinished()
    closed = the(restart(world), Closed)
    assert (closed.owner, closed.assertion) == (
        D,
        "invalid_structural_owner_identity",
    )
    assert owner_row(world, D)["terminal_status"] == STATUS


def test_a_run_that_died_between_a_closed_child_and_its_child_is_ended(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    spawn(world, work(world, spawn(world, held, C1), save=False), D)
    run = recover_each(world.open("p2"), environment())
    while not isinstance(next(run), Closed):
        pass  # killed here: the child is closed, and its child was not looked at
    assert world.ledger.owner(D).status == "live"
    assert the(restart(world), Closed).owner == D
    assert [type(one) for one in again(world).results] == [Skipped]


def test_messages_that_wait_at_a_closed_child_are_due(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    work(world, spawn(world, held, C1), save=False)
    world.ledger.accept(C1, "h1", "ann", human=True)
    due = SuccessionDue(C1, "claim", None, None, ("h1",))
    assert the(restart(world), SuccessionDue) == due
    assert the(again(world), SuccessionDue) == due
    anew = world.ledger.claim(C1, "kid/anew", "host")
    (carried,) = world.ledger.owner(C1).open_executions
    assert carried.key == "h1"
    world.ledger.start(anew, "h1")
