"""What the end of a term takes with it (design section 6, "What the cut ends")."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import LOOP, ONE, SESSION, TWO
from tenure import (
    AlreadyDecided,
    Authority,
    Evidence,
    First,
    Ledger,
    NotAdmitted,
    OwnerRef,
    arguments_digest,
)
from tenure_ledger import events as e
from worlds import World

BROWSER = OwnerRef("lease", "browser")


def busy(world: World) -> Authority:
    """Give a term in the middle of everything."""
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    ledger.start(held, "m1")
    ledger.mark_output_started(held, "m1")
    ledger.admit(held, "own", "continue_relay")
    ledger.start(held, "own")
    ledger.admit(held, "probe", "tool_probe")
    ledger.admit(held, "m2", "human")
    ledger.accept(SESSION, "m3", "gateway", "ann")
    ledger.begin_tool_call(held, "m1", "sent", "mail", {})
    ledger.intend_tool_call(held, "m1", "asked", "mail", {})
    ledger.begin_tool_call(held, "m1", "done", "mail", {})
    ledger.complete_tool_call(held, ("m1", "done"), "sent")
    for call in ("open", "yes", "no"):
        ledger.request_approval(held, call, "mail", arguments_digest({}), "policy 1")
    asked = {
        one.event.call_id: one.event.request_id
        for one in ledger.history(SESSION)
        if isinstance(one.event, e.ApprovalRequested)
    }
    ledger.decide_approval(SESSION, asked["yes"], "approved", "ann")
    ledger.decide_approval(SESSION, asked["no"], "denied", "ann")
    ledger.save_checkpoint(held, LOOP)
    ledger.spawn(held, BROWSER, author="host")
    return held


CLOSED = [
    "ses_1 ExecutionSettled@1 m1 retired",
    "ses_1 ExecutionSettled@1 own retired",
    "ses_1 ToolCallClosed@1 m1 sent outcome_unknown",
    "ses_1 ToolCallClosed@1 m1 asked never_started",
    "ses_1 ApprovalClosed@1 cut",
    "ses_1 ApprovalClosed@1 void",
    "ses_1 CheckpointCleared@1 term_ended",
    "ses_1 ReplayBarred@1 successor_accepted",
]
LET_GO = [
    "browser AuthorityRevoked@1 ends_holding",
    "manager/1 AgentReleased@1",
]
CARRIED = [
    "ses_1 ExecutionAdmitted@2 m2",
    "ses_1 ExecutionAdmitted@2 m3",
    "ses_1 ExecutionAdmitted@2 new",
]
NEW = First("new", "continue_relay")


def gone(ledger: Ledger) -> Evidence:
    """Say that whoever holds the session now is gone."""
    return Evidence.gone(ledger.owner(SESSION))


ENDS: dict[str, tuple[Callable[[Ledger, Authority], object], list[str]]] = {
    "retire": (
        lambda on, by: on.retire(by, "continue"),
        [
            "ses_1 RetirementCut@1 continue",
            *LET_GO,
            "ses_1 NoticeIssued@1 retirement_cut",
        ],
    ),
    "terminate": (
        lambda on, by: on.terminate(by, "closed", "by the host"),
        [
            "ses_1 OwnerTerminated@1 closed",
            *LET_GO,
            "ses_1 NoticeIssued@1 closed",
        ],
    ),
    "take_over": (
        lambda on, _: on.take_over(SESSION, TWO, "host", gone(on), first=NEW),
        [
            "ses_1 RetirementCut@1 forced",
            *LET_GO,
            "ses_1 GenerationAdvanced@2 takeover",
            "manager/2 AgentBound@2",
            *CARRIED,
            "ses_1 NoticeIssued@2 retirement_cut",
        ],
    ),
    "migration": (
        lambda on, by: on.advance(by, "migration", TWO),
        [
            "ses_1 RetirementCut@1 forced",
            *LET_GO,
            "ses_1 GenerationAdvanced@2 migration",
            "manager/2 AgentBound@2",
            *CARRIED[:2],
            "ses_1 NoticeIssued@2 retirement_cut",
        ],
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_term_closes_what_it_leaves_in_this_order(
    world: World, end: str
) -> None:
    held = busy(world)
    call, lines = ENDS[end]
    with world.writes() as wrote:
        call(world.ledger, held)
    assert wrote == CLOSED + lines
    commands = {
        one.event.command_id
        for one in world.ledger.events()
        if isinstance(one.event, e.Event)
    }
    last = [one.event for one in world.ledger.events()][-len(wrote) :]
    assert len({one.command_id for one in last if isinstance(one, e.Event)}) == 1
    assert len(commands) > 1


@pytest.mark.parametrize("end", ENDS)
def test_one_notice_lists_what_a_person_sent_and_nobody_finished(
    world: World, end: str
) -> None:
    held = busy(world)
    ENDS[end][0](world.ledger, held)
    (notice,) = world.ledger.pending_notices(SESSION)
    assert (notice.about, notice.generation) == (SESSION, 1)
    assert [(one.kind, one.key, one.call_id) for one in notice.facts] == [
        ("unfinished", "m1", None),
        ("output_may_have_been_seen", "m1", None),
        ("outcome_unknown", "m1", "sent"),
    ]


def test_the_bar_of_a_cut_names_what_it_ended(world: World) -> None:
    held = busy(world)
    world.ledger.retire(held, "accepted", finishes=["own"])
    bars = [one.event for one in world.ledger.history(SESSION)]
    (bar,) = [one for one in bars if isinstance(one, e.ReplayBarred)]
    assert (bar.reason, bar.keys) == ("successor_accepted", ("m1", "probe"))


def test_what_retire_finishes_is_completed_and_listed_nowhere(world: World) -> None:
    held = busy(world)
    with world.writes() as lines:
        world.ledger.retire(held, "accepted", finishes=["m1", "m2"])
    assert lines[:3] == [
        "ses_1 ExecutionSettled@1 m1 completed",
        "ses_1 ExecutionSettled@1 own retired",
        "ses_1 ExecutionSettled@1 m2 completed",
    ]
    (notice,) = world.ledger.pending_notices(SESSION)
    assert [one.kind for one in notice.facts] == ["outcome_unknown"]


def test_what_was_taken_into_a_finished_run_is_finished_with_it(
    world: World,
) -> None:
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2", into="m1")
    with world.writes() as lines:
        world.ledger.retire(held, "accepted", finishes=["m1"])
    assert lines == [
        "ses_1 ExecutionSettled@1 m1 completed",
        "ses_1 ExecutionSettled@1 m2 completed",
        "ses_1 RetirementCut@1 accepted",
        "manager/1 AgentReleased@1",
    ]


def test_retire_finishes_only_what_the_live_term_runs(world: World) -> None:
    held = busy(world)
    world.ledger.settle(held, "own", "failed")
    for unknown in ("m3", "never seen"):
        with world.refuses(NotAdmitted):
            world.ledger.retire(held, "accepted", finishes=[unknown])
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.retire(held, "accepted", finishes=["own"])
    assert refusal.value.first == "failed"
    world.ledger.settle(held, "m1", "completed")
    world.ledger.retire(held, "accepted", finishes=["m1"])
