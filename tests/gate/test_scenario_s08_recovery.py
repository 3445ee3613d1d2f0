"""S8: two recovery scans resume the same child, and I12 over what they leave.

Right: verdict and claim are one step, so each owner comes back to exactly one of them;
what a user started just before the scan is no candidate. All of them are processes.
"""

from __future__ import annotations

from collections import Counter

from crashes import held_in_recovery, killed_at_work, reopened
from recovering import KID, SESSION, the
from tenure import Ledger, OwnerRef, Resumed, Skipped, recover
from workshop import Hand, hand

MANY = """
for number in range(20):
    owner = OwnerRef("session", f"ses_{number:02}")
    held = begin(owner, f"manager/{number}")
    if number % 4:
        ledger.save_checkpoint(held, LOOP)
"""
CHILD = """
held = begin()
kid = ledger.spawn(held, KID, "kid/1", author="manager/1")
ledger.admit(kid, "t1", "assistant_run")
ledger.start(kid, "t1")
ledger.save_checkpoint(kid, LOOP)
ledger.save_checkpoint(held, LOOP)
"""
SCAN = """
def exists(owner):
    say("verdict on", owner)
    hear()
    return True

environment = RecoveryEnvironment(conversation_exists=exists)
report = recover(ledger, environment, only=[KID])
for one in report.results:
    say(type(one).__name__, getattr(one, "why", one.owner.owner_id))
for one in report.resumed:
    for step in one.plan.steps:
        say(type(step).__name__, *step.keys)
say("done", len(report.failed))
hear()
"""
DAEMON = """
say("ready")
hear()
report = recover(ledger)
for one in report.resumed:
    say(one.owner.owner_id)
say("done")
hear()
"""
NAMES = [f"ses_{number:02}" for number in range(20)]


def heard(hands: list[Hand], last: str) -> list[str]:
    """Return what they say before they all say ``last``."""
    return [line for one in hands for line in iter(one.hear, last)]


def test_s8_of_two_scans_that_judged_alike_one_resumes_the_child(place: str) -> None:
    """Both say Resumable before either writes; the session above it came back."""
    killed_at_work(place, CHILD)
    with hand(place, SCAN) as one, hand(place, SCAN) as two:
        for scan in (one, two):
            assert scan.hear() == f"verdict on {KID}"
        for scan in (one, two):
            scan.say()
        said = Counter(heard([one, two], "done 0"))
        assert said == {"Resumed kid_1": 1, "GoOn t1": 1, "Skipped already_claimed": 1}
        with reopened(place) as ledger:
            assert ledger.owner(KID).generation == 2
            held_in_recovery(ledger)


def test_s8_who_was_started_by_a_user_just_before_is_no_candidate(place: str) -> None:
    killed_at_work(place, CHILD)
    user = """
    ledger.take_over(KID, "kid/1", "ann", Evidence.gone(ledger.owner(KID)))
    say("started")
    hear()
    """
    with hand(place, user) as ann, reopened(place) as ledger:
        assert ann.hear() == "started"
        assert the(recover(ledger, only=[KID]), Skipped)[:2] == (KID, "alive")
        assert ledger.owner(KID).generation == 2


def test_s8_a_user_who_starts_it_between_verdict_and_claim_wins(place: str) -> None:
    killed_at_work(place, CHILD)
    user = """
    ledger.take_over(KID, "kid/1", "ann", Evidence.gone(ledger.owner(KID)))
    say("started")
    hear()
    """
    with hand(place, SCAN) as scan:
        assert scan.hear() == f"verdict on {KID}"
        with hand(place, user) as ann:
            assert ann.hear() == "started"
            scan.say()
            assert heard([scan], "done 0") == ["Skipped already_claimed"]


def test_s8_two_daemons_restart_at_once_and_one_of_them_dies(place: str) -> None:
    """Each owner is resumed by one of them; the other one's keep their generation."""
    killed_at_work(place, MANY)
    with hand(place, DAEMON) as one, hand(place, DAEMON) as two:
        for daemon in (one, two):
            assert daemon.hear() == "ready"
        for daemon in (one, two):
            daemon.say()
        said = heard([one], "done"), heard([two], "done")
        expected = [name for number, name in enumerate(NAMES) if number % 4]
        assert sorted(said[0] + said[1]) == expected
        two.kill()
        with reopened(place) as ledger:
            before = generations(ledger)
            report = recover(ledger)
            assert sorted(done.owner.owner_id for done in report.resumed) == said[1]
            kept = [done.owner.owner_id for done in report.skipped]
            assert sorted(kept) == said[0]
            after = generations(ledger)
            assert all(after[name] == before[name] for name in said[0])
            assert all(after[name] == before[name] + 1 for name in said[1])
            held_in_recovery(ledger)


def generations(ledger: Ledger) -> dict[str, int]:
    return {name: ledger.owner(OwnerRef("session", name)).generation for name in NAMES}


def test_s8_a_scan_that_is_killed_with_its_verdict_leaves_it_to_the_next(
    place: str,
) -> None:
    killed_at_work(place, CHILD)
    with hand(place, SCAN) as scan:
        assert scan.hear() == f"verdict on {KID}"
        scan.kill()
    with reopened(place) as ledger:
        report = recover(ledger)
        assert [one.owner for one in report.resumed] == [SESSION, KID]
        assert [one.restarts for one in report.resumed] == [1, 1]
        assert isinstance(report.results[-1], Resumed)
        held_in_recovery(ledger)
