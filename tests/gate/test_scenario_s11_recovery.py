"""S11 and S12 after a real kill: calls that were answered, dispatched, or neither.

Right: each counts by its own id; what was dispatched and has no result is unknown, told
once, and never run again.
"""

from __future__ import annotations

from itertools import chain

import pytest

from crashes import killed_at_work, recovered, reopened
from gates import Gate, user
from recovering import SESSION, the
from tenure import NOTICE, Closed, GoOn, KeepOutput, Resumed, RunCall, TellCall
from tenure_gate.recovery.steps import Step

THREE = """
held = begin()
names = {"a": "read", "b": "mail", "c": "mail"}
for call in answered:
    ledger.begin_tool_call(held, "m1", call, names[call], {"to": call})
loop = RuntimeRestartReactionLoopState(
    consecutive_batches=1,
    pending_tool_calls=[
        {"id": call, "name": names[call], "arguments": {"to": call}}
        for call in names
    ],
    completed_unpersisted_tool_outputs=[
        {"call_id": call, "output": call.upper()} for call in answered
    ],
)
ledger.save_checkpoint(held, loop)
for call in dispatched:
    ledger.begin_tool_call(held, "m1", call, names[call], {"to": call})
"""


def three_calls(answered: str, dispatched: str) -> str:
    """Return work in which these were answered, and these dispatched only."""
    return f"answered, dispatched = {answered!r}, {dispatched!r}\n{THREE}"


def by_kind(steps: tuple[Step, ...]) -> tuple[str, str, str]:
    """Return which calls are kept, told as unknown, and run."""
    kept = "".join(one.call_id for one in steps if isinstance(one, KeepOutput))
    told = [one for one in steps if isinstance(one, TellCall)]
    assert {one.what for one in told} <= {"unknown"}
    run = "".join(one.call_id for one in steps if isinstance(one, RunCall))
    return kept, "".join(one.call_id for one in told), run


@pytest.mark.parametrize(
    ("answered", "dispatched"),
    [("", ""), ("a", ""), ("a", "b"), ("ab", ""), ("ac", "b"), ("abc", ""), ("", "bc")],
)
def test_s11_each_of_three_calls_is_accounted_for_by_its_own_id(
    place: str, answered: str, dispatched: str
) -> None:
    """b and c are of one tool; the loop goes on when each has an answer."""
    killed_at_work(place, three_calls(answered, dispatched))
    with reopened(place) as ledger:
        resumed = the(recovered(ledger), Resumed)
        steps = resumed.plan.steps
        open_set = "".join(one for one in "abc" if one not in answered + dispatched)
        assert by_kind(steps) == (answered, dispatched, open_set)
        assert [one for one in steps if isinstance(one, GoOn)] == [steps[-1]]
        # What is in the checkpoint is not told as unknown, and stays to be completed.
        notices = ledger.pending_notices(SESSION)
        told = [fact.call_id for fact in chain(*(one.facts for one in notices))]
        assert told == [*dispatched]
        held = resumed.authority
        for call in answered:
            ledger.complete_tool_call(held, ("m1", call), call.upper())
        for call in dispatched:
            again = ledger.begin_tool_call(held, "m1", call, "mail", {"to": call})
            assert again.state == "unknown"


def test_s11_of_a_closed_run_the_output_it_held_is_told_as_complete(
    place: str,
) -> None:
    mark = 'ledger.mark_output_started(held, "m1")'
    killed_at_work(place, three_calls("a", "b") + mark)
    with reopened(place) as ledger:
        assert the(recovered(ledger), Closed).reasons == ("visible_output_started",)
        (notice,) = ledger.pending_notices(SESSION)
        told = {fact.call_id: fact.kind for fact in notice.facts if fact.call_id}
        assert told == {"a": "output_completed", "b": "outcome_unknown"}


@pytest.mark.parametrize("dispatched", [False, True])
def test_s12_started_without_a_result_is_unknown_told_once_and_never_run_again(
    place: str, *, dispatched: bool
) -> None:
    """With and without ``dispatched_before_restart``; the view tells it once."""
    killed_at_work(
        place,
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
    with reopened(place) as ledger:
        held = the(recovered(ledger), Resumed).authority
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
        repeated = ledger.begin_tool_call(held, "m1", "x", "pay", {"sum": 9})
        assert repeated.state == "unknown"


def test_s12_interrupted_by_a_person_the_next_term_sees_it(place: str) -> None:
    """Step 5: a person interrupts, T2 takes the session over."""
    killed_at_work(
        place,
        """
        held = begin()
        ledger.begin_tool_call(held, "m1", "x", "pay", {"sum": 9})
        ledger.bar_replay(S, "user_cancelled", "ann", ["m1"])
        """,
    )
    with reopened(place) as ledger:
        report = recovered(ledger)
        assert the(report, Closed).reasons == ("user_cancelled", "no_checkpoint")
        two = ledger.succeed(SESSION, "manager/2", "host")
        ledger.admit(two, "m2", "human")
        view = Gate(ledger).apply([user("m1"), user("m2")], two)
        (text,) = view.notices
        assert text.startswith(NOTICE)
        assert "The user cancelled this." in text
        assert "- call x of pay in message m1: it may or may not have happened" in text
        assert "not finished" not in text
