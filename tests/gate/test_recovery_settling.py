"""What a restart settles: resumed, closed, due, left alone, and what each appends."""

from __future__ import annotations

import asyncio

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
    Closed,
    Corrupt,
    Discarded,
    Evidence,
    Fact,
    FencedOut,
    First,
    HolderAnswer,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    Skipped,
    SuccessionDue,
    arecover,
    recover,
)
from tenure_gate.recovery.steps import Unstarted
from tenure_ledger import events as e
from tenure_ledger.rows import BodyRow
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
OTHER = OwnerRef("session", "ses_2")
JOB = OwnerRef("job", "job_1")


def test_what_runs_beside_the_checkpoint_is_unknown_and_told(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    world.ledger.admit(held, "m3", "human")
    world.ledger.save_checkpoint(held, LOOP, keys=["m1"])
    with world.writes() as lines:
        resumed = the(restart(world), Resumed)
    assert lines == [
        "ses_1 RecoveryDecided@1",
        "ses_1 ExecutionSettled@1 m2 outcome_unknown",
        "ses_1 GenerationAdvanced@2 instance_restart",
        "ses_1 NoticeIssued@2 instance_restart",
    ]
    assert resumed.plan.keys == ("m1",)
    assert resumed.plan.steps[-1] == Unstarted(("m3",))
    (notice,) = world.ledger.pending_notices(SESSION)
    assert notice.facts == (Fact(kind="outcome_unknown", key="m2"),)


def test_what_a_person_cancelled_beside_it_is_settled_so_and_not_told(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    world.ledger.save_checkpoint(held, LOOP, keys=["m1"])
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m2"])
    with world.writes() as lines:
        restart(world)
    assert lines[1:] == [
        "ses_1 ExecutionSettled@1 m2 cancelled",
        "ses_1 GenerationAdvanced@2 instance_restart",
    ]


def test_without_checkpoint_what_nobody_started_is_resumed(world: World) -> None:
    held = world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    world.ledger.admit(held, "m2", "assistant_run")
    world.ledger.accept(SESSION, "m3", "inbox")
    resumed = the(restart(world), Resumed)
    assert resumed.plan.mode is None
    assert resumed.plan.steps == (Unstarted(("m1", "m2", "m3")),)


def test_without_checkpoint_a_bar_over_what_nobody_started_closes_nothing(
    world: World,
) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    world.ledger.bar_replay(SESSION, "model_switch", "host")
    assert the(restart(world), Resumed).plan.steps == (Unstarted(("m1",)),)


def test_without_checkpoint_what_was_started_is_closed(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    with world.writes() as lines:
        report = restart(world)
    assert lines == [
        "ses_1 RecoveryDecided@1",
        "ses_1 ExecutionSettled@1 m1 closed_in_recovery",
        "ses_1 RetirementCut@1 forced",
        "manager/1 AgentReleased@1",
        "ses_1 NoticeIssued@1 closed_in_recovery",
    ]
    closed = the(report, Closed)
    assert (closed.reasons, closed.assertion) == (("no_checkpoint",), None)
    (notice,) = world.ledger.pending_notices(SESSION)
    assert notice.reasons == ()
    assert the(report, SuccessionDue).waiting == ("m2",)
    two = world.ledger.succeed(SESSION, "manager/2", "host")
    (carried,) = world.ledger.owner(SESSION).open_executions
    assert (carried.key, carried.generation) == ("m2", two.generation)


def test_an_owner_of_another_class_is_ended(world: World) -> None:
    begin(world.ledger, JOB)
    report = restart(world)
    assert the(report, Closed).told == JOB
    assert report.due == ()
    row = owner_row(world, JOB)
    assert row["terminal_status"] == STATUS
    assert row["terminal_at"] is not None
    (ended,) = world.ledger.rows("recovery_owner_terminal_events", JOB)
    assert ended["event_type"] == CLOSED
    assert again(world).results == ()


def test_the_status_of_a_closed_session_stands_until_its_next_term(
    world: World,
) -> None:
    begin(world.ledger)
    restart(world)
    at = world.ledger.head().position
    assert owner_row(world, SESSION)["terminal_status"] == STATUS
    assert [*world.ledger.rows("recovery_owner_terminal_events")] == []
    world.ledger.succeed(SESSION, "manager/2", "host")
    assert owner_row(world, SESSION)["terminal_status"] is None
    (then,) = world.ledger.as_of(at).rows("recovery_owners", SESSION)
    assert (then["terminal_status"], then["terminal_at"]) == (STATUS, None)
    assert [table.differing for table in world.ledger.rebuild(check=True)] == (
        [0] * len(world.ledger.rebuild(check=True))
    )


def test_a_cut_that_waits_is_due_and_never_closed(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    world.ledger.retire(held, "continue", "Done: A. Next: B.")
    due = the(again(world), SuccessionDue)
    assert due == SuccessionDue(
        SESSION, "succeed", "continue", "Done: A. Next: B.", ("m2",)
    )


def test_a_session_that_was_only_retired_is_due(world: World) -> None:
    """Nothing waits in it: only its row says that it was cut."""
    held = world.ledger.claim(SESSION, "manager/1", "host")
    world.ledger.retire(held, "accepted")
    due = the(again(world), SuccessionDue)
    assert due == SuccessionDue(SESSION, "succeed", "accepted", None, ())


def test_messages_before_the_first_claim_are_due(world: World) -> None:
    world.ledger.accept(SESSION, "m1", "inbox")
    assert again(world).results == (
        SuccessionDue(SESSION, "claim", None, None, ("m1",)),
    )


def test_an_ended_session_is_due_when_messages_wait(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.terminate(held, "done", "Done.")
    assert again(world).results == ()
    world.ledger.accept(SESSION, "m2", "inbox")
    assert again(world).results == (
        SuccessionDue(SESSION, "claim", None, None, ("m2",)),
    )


def test_an_imported_owner_is_claimed_not_recovered(world: World) -> None:
    claimed = e.OwnershipClaimed(author="import", generation=0)
    accepted = e.SubmissionAccepted(author="import", generation=0, key="m1")
    world.append(SESSION, claimed, accepted)
    report = recover(world.open("p2"), environment(), only=[SESSION])
    assert report.results == (SuccessionDue(SESSION, "claim", None, None, ("m1",)),)


def test_the_leftover_of_an_ended_owner_is_cleared_without_a_notice(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.terminate(held, "done", "Done.")
    left = e.CheckpointSaved(
        author="import",
        generation=1,
        keys=("m1",),
        revision=1,
        mode="reaction_loop",
        payload="x",
    )
    world.append(SESSION, left)
    with world.writes() as lines:
        report = recover(world.open("p2"), environment(), only=[SESSION])
    assert report.results == (Discarded(SESSION, "terminal"),)
    assert lines == ["ses_1 CheckpointCleared@1 terminal"]
    assert world.ledger.owner(SESSION).terminal is not None


@pytest.mark.parametrize("answer", ["alive", "cannot_tell"])
def test_what_may_be_alive_is_left_alone(world: World, answer: HolderAnswer) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    told = RecoveryEnvironment(holder=lambda _owner, _process: answer)
    with world.writes() as lines:
        report = recover(world.open("p2"), told)
    assert lines == []
    assert report.results == (Skipped(SESSION, answer, "its process: p1"),)
    world.ledger.check(held)


def test_an_idle_owner_is_recovered_only_by_name(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.settle(held, "m1", "completed")
    assert again(world).results == ()
    report = recover(world.open("p2"), environment(), only=[SESSION, OTHER])
    resumed, nothing = report.results
    assert isinstance(resumed, Resumed)
    assert (resumed.plan.steps, resumed.authority.generation) == ((), 2)
    assert nothing == Skipped(OTHER, "nothing_to_do", "absent")


def test_a_session_with_a_notice_that_waits_is_recovered(world: World) -> None:
    begin(world.ledger)
    restart(world)
    world.ledger.succeed(SESSION, "manager/2", "host")
    (due,) = [one for one in restart(world).results if isinstance(one, Resumed)]
    assert (due.authority.generation, due.plan.steps) == (3, ())
    assert len(world.ledger.pending_notices(SESSION)) == 1


def test_what_is_too_old_is_left_alone_with_its_own_line(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    world.pass_seconds(3600)
    fresh = begin(world.ledger, OTHER, "manager/9")
    world.ledger.save_checkpoint(fresh, LOOP)
    report = recover(world.open("p2"), environment(), max_age_seconds=600)
    assert the(report, Resumed).owner == OTHER
    assert the(report, Skipped)[:2] == (SESSION, "too_old")
    world.ledger.check(held)


def test_what_the_holder_wrote_last_says_how_old_it_is(world: World) -> None:
    held = begin(world.ledger)
    for number in range(6):
        world.pass_seconds(3600)
        call = world.ledger.begin_tool_call(held, "m1", f"c{number}", "read", {})
        world.ledger.complete_tool_call(held, call, 1)
    world.pass_seconds(60)
    recent = recover(
        world.open("p2"), environment(), dry_run=True, max_age_seconds=3600
    )
    assert the(recent, Closed).reasons == ("no_checkpoint",)
    world.pass_seconds(3600)
    report = recover(world.open("p2"), environment(), max_age_seconds=3600)
    assert the(report, Skipped).why == "too_old"


def test_a_dry_run_says_the_same_and_writes_nothing(world: World) -> None:
    held = begin(world.ledger)
    kid = OwnerRef("subagent", "kid_1")
    world.ledger.spawn(held, kid, "kid/1", author="manager/1")
    other = begin(world.ledger, OTHER, "manager/9")
    world.ledger.save_checkpoint(other, LOOP)
    with world.writes() as lines:
        dry = recover(world.open("p2"), environment(), dry_run=True)
    assert lines == []
    assert dry.dry_run
    would = the(dry, Resumed)
    with world.refuses(FencedOut):
        world.ledger.admit(would.authority, "m9", "human")
    done = restart(world)
    assert not done.dry_run
    assert [type(one) for one in dry.results] == [type(one) for one in done.results]
    assert dry.closed == done.closed
    assert dry.due == done.due
    assert would.plan == the(done, Resumed).plan
    assert [one.owner for one in dry.closed] == [SESSION, kid]


def test_a_crash_loop_is_resumed_again_and_counted(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    resumed = None
    for number in range(1, 5):
        report = recover(
            world.open(f"loop {number}"),
            RecoveryEnvironment(holder=lambda _owner, _process: "gone"),
        )
        resumed = the(report, Resumed)
        assert (resumed.restarts, resumed.authority.generation) == (number, number + 1)
        assert resumed.plan.keys == ("m1",)
    assert resumed is not None
    world.ledger.retire(resumed.authority, "accepted")
    three = world.ledger.succeed(SESSION, "manager/2", "host")
    world.ledger.admit(three, "m5", "human")
    assert the(restart(world), Resumed).restarts == 1


def test_a_lease_goes_on_as_long_as_it_was(world: World) -> None:
    held = world.ledger.claim(SESSION, "manager/1", "host", lease_seconds=90)
    world.ledger.admit(held, "m1", "human")
    world.pass_seconds(3600)
    restart(world)
    until = world.ledger.owner(SESSION).lease_until
    assert until is not None
    assert (until - world.now).total_seconds() == 90


def test_a_fault_on_one_leaves_the_others_done(world: World) -> None:
    for number in range(4):
        owner = OwnerRef("session", f"ses_{number}")
        held = begin(world.ledger, owner, f"manager/{number}")
        world.ledger.save_checkpoint(held, LOOP)
        kid = OwnerRef("subagent", f"kid_{number}")
        kid_held = world.ledger.spawn(held, kid, f"kid/{number}", author="host")
        below = OwnerRef("subagent", f"below_{number}")
        last = world.ledger.spawn(kid_held, below, f"below/{number}", author="host")
        # What is between is idle, and no candidate.
        world.ledger.admit(last, "t1", "assistant_run")
    broken = OwnerRef("session", "ses_2")

    def exists(owner: OwnerRef) -> bool:
        if owner == broken:
            msg = "the host's disk is gone"
            raise OSError(msg)
        return True

    report = recover(world.open("p2"), environment(conversation_exists=exists))
    (failed,) = report.failed
    assert (failed.owner, str(failed.error)) == (broken, "the host's disk is gone")
    assert len(report.resumed) == 6
    # What hangs on it waits with it.
    left = the(report, Skipped)
    assert left[:2] == (OwnerRef("subagent", "below_2"), "parent_failed")
    rest = restart(world)
    assert [one.owner.owner_id for one in rest.resumed] == ["ses_2", "below_2"]


def test_a_body_that_somebody_changed_is_a_fault_of_its_own_owner(
    world: World,
) -> None:
    held = begin(world.ledger, OTHER, "manager/9")
    world.ledger.save_checkpoint(held, LOOP)
    begin(world.ledger)
    with world.store().write(10.0) as unit:
        unit.add((), None, [BodyRow("a digest", SESSION.stream, b"another body")])
        unit.commit()
    saved = e.CheckpointSaved(
        author="manager/1",
        generation=1,
        fenced=True,
        keys=("m1",),
        revision=1,
        mode="reaction_loop",
        payload="a digest",
    )
    world.append(SESSION, saved)
    report = recover(world.open("p2"), environment(), only=[SESSION, OTHER])
    (failed,) = report.failed
    assert (failed.owner, type(failed.error)) == (SESSION, Corrupt)
    assert the(report, Resumed).owner == OTHER
    assert world.ledger.owner(SESSION).generation == 1


def test_in_async_code_it_is_the_same(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    ledger = world.open("p2")
    dry = asyncio.run(arecover(ledger, environment(), dry_run=True))
    done = asyncio.run(arecover(ledger, environment(), only=[SESSION]))
    assert the(dry, Resumed).plan == the(done, Resumed).plan
    ledger.check(the(done, Resumed).authority)


def test_an_owner_of_a_newer_version_is_left_alone(world: World) -> None:
    begin(world.ledger)
    held = begin(world.ledger, OTHER, "manager/9")
    world.ledger.save_checkpoint(held, LOOP)
    world.append_unknown(SESSION, ignorable=False)
    report = restart(world)
    assert the(report, Resumed).owner == OTHER
    assert the(report, Skipped)[:2] == (SESSION, "too_new")


def test_an_agent_that_cannot_be_read_leaves_its_owner_alone(world: World) -> None:
    """Who it is bound to cannot be told: nothing is closed for that."""
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    world.append_unknown("agent:manager/1", ignorable=False)
    assert the(again(world), Skipped)[:2] == (SESSION, "too_new")
    world.ledger.check(held)


def test_a_quarantined_owner_is_left_alone_and_so_is_what_hangs_on_it(
    world: World,
) -> None:
    held = begin(world.ledger)
    kid = OwnerRef("subagent", "kid_1")
    kid_held = world.ledger.spawn(held, kid, "kid/1", author="host")
    world.ledger.admit(kid_held, "t1", "assistant_run")
    rival = e.OwnershipClaimed(author="import", generation=1, agent_id="rival")
    world.append(SESSION, rival)
    report = again(world)
    assert [(one.owner, one.why) for one in report.skipped] == [
        (SESSION, "quarantined"),
        (kid, "quarantined"),
    ]
    world.ledger.resolve_quarantine(SESSION, 1, "ann")
    assert len(restart(world).closed) == 2


def test_a_thing_goes_with_its_parent(world: World) -> None:
    held = begin(world.ledger)
    tab = OwnerRef("browser", "tab_1")
    world.ledger.spawn(held, tab, author="manager/1")
    world.ledger.save_checkpoint(held, LOOP)
    only = recover(world.open("p2"), environment(), only=[tab])
    assert only.results == (Skipped(tab, "used_by_parent", str(SESSION)),)
    resumed = the(restart(world), Resumed)
    assert world.ledger.owner(tab).status == "revoked"
    world.ledger.take_over(tab, None, "manager/1")
    assert world.ledger.owner(tab).status == "live"
    assert resumed.owner == SESSION


def test_evidence_and_verdict_are_on_record(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    seen = world.ledger.owner(SESSION)
    restart(world)
    events = [one.event for one in world.ledger.history(SESSION)]
    (decided,) = [one for one in events if isinstance(one, e.RecoveryDecided)]
    expected = Evidence("gone", held.incarnation, seen.version, "its process: p1")
    assert (decided.disposition, decided.evidence) == ("resumed", expected)
    assert (decided.author, decided.fenced) == ("recovery", False)
