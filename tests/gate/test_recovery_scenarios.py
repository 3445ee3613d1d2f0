"""Scenarios after a real kill -9: S9 to S12, S17 to S20, S22, as recovery sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashes import killed_at_work, reopened
from gates import Gate, user
from recovering import CLOSED, KID, SESSION, STATUS, the
from tenure import (
    NOTICE,
    AlreadyDecided,
    ChatExecutionKey,
    Closed,
    Ledger,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    SuccessionDue,
    arguments_digest,
    recover,
)
from tenure_gate.recovery.steps import GoOn, KeepOutput, RunCall, TellCall

M1 = ChatExecutionKey("ses_1", "m1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger lies."""
    return tmp_path / "relay.db"


def recovered(ledger: Ledger) -> tuple[object, ...]:
    """Recover by the default environment; again, and nothing is appended."""
    report = recover(ledger)
    assert report.failed == ()
    before = ledger.head().position
    recover(ledger)
    assert ledger.head().position == before
    return report.results


def test_s9_a_run_that_ended_well_is_no_candidate(path: Path) -> None:
    """S9: whatever its two starts were called, it settled; nothing is recovered."""
    killed_at_work(
        path,
        """
        held = begin()
        held = ledger.advance(held, "lease_renewal")
        ledger.settle(held, "m1", "completed")
        """,
    )
    with reopened(path) as ledger:
        assert recovered(ledger) == ()
        assert ledger.owner(SESSION).generation == 2


@pytest.mark.parametrize("marked", [False, True])
def test_s10_the_marker_decides_and_not_the_first_byte(
    path: Path, *, marked: bool
) -> None:
    """S10: killed just before the marker, and between the marker and the first byte."""
    killed_at_work(
        path,
        f"""
        held = begin()
        loop = RuntimeRestartReactionLoopState(consecutive_batches=1)
        ledger.save_checkpoint(held, loop)
        if {marked}:
            ledger.mark_output_started(held, "m1")
        """,
    )
    with reopened(path) as ledger:
        result, *_ = recovered(ledger)
        if not marked:
            assert isinstance(result, Resumed)
            return
        assert isinstance(result, Closed)
        assert result.reasons == ("visible_output_started",)
        (notice,) = ledger.pending_notices(SESSION)
        assert "its output may or may not have been seen" in notice.text


def test_s11_three_calls_each_by_its_own_id(path: Path) -> None:
    """S11: a is in the checkpoint, b was dispatched, c (the same tool) was not."""
    killed_at_work(
        path,
        """
        held = begin()
        ledger.begin_tool_call(held, "m1", "a", "read", {"path": "a"})
        loop = RuntimeRestartReactionLoopState(
            consecutive_batches=1,
            pending_tool_calls=[
                {"id": "b", "name": "mail", "arguments": {"to": "b"}},
                {"id": "c", "name": "mail", "arguments": {"to": "c"}},
            ],
            completed_unpersisted_tool_outputs=[{"call_id": "a", "output": "A"}],
        )
        ledger.save_checkpoint(held, loop)
        ledger.begin_tool_call(held, "m1", "b", "mail", {"to": "b"})
        """,
    )
    with reopened(path) as ledger:
        (resumed,) = recovered(ledger)
        assert isinstance(resumed, Resumed)
        steps = resumed.plan.steps
        kept = [one.call_id for one in steps if isinstance(one, KeepOutput)]
        told = [(one.call_id, one.what) for one in steps if isinstance(one, TellCall)]
        run = [one.call_id for one in steps if isinstance(one, RunCall)]
        assert (kept, told, run) == (["a"], [("b", "unknown")], ["c"])
        assert isinstance(steps[-1], GoOn)
        # What is in the checkpoint is not told as unknown, and stays to be completed.
        (notice,) = ledger.pending_notices(SESSION)
        assert [fact.call_id for fact in notice.facts] == ["b"]
        ledger.complete_tool_call(resumed.authority, ("m1", "a"), "A")
        again = ledger.begin_tool_call(
            resumed.authority, "m1", "b", "mail", {"to": "b"}
        )
        assert again.state == "unknown"


def test_s11_of_a_closed_run_the_output_it_held_is_told_as_complete(
    path: Path,
) -> None:
    killed_at_work(
        path,
        """
        held = begin()
        ledger.begin_tool_call(held, "m1", "a", "read", {})
        ledger.begin_tool_call(held, "m1", "b", "mail", {})
        loop = RuntimeRestartReactionLoopState(
            consecutive_batches=1, completed_unpersisted_tool_outputs=["a"]
        )
        ledger.save_checkpoint(held, loop)
        ledger.mark_output_started(held, "m1")
        """,
    )
    with reopened(path) as ledger:
        recovered(ledger)
        (notice,) = ledger.pending_notices(SESSION)
        told = {fact.call_id: fact.kind for fact in notice.facts if fact.call_id}
        assert told == {"a": "output_completed", "b": "outcome_unknown"}


@pytest.mark.parametrize("dispatched", [False, True])
def test_s12_started_without_a_result_is_unknown_told_once_and_never_run_again(
    path: Path, *, dispatched: bool
) -> None:
    """S12: with and without ``dispatched_before_restart``; the view tells it once."""
    killed_at_work(
        path,
        f"""
        held = begin()
        call = ledger.begin_tool_call if {dispatched} else ledger.intend_tool_call
        call(held, "m1", "x", "pay", {{"sum": 9}})
        wait = RuntimeRestartToolApprovalWait(
            wait_started_at_ms=0, dispatched_before_restart={dispatched}
        )
        ledger.save_checkpoint(held, wait)
        """,
    )
    with reopened(path) as ledger:
        (resumed,) = recovered(ledger)
        assert isinstance(resumed, Resumed)
        held = resumed.authority
        gate = Gate(ledger)
        views = [gate.apply([user("m1")], held, acting="m1") for _ in range(2)]
        told = [view.notices for view in views]
        assert told[0] == told[1]
        assert len(told[0]) == (1 if dispatched else 0)
        if dispatched:
            line = "- call x of pay in message m1: it may or may not have happened"
            assert line in told[0][0]
        again = ledger.begin_tool_call(held, "m1", "x", "pay", {"sum": 9})
        assert again.state == ("unknown" if dispatched else "fresh")


def test_s12_interrupted_by_a_person_the_next_term_sees_it(path: Path) -> None:
    """S12 step 5: a person interrupts, T2 takes the session over."""
    killed_at_work(
        path,
        """
        held = begin()
        ledger.begin_tool_call(held, "m1", "x", "pay", {"sum": 9})
        ledger.bar_replay(S, "user_cancelled", "ann", ["m1"])
        """,
    )
    with reopened(path) as ledger:
        closed, due = recovered(ledger)
        assert isinstance(closed, Closed)
        assert isinstance(due, SuccessionDue)
        two = ledger.succeed(SESSION, "manager/2", "host")
        ledger.admit(two, "m2", "human")
        view = Gate(ledger).apply([user("m1"), user("m2")], two)
        (text,) = view.notices
        assert text.startswith(NOTICE)
        assert "The user cancelled this." in text
        assert "- call x of pay in message m1: it may or may not have happened" in text
        assert "not finished" not in text


def test_s17_the_first_decision_stands_over_the_restart(path: Path) -> None:
    killed_at_work(path, WAIT)
    with reopened(path) as ledger:
        (asked,) = ledger.owner(SESSION).open_approvals
        ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
        (resumed,) = recovered(ledger)
        assert isinstance(resumed, Resumed)
        with pytest.raises(AlreadyDecided) as second:
            ledger.decide_approval(SESSION, asked.request_id, "denied", "bob")
        assert second.value.first == "approved"


WAIT = """
held = begin()
digest = arguments_digest({"sum": 9})
ledger.intend_tool_call(held, "m1", "x", "pay", {"sum": 9})
ledger.request_approval(held, "x", "pay", digest, "p-1", timeout=60)
wait = RuntimeRestartToolApprovalWait(
    wait_started_at_ms=0, timeout_remaining_ms=60_000, dispatched_before_restart=False
)
ledger.save_checkpoint(held, wait)
"""


def test_s18_after_ten_seconds_it_is_open_under_the_same_request(path: Path) -> None:
    killed_at_work(path, WAIT)
    with reopened(path, after_seconds=10) as ledger:
        (before,) = ledger.owner(SESSION).open_approvals
        (resumed,) = recovered(ledger)
        assert isinstance(resumed, Resumed)
        assert ledger.owner(SESSION).open_approvals == (before,)
        assert before.arguments == arguments_digest({"sum": 9})


def test_s18_after_two_hours_it_is_expired_once_and_not_denied(path: Path) -> None:
    killed_at_work(path, WAIT)
    with reopened(path, after_seconds=7200) as ledger:
        (before,) = ledger.owner(SESSION).open_approvals
        recovered(ledger)
        known = ledger.approval(SESSION, before.request_id)
        assert known is not None
        assert (known.reason, known.decision) == ("expired", None)
        (row,) = ledger.rows("approvals", SESSION)
        assert (row["state"], row["close_reason"]) == ("closed", "expired")


def test_s18_a_stored_decision_is_no_clocks_to_expire(path: Path) -> None:
    decide = """
asked = ledger.owner(S).open_approvals[0]
ledger.decide_approval(S, asked.request_id, "approved", "ann")
"""
    killed_at_work(path, WAIT + decide)
    with reopened(path, after_seconds=7200) as ledger:
        (resumed,) = recovered(ledger)
        assert isinstance(resumed, Resumed)
        (still,) = ledger.owner(SESSION).open_approvals
        held = resumed.authority
        run = ledger.begin_tool_call(
            held, "m1", "x", "pay", {"sum": 9}, still.request_id
        )
        assert run.state == "fresh"


@pytest.mark.parametrize("woken_by", ["human", "assistant_run"])
def test_s19_what_was_revoked_is_not_back_after_the_restart(
    path: Path, woken_by: str
) -> None:
    """S19: G is taken back after C saved; who wakes it changes nothing."""
    killed_at_work(
        path,
        f"""
        held = begin()
        loop = RuntimeRestartReactionLoopState(consecutive_batches=1)
        ledger.save_checkpoint(held, loop)
        kid = ledger.spawn(held, KID, "kid/1", grants=["G"], author="manager/1")
        ledger.admit(kid, "t1", {woken_by!r})
        ledger.start(kid, "t1")
        ledger.save_checkpoint(kid, loop)
        ledger.revoke(held, KID, ["G"])
        """,
    )
    with reopened(path) as ledger:
        parent, kid = recovered(ledger)
        assert isinstance(parent, Resumed)
        assert isinstance(kid, Closed)
        assert kid.assertion == "invalid_inherited_execution_authority"
        assert ledger.owner(KID).status == "terminal"
        (notice,) = ledger.pending_notices(SESSION)
        assert (notice.about, notice.event_type) == (KID, CLOSED)


def test_s20_what_was_merged_comes_back_whole_and_a_redelivery_is_a_duplicate(
    path: Path,
) -> None:
    killed_at_work(
        path,
        """
        held = ledger.claim(S, "manager/1", "host")
        for key, sender in (("m1", "ann"), ("m2", "bob"), ("m3", "cem")):
            ledger.accept(S, key, "inbox", sender, human=True)
        ledger.admit(held, "m1", "human", absorbed=["m2", "m3"])
        queued = RuntimeRestartQueuedSubmission(
            submission_key="m1", absorbed_submission_keys=["m2", "m3"]
        )
        ledger.save_checkpoint(held, queued)
        """,
    )
    with reopened(path) as ledger:
        before = ledger.head().position
        ledger.accept(SESSION, "m2", "inbox", "bob", human=True)
        (resumed,) = recovered(ledger)
        assert isinstance(resumed, Resumed)
        ledger.accept(SESSION, "m2", "inbox", "bob", human=True)
        ledger.start(resumed.authority, "m1")
        ledger.accept(SESSION, "m2", "inbox", "bob", human=True)
        known = [
            ledger.execution(ChatExecutionKey("ses_1", f"m{n}")) for n in (1, 2, 3)
        ]
        assert [one.sender for one in known if one] == ["ann", "bob", "cem"]
        assert len({one.started for one in known if one}) == 1
        names = [type(one.event).__name__ for one in ledger.events(before)]
        assert names == ["RecoveryDecided", "GenerationAdvanced", "ExecutionStarted"]


def test_s20_a_queue_behind_what_is_closed_is_the_next_terms(path: Path) -> None:
    """S20 step 5: T1 was closed with q queued; T2 has all of it."""
    killed_at_work(
        path,
        """
        held = begin()
        for key in ("q1", "q2", "q3"):
            ledger.accept(S, key, "inbox", key, human=True)
        ledger.admit(held, "q1", "human", absorbed=["q2", "q3"])
        ledger.mark_output_started(held, "m1")
        """,
    )
    with reopened(path) as ledger:
        closed, due = recovered(ledger)
        assert isinstance(closed, Closed)
        assert isinstance(due, SuccessionDue)
        assert due.waiting == ("q1", "q2", "q3")
        ledger.succeed(SESSION, "manager/2", "host")
        opened = {one.key: one for one in ledger.owner(SESSION).open_executions}
        assert opened["q1"].absorbed == ("q2", "q3")


def test_s22_step_4_a_crashed_supervisor_and_all_below_it(path: Path) -> None:
    """S22 step 4: T1 fails; C1, C2 and D are settled in the same pass."""
    killed_at_work(
        path,
        """
        held = begin()
        loop = RuntimeRestartReactionLoopState(consecutive_batches=1)
        def spawn(parent, name):
            ref = OwnerRef("subagent", name)
            kid = ledger.spawn(parent, ref, "kid/" + name, author="host")
            ledger.admit(kid, "t1", "assistant_run")
            ledger.start(kid, "t1")
            ledger.save_checkpoint(kid, loop)
            return kid
        one = spawn(held, "c1")
        spawn(held, "c2")
        spawn(one, "d")
        ledger.save_checkpoint(held, loop, ExecutionConfig(grants=["pay"]))
        """,
    )
    with reopened(path) as ledger:
        narrow = RecoveryEnvironment(current_grants=lambda _: ["read"])
        report = recover(ledger, narrow)
        assert [one.owner.owner_id for one in report.closed] == [
            "ses_1",
            "c1",
            "c2",
            "d",
        ]
        assert [one.assertion for one in report.closed] == [
            "invalid_inherited_execution_authority",
            *["invalid_structural_owner_identity"] * 3,
        ]
        assert the(report, SuccessionDue).owner == SESSION
        for name in ("c1", "c2", "d"):
            owner = OwnerRef("subagent", name)
            (row,) = ledger.rows("recovery_owners", owner)
            assert row["terminal_status"] == STATUS
        about = [one.about.owner_id for one in ledger.pending_notices(SESSION)]
        assert about == ["ses_1", "c1", "c2", "d"]
