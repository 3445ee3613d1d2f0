"""S17 and S18 after a real kill: who approved, until when, and what it is good for.

Right: one decision and one resume for each request; a wait goes on under its id for
what is left of it; expired is not denied; what was decided in time is used, once.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from crashes import killed_at_work, recovered, reopened
from recovering import SESSION, the
from tenure import AlreadyDecided, AwaitApproval, Resumed, RunCall, arguments_digest
from tenure_ledger import events as e
from workshop import hand

WAIT = """
held = begin()
for call in {calls!r}:
    digest = arguments_digest({{"sum": 9}})
    ledger.intend_tool_call(held, "m1", call, "pay", {{"sum": 9}})
    ledger.request_approval(held, call, "pay", digest, "p-1", timeout=3600)
wait = RuntimeRestartToolApprovalWait(
    wait_started_at_ms=0,
    timeout_remaining_ms=3_600_000,
    dispatched_before_restart=False,
)
ledger.save_checkpoint(held, wait)
"""
X = WAIT.format(calls="x")
CLICK = """
asked = ledger.owner(S).open_approvals
say("sees", len(asked))
word = hear()
for one in asked:
    try:
        ledger.decide_approval(S, one.request_id, word, "ann")
        say("decided", word)
    except AlreadyDecided as refused:
        say("was", refused.first)
say("done")
hear()
"""
DECIDE = """
(asked,) = ledger.owner(S).open_approvals
ledger.decide_approval(S, asked.request_id, "approved", "ann")
"""


@pytest.mark.parametrize("words", [("approved", "approved"), ("approved", "denied")])
def test_s17_step_2_of_two_clicks_after_a_crash_one_decides(
    place: str, words: tuple[str, str]
) -> None:
    """Two browsers at once, each a process; the host is killed before them."""
    killed_at_work(place, X)
    with ExitStack() as stack:
        clicks = [stack.enter_context(hand(place, CLICK)) for _ in words]
        assert {one.hear() for one in clicks} == {"sees 1"}
        for one, word in zip(clicks, words, strict=True):
            one.say(word)
        said = [line for one in clicks for line in iter(one.hear, "done")]
    with reopened(place) as ledger:
        (row,) = ledger.rows("approvals", SESSION)
        first = str(row["decision"])
        assert sorted(said) == [f"decided {first}", f"was {first}"]
        events = [one.event for one in ledger.history(SESSION)]
        assert sum(isinstance(one, e.ApprovalDecided) for one in events) == 1
        held = the(recovered(ledger), Resumed).authority
        if first == "approved":
            request = str(row["request_id"])
            states = [
                ledger.begin_tool_call(
                    held, "m1", "x", "pay", {"sum": 9}, request
                ).state
                for _ in range(2)
            ]
            assert states == ["fresh", "unknown"]


def test_s17_step_3_two_waits_answered_at_once_are_consumed_by_one_resume(
    place: str,
) -> None:
    killed_at_work(place, WAIT.format(calls="xy"))
    with ExitStack() as stack:
        clicks = [stack.enter_context(hand(place, CLICK)) for _ in range(2)]
        assert {one.hear() for one in clicks} == {"sees 2"}
        for one in clicks:
            one.say("approved")
        said = [line for one in clicks for line in iter(one.hear, "done")]
        assert len(said) == 4
    with reopened(place) as ledger:
        (resumed,) = recovered(ledger).resumed
        events = [one.event for one in ledger.history(SESSION)]
        assert sum(isinstance(one, e.ApprovalDecided) for one in events) == 2
        steps = resumed.plan.steps
        runs = {one.call_id: one for one in steps if isinstance(one, RunCall)}
        assert [*runs] == ["x", "y"]
        for call, step in runs.items():
            run = ledger.begin_tool_call(
                resumed.authority, "m1", call, "pay", {"sum": 9}, step.approval
            )
            assert run.state == "fresh"


def test_s17_the_first_decision_stands_over_the_restart(place: str) -> None:
    killed_at_work(place, X + DECIDE)
    with reopened(place) as ledger:
        (asked,) = ledger.owner(SESSION).open_approvals
        assert the(recovered(ledger), Resumed).owner == SESSION
        with pytest.raises(AlreadyDecided) as second:
            ledger.decide_approval(SESSION, asked.request_id, "denied", "bob")
        assert second.value.first == "approved"


def test_s18_after_ten_seconds_it_is_open_under_the_same_request(place: str) -> None:
    killed_at_work(place, X)
    with reopened(place, after_seconds=10) as ledger:
        (before,) = ledger.owner(SESSION).open_approvals
        resumed = the(recovered(ledger), Resumed)
        assert ledger.owner(SESSION).open_approvals == (before,)
        assert before.arguments == arguments_digest({"sum": 9})
        (step,) = [one for one in resumed.plan.steps if isinstance(one, AwaitApproval)]
        assert step.request_id == before.request_id
        assert step.seconds_left is not None
        # An hour less ten seconds, and less what the test itself takes.
        assert 3000 < step.seconds_left <= 3590


def test_s18_after_two_hours_it_is_expired_once_and_not_denied(place: str) -> None:
    killed_at_work(place, X)
    with reopened(place, after_seconds=7200) as ledger:
        (before,) = ledger.owner(SESSION).open_approvals
        recovered(ledger)
        known = ledger.approval(SESSION, before.request_id)
        assert known is not None
        assert (known.reason, known.decision) == ("expired", None)
        (row,) = ledger.rows("approvals", SESSION)
        assert (row["state"], row["close_reason"]) == ("closed", "expired")


def test_s18_a_stored_decision_is_no_clocks_to_expire(place: str) -> None:
    killed_at_work(place, X + DECIDE)
    with reopened(place, after_seconds=7200) as ledger:
        held = the(recovered(ledger), Resumed).authority
        (still,) = ledger.owner(SESSION).open_approvals
        states = [
            ledger.begin_tool_call(
                held, "m1", "x", "pay", {"sum": 9}, still.request_id
            ).state
            for _ in range(2)
        ]
        assert states == ["fresh", "unknown"]


def test_s18_a_client_that_comes_back_decides_under_the_same_request(
    place: str,
) -> None:
    """Its connection died with the host: that decided nothing."""
    killed_at_work(place, X)
    with hand(place, CLICK) as lost:
        assert lost.hear() == "sees 1"
        lost.kill()
    with reopened(place) as ledger, hand(place, CLICK) as again:
        resumed = the(recovered(ledger), Resumed)
        assert again.hear() == "sees 1"
        again.say("approved")
        assert again.hear() == "decided approved"
        (asked,) = ledger.owner(SESSION).open_approvals
        run = ledger.begin_tool_call(
            resumed.authority, "m1", "x", "pay", {"sum": 9}, asked.request_id
        )
        assert run.state == "fresh"
