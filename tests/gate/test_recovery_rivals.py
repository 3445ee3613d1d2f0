"""Two recovery runs at once: one wins. S2, S7, S8, and I12 over what they leave."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from processes import Other, other
from recovering import KID, PAYLOADS, SESSION, again, begin, environment, restart, the
from tenure import (
    Closed,
    Evidence,
    FencedOut,
    HolderAnswer,
    InvalidInput,
    Ledger,
    OwnerRef,
    RecoveryEnvironment,
    RecoveryReport,
    Resumed,
    Skipped,
    open_ledger,
    reap,
    recover,
)
from tenure_ledger import events as e
from together import together
from witness import violations
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
REAP = "runtime_work_reap"
DAEMON = """
    from tenure import open_ledger, recover
    ledger = open_ledger("sqlite:///" + sys.argv[1])
    say("ready")
    hear()
    report = recover(ledger)
    for one in report.resumed:
        say(one.owner.owner_id)
    say("done")
    hear()
"""
HOST = """
    from tenure import *
    ledger = open_ledger("sqlite:///" + sys.argv[1])
    loop = RuntimeRestartReactionLoopState(consecutive_batches=1)
    for number in range(20):
        owner = OwnerRef("session", f"ses_{number:02}")
        first = First("m1", "human")
        held = ledger.claim(owner, f"manager/{number}", "host", first=first)
        ledger.start(held, "m1")
        if number % 4:
            ledger.save_checkpoint(held, loop)
    say("worked")
    hear()
"""


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


def test_two_daemons_restart_at_once_after_a_real_kill(tmp_path: Path) -> None:
    """Real processes: every owner is resumed by one of them, and by one only."""
    path = tmp_path / "relay.db"
    with other(HOST, path) as host:
        assert host.hear() == "worked"
        host.kill()
    with other(DAEMON, path) as one, other(DAEMON, path) as two:
        for daemon in (one, two):
            assert daemon.hear() == "ready"
        for daemon in (one, two):
            daemon.say()
        said = [line for daemon in (one, two) for line in _until_done(daemon)]
        expected = [f"ses_{number:02}" for number in range(20) if number % 4]
        assert sorted(said) == expected
        # The other daemon's running owners keep their generation.
        two.kill()
        with open_ledger(f"sqlite:///{path}") as ledger:
            before = _generations(ledger)
            report = recover(ledger)
            kept = {done.owner for done in report.skipped if done.why == "alive"}
            after = _generations(ledger)
            assert all(after[owner] == before[owner] for owner in kept)
            i12(ledger)
        one.kill()


def _until_done(daemon: Other) -> list[str]:
    said: list[str] = []
    while (line := daemon.hear()) != "done":
        assert line, "the daemon ended"
        said.append(line)
    return said


def _generations(ledger: Ledger) -> dict[OwnerRef, int]:
    owners = [OwnerRef("session", f"ses_{number:02}") for number in range(20)]
    return {owner: ledger.owner(owner).generation for owner in owners}


def i12(ledger: Ledger) -> None:
    """I12, from the log: each resume and close decided once, over a holding gone."""
    assert violations([*ledger.events()]) == []
    for row in ledger.rows("recovery_owners"):
        owner = OwnerRef(str(row["recovery_class"]), str(row["owner_id"]))
        events = [one.event for one in ledger.history(owner)]
        decided = [one for one in events if isinstance(one, e.RecoveryDecided)]
        assert len({one.generation for one in decided}) == len(decided)
        restarts = [
            one.generation
            for one in events
            if isinstance(one, e.GenerationAdvanced)
            and one.reason == "instance_restart"
        ]
        resumed = [
            one.generation + 1 for one in decided if one.disposition == "resumed"
        ]
        assert restarts == resumed
        told = [one for one in events if isinstance(one, e.NoticeIssued)]
        assert len({one.notice for one in told}) == len(told)
    before = ledger.head().position
    recover(ledger)
    assert ledger.head().position == before


def test_i12_holds_over_every_mode_and_reason(world: World) -> None:
    for number, mode in enumerate(PAYLOADS):
        owner = OwnerRef("session", f"ses_{number:02}")
        held = begin(world.ledger, owner, f"manager/{number}")
        world.ledger.save_checkpoint(held, PAYLOADS[mode])
        if number == 2:
            world.ledger.mark_output_started(held, "m1")
    restart(world)
    again(world)
    assert violations([*world.ledger.events()]) == []
    assert world.ledger.verify().ok
