"""S17: double click: both approvals return success, the tool runs twice."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread

import pytest

from tenure import (
    AlreadyDecided,
    Approval,
    Authority,
    First,
    Ledger,
    NotAdmitted,
    OwnerRef,
    Refused,
    arguments_digest,
)
from tenure_ledger.events import (
    ApprovalConsumed,
    ApprovalDecided,
    Decision,
    ToolCallDispatched,
)
from worlds import World

S = OwnerRef("session", "ses_1")
ARGUMENTS = {"path": "a.txt", "text": "hello"}


def waiting(ledger: Ledger, *calls: str) -> tuple[Authority, list[Approval]]:
    """The execution m1 runs, and each of these calls waits for a person."""
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    digest = arguments_digest(ARGUMENTS)
    return one, [
        ledger.request_approval(one, call, "write", digest, "policy 1", 60.0)
        for call in calls
    ]


def at_once(*clicks: Callable[[], Approval]) -> list[Approval | AlreadyDecided]:
    """Run all clicks at the same moment; return what each was answered."""
    start, answers = Barrier(len(clicks)), list[Approval | AlreadyDecided]()

    def run(click: Callable[[], Approval]) -> None:
        start.wait()
        try:
            answers.append(click())
        except AlreadyDecided as refused:
            answers.append(refused)

    threads = [Thread(target=run, args=(click,)) for click in clicks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def decisions(ledger: Ledger) -> list[ApprovalDecided]:
    events = [one.event for one in ledger.history(S)]
    return [event for event in events if isinstance(event, ApprovalDecided)]


@pytest.mark.parametrize(
    "second", ["approved", "denied"], ids=["approve twice", "approve and deny"]
)
def test_s17_step_2_of_two_clicks_at_once_one_decides_and_one_is_told_which(
    world: World, second: Decision
) -> None:
    ledger = world.ledger
    _, (request,) = waiting(ledger, "x")
    other = world.open("another tab")
    answers = at_once(
        lambda: ledger.decide_approval(S, request.request_id, "approved", "ann"),
        lambda: other.decide_approval(S, request.request_id, second, "bo"),
    )
    (told,) = [one for one in answers if isinstance(one, AlreadyDecided)]
    (first,) = [one for one in answers if isinstance(one, Approval)]
    (decided,) = decisions(ledger)
    assert (first.decision, first.author) == (decided.decision, decided.author)
    assert told.first == decided.decision
    assert told.evidence["author"] == decided.author
    assert ledger.approval(S, request.request_id) == first


def test_s17_step_2_one_approval_is_one_dispatch_however_often_it_is_begun(
    world: World,
) -> None:
    ledger = world.ledger
    one, (request,) = waiting(ledger, "x")
    with pytest.raises(NotAdmitted, match="not decided"):
        ledger.begin_tool_call(one, "m1", "x", "write", ARGUMENTS, request.request_id)
    ledger.decide_approval(S, request.request_id, "approved", "ann")
    states = [
        ledger.begin_tool_call(
            one, "m1", "x", "write", ARGUMENTS, request.request_id
        ).state
        for _ in range(3)
    ]
    assert states == ["fresh", "unknown", "unknown"]
    # The approval was for this one call, and is spent.
    with pytest.raises(Refused):
        ledger.begin_tool_call(one, "m1", "y", "write", ARGUMENTS, request.request_id)
    events = [at.event for at in ledger.history(S)]
    assert sum(isinstance(event, ToolCallDispatched) for event in events) == 1
    assert sum(isinstance(event, ApprovalConsumed) for event in events) == 1


def test_s17_step_2_a_denied_call_never_runs(world: World) -> None:
    ledger = world.ledger
    one, (request,) = waiting(ledger, "x")
    ledger.decide_approval(S, request.request_id, "denied", "ann")
    for approval in (request.request_id, None):
        with pytest.raises(AlreadyDecided) as refused:
            ledger.begin_tool_call(one, "m1", "x", "write", ARGUMENTS, approval)
        assert refused.value.first == "denied"
    assert ledger.tool_call(S, "m1", "x") is None


def test_s17_step_3_two_waits_answered_at_once_are_both_decided(world: World) -> None:
    ledger = world.ledger
    one, (x, y) = waiting(ledger, "x", "y")
    answers = at_once(
        lambda: ledger.decide_approval(S, x.request_id, "approved", "ann"),
        lambda: ledger.decide_approval(S, y.request_id, "denied", "ann"),
    )
    assert len(answers) == len(decisions(ledger)) == 2
    assert not any(isinstance(answer, AlreadyDecided) for answer in answers)
    told = {
        call.request_id: call.decision
        for call in (ledger.approval(S, at.request_id) for at in (x, y))
        if call is not None
    }
    assert told == {x.request_id: "approved", y.request_id: "denied"}
    call = ledger.begin_tool_call(one, "m1", "x", "write", ARGUMENTS, x.request_id)
    assert call.state == "fresh"


def test_s17_a_click_that_is_repeated_under_its_command_id_is_one_click(
    world: World,
) -> None:
    ledger = world.ledger
    _, (request,) = waiting(ledger, "x")
    answers = [
        ledger.decide_approval(
            S, request.request_id, "approved", "ann", command_id="click 1"
        )
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert len(decisions(ledger)) == 1
