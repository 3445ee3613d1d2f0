"""Two recovery runs at once: one wins. S2, S7 and S8 within one process."""

from __future__ import annotations

from collections import Counter

import pytest

from recovering import KID, PAYLOADS, SESSION, begin, environment, restart, the
from tenure import (
    Closed,
    Evidence,
    FencedOut,
    HolderAnswer,
    InvalidInput,
    OwnerRef,
    RecoveryEnvironment,
    RecoveryReport,
    Resumed,
    Skipped,
    reap,
    recover,
)
from together import together
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
REAP = "runtime_work_reap"


def expire(world: World) -> None:
    """Begin work under a lease that runs out."""
    held = world.ledger.claim(SESSION, "manager/1", "host", lease_seconds=90)
    world.ledger.admit(held, "m1", "human")
    world.ledger.start(held, "m1")
    world.pass_seconds(1800)


def test_s2_a_reaper_changes_nothing_of_what_ended_meanwhile(world: World) -> None:
    """S2, 2a: the owner completes between the look and the close."""
    held = begin(world.ledger, KID, "kid/1")
    world.ledger.advance(held, "lease_renewal", lease_seconds=90)
    world.pass_seconds(1800)

    def holder(owner: OwnerRef, _process: str | None) -> HolderAnswer:
        world.ledger.terminate(held, "done", "Done.")
        assert owner == KID
        return "gone"

    report = reap(world.open("p2"), RecoveryEnvironment(holder=holder), "reaper")
    assert the(report, Skipped)[:2] == (KID, "already_claimed")
    terminal = world.ledger.owner(KID).terminal
    assert terminal is not None
    assert terminal.event_type == "done"


def test_s2_a_reaper_changes_nothing_of_what_was_taken_over_meanwhile(
    world: World,
) -> None:
    """S2, 2b: a newer generation saved a checkpoint; it survives byte for byte."""
    expire(world)
    saved: list[object] = []

    def holder(_owner: OwnerRef, _process: str | None) -> HolderAnswer:
        ledger = world.open("p3")
        gone = Evidence.gone(ledger.owner(SESSION))
        two = ledger.take_over(SESSION, "manager/2", "host", gone)
        ledger.save_checkpoint(two, LOOP, keys=[])
        saved.extend(ledger.rows("runtime_restart_checkpoints"))
        return "gone"

    report = reap(world.open("p2"), RecoveryEnvironment(holder=holder), "reaper")
    assert the(report, Skipped)[:2] == (SESSION, "already_claimed")
    assert [*world.ledger.rows("runtime_restart_checkpoints")] == saved
    assert world.ledger.owner(SESSION).generation == 2


def test_even_a_message_that_came_meanwhile_makes_the_reaper_wait(
    world: World,
) -> None:
    expire(world)
    calls: list[str] = []

    def holder(_owner: OwnerRef, _process: str | None) -> HolderAnswer:
        if not calls:
            world.ledger.accept(SESSION, "m2", "inbox")
        calls.append("asked")
        return "gone"

    gone = RecoveryEnvironment(holder=holder)
    assert the(reap(world.open("p2"), gone), Skipped).why == "already_claimed"
    assert the(reap(world.open("p2"), gone), Closed).owner == SESSION


def test_the_reaper_closes_what_has_no_holder_and_tells_why(world: World) -> None:
    expire(world)
    with world.writes() as lines:
        closed = the(reap(world.open("p2"), environment(), "the sweeper"), Closed)
    assert lines == [
        f"ses_1 ReplayBarred@1 {REAP}",
        "ses_1 RecoveryDecided@1",
        "ses_1 ExecutionSettled@1 m1 closed_in_recovery",
        "ses_1 RetirementCut@1 forced",
        "manager/1 AgentReleased@1",
        f"ses_1 NoticeIssued@1 {REAP}",
    ]
    assert closed.reasons == (REAP,)
    (notice,) = world.ledger.pending_notices(SESSION)
    assert "It was reaped: nobody was working on it any more." in notice.text
    cut = world.ledger.owner(SESSION).cut
    assert cut is not None
    assert cut.author == "the sweeper"
    with world.writes() as lines:
        assert reap(world.open("p2"), environment()).results == ()
    assert lines == []
    # Whoever hangs on it is settled by the next recovery run.
    assert [one.call for one in restart(world).due] == ["succeed"]


@pytest.mark.parametrize("answer", ["alive", "cannot_tell"])
def test_s7_a_lease_that_ran_out_moves_nothing_by_itself(
    world: World, answer: HolderAnswer
) -> None:
    """S7: the lid was closed and the clock jumped, the holder is there."""
    expire(world)
    there = RecoveryEnvironment(holder=lambda _owner, _process: answer)
    with world.writes() as lines:
        assert the(reap(world.open("p2"), there), Skipped).why == answer
        assert the(recover(world.open("p2"), there), Skipped).why == answer
    assert lines == []


def test_s7_a_clock_that_goes_back_or_ahead_reaps_nobody_early(world: World) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", lease_seconds=90)
    for seconds in (-3600, 40, 3600):
        world.pass_seconds(seconds)
        assert reap(world.open("p2"), environment()).results == ()
    world.pass_seconds(49)
    assert reap(world.open("p2"), environment()).results == ()
    world.pass_seconds(1)
    assert the(reap(world.open("p2"), environment()), Closed).owner == SESSION


def test_s7_who_wakes_up_after_it_was_recovered_is_refused(world: World) -> None:
    held = world.ledger.claim(SESSION, "manager/1", "host", lease_seconds=90)
    world.ledger.admit(held, "m1", "human")
    world.pass_seconds(1800)
    resumed = the(restart(world), Resumed)
    with world.refuses(FencedOut):
        world.ledger.start(held, "m1")
    world.ledger.start(resumed.authority, "m1")


def test_what_has_no_lease_is_never_reaped(world: World) -> None:
    begin(world.ledger)
    world.pass_seconds(10**8)
    assert reap(world.open("p2"), environment()).results == ()
    seen = world.ledger.owner(SESSION)
    with world.refuses(InvalidInput):
        world.open("p2").reap_owner(SESSION, Evidence.gone(seen), "reaper")


def test_a_thing_whose_lease_ran_out_is_reaped_alone(world: World) -> None:
    held = begin(world.ledger)
    tab = OwnerRef("browser", "tab_1")
    world.ledger.spawn(held, tab, author="manager/1", lease_seconds=60)
    world.pass_seconds(60)
    closed = the(reap(world.open("p2"), environment()), Closed)
    assert (closed.owner, closed.told) == (tab, SESSION)
    world.ledger.check(held)
    world.ledger.spawn(held, tab, author="manager/1", lease_seconds=60)


def test_s8_of_two_runs_at_once_one_resumes_and_the_other_is_told(
    world: World,
) -> None:
    """S8: both ask before either writes; each says that the holder is gone."""
    for number in range(12):
        owner = OwnerRef("session", f"ses_{number:02}")
        held = begin(world.ledger, owner, f"manager/{number}")
        if number % 3:
            world.ledger.save_checkpoint(held, LOOP)

    def run(name: str) -> RecoveryReport:
        gone = RecoveryEnvironment(
            holder=lambda _owner, process: "gone" if process == "p1" else "alive"
        )
        return recover(world.open(name), gone)

    one, two = together([lambda: run("r1"), lambda: run("r2")])
    assert isinstance(one, RecoveryReport)
    assert isinstance(two, RecoveryReport)
    assert one.failed == two.failed == ()
    resumed = Counter(done.owner for done in (*one.resumed, *two.resumed))
    closed = Counter(done.owner for done in (*one.closed, *two.closed))
    assert [*resumed.values()] == [1] * 8
    assert [*closed.values()] == [1] * 4
    left = {done.why for done in (*one.skipped, *two.skipped)}
    assert left <= {"already_claimed", "alive"}
    for done in (*one.resumed, *two.resumed):
        world.ledger.check(done.authority)


def test_s8_between_verdict_and_claim_nothing_fits(world: World) -> None:
    """The second run looked first and settles last: already claimed, no effect."""
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)

    def exists(_owner: OwnerRef) -> bool:
        assert recover(world.open("r1"), environment()).resumed
        return True

    report = recover(world.open("r2"), environment(conversation_exists=exists))
    assert the(report, Skipped)[:2] == (SESSION, "already_claimed")
    assert world.ledger.owner(SESSION).process == "r1"


def test_s8_what_a_user_started_just_before_is_no_candidate(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    gone = Evidence.gone(world.ledger.owner(SESSION))
    two = world.open("p3").take_over(SESSION, "manager/1", "ann", gone)
    report = recover(world.open("r1"), environment("p3"))
    assert the(report, Skipped)[:2] == (SESSION, "alive")
    world.ledger.check(two)
