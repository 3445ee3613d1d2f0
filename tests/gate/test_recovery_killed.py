"""After a real kill: a cancelled stream, a repeated call, work without checkpoint."""

from __future__ import annotations

import pytest

from crashes import held_in_recovery, killed_at_work, recovered, reopened
from gates import Gate, user
from recovering import KID, SESSION, hears_only_what_came_after_the_cancel, the
from tenure import (
    ChatExecutionKey,
    Closed,
    Ledger,
    OwnerRef,
    Resumed,
    SuccessionDue,
    Unstarted,
    recover,
)
from workshop import hand

QUEUE = """
held = begin()
ledger.admit(held, "m2", "human")
ledger.accept(S, "m3", "inbox", human=True)
kid = ledger.spawn(held, KID, "kid/1", author="manager/1")
ledger.admit(kid, "t1", "assistant_run")
ledger.start(kid, "t1")
ledger.save_checkpoint(kid, LOOP)
ledger.save_checkpoint(held, LOOP)
say("at work")
hear()
"""
CANCEL = """
ledger.bar_replay(S, "user_cancelled_whole_stream", "ann")
ledger.accept(S, "m4", "inbox", "ann", human=True)
"""
CALL = """
held = begin()
ledger.save_checkpoint(held, LOOP)
call = ledger.begin_tool_call(held, "m1", "x", "pay", {"sum": 9}, command_id="c 1")
"""


def outcome(ledger: Ledger, key: str, owner: OwnerRef = SESSION) -> str | None:
    at = ChatExecutionKey(owner.owner_id, key)
    known = ledger.execution(at, owner.recovery_class)
    assert known is not None
    return known.outcome


@pytest.mark.parametrize("cancelled", ["before the crash", "after the crash"])
def test_a_whole_stream_cancelled_with_a_queue_behind_it_never_comes_back(
    place: str, cancelled: str
) -> None:
    """The person cancels and writes on; then recovery, and the next term."""
    with hand(place, QUEUE) as host:
        assert host.hear() == "at work"
        if cancelled == "after the crash":
            host.kill()
        killed_at_work(place, CANCEL)
        if host.runs:
            host.kill()
    with reopened(place) as ledger:
        assert [outcome(ledger, key) for key in ("m2", "m3")] == ["cancelled"] * 2
        report = recovered(ledger)
        assert [one.owner for one in report.closed] == [SESSION, KID]
        assert the(report, SuccessionDue).waiting == ("m4",)
        assert outcome(ledger, "m1") == outcome(ledger, "t1", KID) == "cancelled"
        two = ledger.succeed(SESSION, "manager/2", "host")
        (only,) = ledger.owner(SESSION).open_executions
        assert only.key == "m4"
        messages = [user(key) for key in ("m1", "m2", "m3", "m4")]
        view = Gate(ledger).apply(messages, two)
        hears_only_what_came_after_the_cancel(view)
        ledger.settle(two, "m4", "completed")
        assert ledger.pending_notices(SESSION) == []
        held_in_recovery(ledger)


def test_killed_again_while_it_is_recovered_a_cancelled_stream_stays_cancelled(
    place: str,
) -> None:
    with hand(place, QUEUE) as host:
        assert host.hear() == "at work"
        host.kill()
    killed_at_work(place, CANCEL)
    killed_at_work(
        place,
        """
        for one in recover_each(ledger):
            break
        """,
    )
    with reopened(place) as ledger:
        report = recovered(ledger)
        assert report.resumed == ()
        assert outcome(ledger, "m1") == outcome(ledger, "t1", KID) == "cancelled"
        assert the(report, SuccessionDue).waiting == ("m4",)
        assert len(ledger.pending_notices(SESSION)) == 2
        held_in_recovery(ledger)


@pytest.mark.parametrize("repeated", [0, 1, 2])
def test_a_call_that_is_begun_again_over_a_crash_is_run_once(
    place: str, repeated: int
) -> None:
    """The same command, the same call by another command, and both after a crash."""
    again = """
say(ledger.begin_tool_call(
    held, "m1", "x", "pay", {"sum": 9}, command_id=["c 1", None][hear() == "other"]
).state)
"""
    with hand(place, CALL + "say(call.state)\n" + again * repeated) as host:
        assert host.hear() == "fresh"
        for number in range(repeated):
            host.say("other" if number else "same")
            assert host.hear() == "unknown"
        host.end()
    with reopened(place) as ledger:
        held = the(recovered(ledger), Resumed).authority
        call = ledger.begin_tool_call(held, "m1", "x", "pay", {"sum": 9})
        assert call.state == "unknown"
        topics = [one.event.topic for one in ledger.history(SESSION)]
        assert topics.count("tool-call-dispatched.v1") == 1
        assert topics.count("tool-call-intended.v1") == 1
        ledger.complete_tool_call(held, call, "paid")
        call = ledger.begin_tool_call(held, "m1", "x", "pay", {"sum": 9})
        assert (call.state, call.result) == ("completed", "paid")


def test_work_without_a_checkpoint_is_given_back_until_it_was_started(
    place: str,
) -> None:
    killed_at_work(
        place,
        """
        for name in ("ses_1", "ses_2"):
            owner = OwnerRef("session", name)
            first = First("m1", "human")
            held = ledger.claim(owner, "manager of " + name, "host", first=first)
            ledger.accept(owner, "m2", "inbox", human=True)
        ledger.start(held, "m1")
        """,
    )
    with reopened(place) as ledger:
        report = recovered(ledger)
        resumed = the(report, Resumed)
        assert (resumed.owner, resumed.plan.mode) == (SESSION, None)
        assert resumed.plan.steps == (Unstarted(("m1", "m2")),)
        closed = the(report, Closed)
        assert (closed.owner.owner_id, closed.reasons) == ("ses_2", ("no_checkpoint",))
        assert the(report, SuccessionDue).waiting == ("m2",)
        held_in_recovery(ledger)


def test_a_person_who_writes_while_it_is_recovered_is_heard_by_the_next_term(
    place: str,
) -> None:
    """Between the verdict and the claim, by another process."""
    killed_at_work(place, 'ledger.mark_output_started(begin(), "m1")')
    run = """
    def exists(owner):
        say("verdict on", owner)
        hear()
        return True
    report = recover(ledger, RecoveryEnvironment(conversation_exists=exists))
    for one in report.due:
        say(*one.waiting)
    hear()
    """
    with hand(place, run) as scan:
        assert scan.hear() == f"verdict on {SESSION}"
        killed_at_work(place, 'ledger.accept(S, "m2", "inbox", "ann", human=True)')
        scan.say()
        assert scan.hear() == "m2"
        scan.kill()
    with reopened(place) as ledger:
        assert the(recover(ledger), SuccessionDue).waiting == ("m2",)
        ledger.succeed(SESSION, "manager/2", "host")
        assert ledger.owner(SESSION).waiting == ("m2",)
        held_in_recovery(ledger)
