"""S16: "interrupted" means both "waiting for an answer" and "was cancelled".

Right: the two are different events and different values of the tables. Cancelled, what
is sent next is a new submission and nothing is resumed; waiting, it is queued and the
approval stays open. The host that waits is a process, and is killed.
"""

from __future__ import annotations

import pytest

from crashes import killed_at_work, recovered, reopened
from gates import Gate, texts, user, verdicts
from recovering import SESSION, the
from tenure import (
    AwaitApproval,
    ChatExecutionKey,
    Closed,
    Ledger,
    Resumed,
    SuccessionDue,
)

WAIT = """
held = begin()
digest = arguments_digest({"sum": 9})
ledger.intend_tool_call(held, "m1", "x", "pay", {"sum": 9})
ledger.request_approval(held, "x", "pay", digest, "p-1", timeout=600)
wait = RuntimeRestartToolApprovalWait(
    wait_started_at_ms=0, timeout_remaining_ms=600_000, dispatched_before_restart=False
)
ledger.save_checkpoint(held, wait)
"""
CANCEL = """
ledger.bar_replay(S, "user_cancelled", "ann", ["m1"])
"""
SEND = """
ledger.accept(S, "m2", "inbox", "ann", human=True)
"""


def outcome(ledger: Ledger, key: str) -> str | None:
    known = ledger.execution(ChatExecutionKey("ses_1", key))
    assert known is not None
    return known.outcome


@pytest.mark.parametrize("sent", ["before the crash", "after it", "after recovery"])
def test_s16_what_is_sent_after_a_cancel_is_new_and_nothing_is_resumed(
    place: str, sent: str
) -> None:
    """Step 2, with the message at each moment."""
    killed_at_work(place, WAIT + CANCEL + (SEND if sent == "before the crash" else ""))
    with reopened(place) as ledger:
        if sent == "after it":
            ledger.accept(SESSION, "m2", "inbox", "ann", human=True)
        report = recovered(ledger)
        assert report.resumed == ()
        assert the(report, Closed).reasons == ("user_cancelled",)
        waiting = () if sent == "after recovery" else ("m2",)
        assert the(report, SuccessionDue).waiting == waiting
        if sent == "after recovery":
            ledger.accept(SESSION, "m2", "inbox", "ann", human=True)
        two = ledger.succeed(SESSION, "manager/2", "host")
        (key,) = [one.key for one in ledger.owner(SESSION).open_executions]
        assert key == "m2"
        view = Gate(ledger).apply([user("m1"), user("m2")], two)
        assert verdicts(view) == {"m1": "history", "m2": "successor"}
        assert texts(view)[-1] == "text of m2"
        assert "text of m1" not in texts(view)
        assert outcome(ledger, "m1") == "cancelled"
        # A click on the old request does nothing any more.
        assert ledger.owner(SESSION).open_approvals == ()
        (row,) = ledger.rows("approvals", SESSION)
        assert (row["state"], row["decision"]) == ("closed", None)


@pytest.mark.parametrize("sent", ["before the crash", "after it", "after recovery"])
def test_s16_what_is_sent_to_one_who_waits_is_queued_and_the_wait_goes_on(
    place: str, sent: str
) -> None:
    """Step 3, with the message at each moment."""
    killed_at_work(place, WAIT + (SEND if sent == "before the crash" else ""))
    with reopened(place) as ledger:
        if sent == "after it":
            ledger.accept(SESSION, "m2", "inbox", "ann", human=True)
        (before,) = ledger.owner(SESSION).open_approvals
        resumed = the(recovered(ledger), Resumed)
        if sent == "after recovery":
            ledger.accept(SESSION, "m2", "inbox", "ann", human=True)
        assert ledger.owner(SESSION).open_approvals == (before,)
        waits = [one for one in resumed.plan.steps if isinstance(one, AwaitApproval)]
        assert [one.request_id for one in waits] == [before.request_id]
        assert ledger.owner(SESSION).waiting == ("m2",)
        assert (outcome(ledger, "m1"), outcome(ledger, "m2")) == (None, None)
        (row,) = ledger.rows("approvals", SESSION)
        assert row["state"] == "waiting"
        # The answer comes; m1 goes on, and m2 is worked on behind it.
        held = resumed.authority
        ledger.decide_approval(SESSION, before.request_id, "approved", "ann")
        call = ledger.begin_tool_call(
            held, "m1", "x", "pay", {"sum": 9}, before.request_id
        )
        assert call.state == "fresh"
        ledger.complete_tool_call(held, call, "paid")
        ledger.settle(held, "m1", "completed")
        ledger.admit(held, "m2", "human")
        ledger.start(held, "m2")
