"""What others write between a recovery's verdict and its claim, as real processes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from crashes import held_in_recovery, killed_at_work, recovered, reopened
from recovering import SESSION, the
from tenure import KeepOutput, OwnerRef, Resumed, SuccessionDue, Unstarted, recover
from workshop import Hand, hand

WORK = """
held = begin()
ledger.save_checkpoint(held, LOOP)
ledger.accept(S, "m2", "inbox", "ann", human=True)
"""
SCAN = """
def exists(owner):
    say("verdict on", owner)
    hear()
    return True

environment = RecoveryEnvironment(
    conversation_exists=exists, holder=lambda owner, process: "gone"
)
report = recover(ledger, environment)
for one in report.results:
    said = getattr(one, "why", "") or " ".join(getattr(one, "reasons", ()))
    say(type(one).__name__, said, *getattr(one, "waiting", ()))
say("done", len(report.failed))
hear()
"""
GONE = """
recover(ledger, RecoveryEnvironment(holder=lambda owner, process: "gone"))
"""


@contextmanager
def judged(place: str) -> Generator[Hand]:
    """Give a run that has judged the session and not settled it."""
    with hand(place, SCAN) as scan:
        assert scan.hear() == f"verdict on {SESSION}"
        yield scan


def said(scan: Hand) -> list[str]:
    """Let it settle, and return what it says it did."""
    scan.say()
    return [line.strip() for line in iter(scan.hear, "done 0")]


def test_what_is_cancelled_meanwhile_is_not_resumed(place: str) -> None:
    killed_at_work(place, WORK)
    with judged(place) as scan:
        killed_at_work(place, 'ledger.bar_replay(S, "user_cancelled", "ann", ["m1"])')
        assert said(scan) == ["Closed user_cancelled", "SuccessionDue  m2"]
    with reopened(place) as ledger:
        held_in_recovery(ledger)


def test_who_retires_meanwhile_was_alive_and_its_successor_is_due(place: str) -> None:
    """It was taken for gone: what it did with its term stands."""
    retires = """
say("at work")
hear()
ledger.settle(held, "m1", "completed")
ledger.retire(held, "continue", "Next: B.")
say("retired")
hear()
"""
    with hand(place, WORK + retires) as host:
        assert host.hear() == "at work"
        with judged(place) as scan:
            host.say()
            assert host.hear() == "retired"
            assert said(scan) == ["Skipped already_claimed"]
        host.kill()
    with reopened(place) as ledger:
        due = the(recovered(ledger), SuccessionDue)
        assert due[1:] == ("succeed", "continue", "Next: B.", ("m2",))
        assert ledger.pending_notices(SESSION) == []
        held_in_recovery(ledger)


def test_what_is_deleted_meanwhile_is_left_alone(place: str) -> None:
    killed_at_work(place, WORK)
    with judged(place) as scan:
        killed_at_work(place, 'ledger.delete_conversation(S, "ann")')
        assert said(scan) == ["Skipped deleted"]
    with reopened(place) as ledger:
        assert recovered(ledger).results == ()


@pytest.mark.parametrize("times", [1, 2])
def test_a_result_that_comes_after_the_recoveries_is_kept_and_not_run_for_again(
    place: str, times: int
) -> None:
    """Its process lives on under the authority of a holding that ended."""
    tool = """
call = ledger.begin_tool_call(held, "m1", "x", "pay", {})
say("dispatched")
hear()
for _ in range(2):
    try:
        ledger.complete_tool_call(held, call, "receipt")
    except FencedOut as refused:
        say("late", refused.late)
hear()
"""
    with hand(place, WORK + tool) as host:
        assert host.hear() == "dispatched"
        for _ in range(times):
            killed_at_work(place, GONE)
        host.say()
        first = host.hear()
        assert first.startswith("late ")
        assert host.hear() == first
        host.kill()
    with reopened(place) as ledger:
        resumed = the(recover(ledger), Resumed)
        assert resumed.restarts == times + 1
        (kept,) = [one for one in resumed.plan.steps if isinstance(one, KeepOutput)]
        assert ledger.body(SESSION, str(kept.result)) == "receipt"
        again = ledger.begin_tool_call(resumed.authority, "m1", "x", "pay", {})
        assert (again.state, again.result) == ("completed", "receipt")
        held_in_recovery(ledger)


def test_a_successor_that_dies_at_once_comes_back_with_all_that_was_carried_over(
    place: str,
) -> None:
    """A message before its claim, one after it, and a run that dies too."""
    killed_at_work(
        place,
        """
        held = begin()
        ledger.accept(S, "w1", "inbox", human=True)
        ledger.settle(held, "m1", "completed")
        ledger.retire(held, "accepted")
        """,
    )
    killed_at_work(
        place,
        """
        ledger.accept(S, "w2", "inbox", human=True)
        ledger.succeed(S, "manager/2", "host", first=First("r1", "continue_relay"))
        """,
    )
    killed_at_work(place, 'ledger.accept(S, "w3", "inbox", human=True)')
    killed_at_work(place, "recover(ledger)")
    with reopened(place) as ledger:
        resumed = the(recovered(ledger), Resumed)
        assert resumed.plan.steps == (Unstarted(("w1", "w2", "r1", "w3")),)
        assert resumed.restarts == 2
        held_in_recovery(ledger)


def test_of_a_reaper_and_a_recovery_at_once_one_settles_each_owner(place: str) -> None:
    many = """
for number in range(8):
    owner = OwnerRef("session", f"ses_{number}")
    held = ledger.claim(
        owner, f"m{number}", "host", first=First("m1", "human"), lease_seconds=0
    )
    ledger.start(held, "m1")
    ledger.save_checkpoint(held, LOOP)
"""
    script = """
say("ready")
hear()
for one in {run}(ledger).results:
    say(type(one).__name__, one.owner.owner_id)
say("done")
hear()
"""
    killed_at_work(place, many)
    with (
        hand(place, script.format(run="recover")) as one,
        hand(place, script.format(run="reap")) as two,
    ):
        assert [run.hear() for run in (one, two)] == ["ready"] * 2
        for run in (one, two):
            run.say()
        told = [line for run in (one, two) for line in iter(run.hear, "done")]
        with reopened(place) as ledger:
            for number in range(8):
                settled = (f"Resumed ses_{number}", f"Closed ses_{number}")
                assert sum(told.count(line) for line in settled) == 1
                view = ledger.owner(OwnerRef("session", f"ses_{number}"))
                assert (view.status == "live") == (settled[0] in told)
            held_in_recovery(ledger)
