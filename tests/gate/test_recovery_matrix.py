"""Four modes, nine reasons, before the checkpoint or after it, settled or not."""

from __future__ import annotations

from typing import cast

import pytest

from recovering import (
    CLOSED,
    NINE,
    PAYLOADS,
    SESSION,
    STATUS,
    again,
    begin,
    owner_row,
    restart,
    the,
)
from tenure import NOTICE, Authority, ChatExecutionKey, Closed, Resumed, SuccessionDue
from tenure_ledger.values import ReplayReason
from worlds import World

M1 = ChatExecutionKey("ses_1", "m1")
CANCELLED = {
    "user_cancelled",
    "user_cancelled_whole_stream",
    "agent_closed",
    "context_reset",
}
NO_REDO = "The user cancelled this. Do not redo it unless asked."


def bar(world: World, held: Authority, reason: str) -> None:
    """Bar ``m1`` for this reason, as the ledger is told of it."""
    if reason == "visible_output_started":
        world.ledger.mark_output_started(held, "m1")
    else:
        world.ledger.bar_replay(SESSION, cast("ReplayReason", reason), "host", ["m1"])


def crash(world: World, mode: str, reason: str | None, *, first: bool) -> Authority:
    """Save a checkpoint over ``m1`` and bar it, in this order or the other."""
    held = begin(world.ledger)
    if reason is not None and first:
        bar(world, held, reason)
    world.ledger.save_checkpoint(held, PAYLOADS[mode], keys=["m1"])
    if reason is not None and not first:
        bar(world, held, reason)
    return held


@pytest.mark.parametrize("mode", PAYLOADS)
@pytest.mark.parametrize("reason", NINE)
@pytest.mark.parametrize("marker", ["before", "after"])
def test_a_reason_forbids_wherever_it_lies(
    world: World, mode: str, reason: str, marker: str
) -> None:
    crash(world, mode, reason, first=marker == "before")
    report = restart(world)
    closed = the(report, Closed)
    assert (closed.assertion, closed.reasons) == (None, (reason,))
    assert closed.told == SESSION
    known = world.ledger.execution(M1)
    assert known is not None
    cancelled = reason in CANCELLED
    assert known.outcome == ("cancelled" if cancelled else CLOSED)
    view = world.ledger.owner(SESSION)
    assert (view.status, view.generation, view.checkpoint) == ("cut", 1, None)
    row = owner_row(world, SESSION)
    assert (row["terminal_status"], row["terminal_at"]) == (STATUS, None)
    (notice,) = world.ledger.pending_notices(SESSION)
    assert notice.text.startswith(NOTICE)
    assert (notice.event_type, notice.reasons) == (CLOSED, (reason,))
    assert [fact.key for fact in notice.facts if fact.kind == "unfinished"] == (
        [] if cancelled else ["m1"]
    )
    assert (NO_REDO in notice.text) == reason.startswith("user_cancelled")
    due = the(report, SuccessionDue)
    assert (due.call, due.outcome, due.waiting) == ("succeed", "forced", ())
    assert again(world).results == (due,)


@pytest.mark.parametrize("mode", PAYLOADS)
@pytest.mark.parametrize("reason", NINE)
@pytest.mark.parametrize("marker", ["before", "after"])
def test_of_what_is_settled_nothing_is_in_question(
    world: World, mode: str, reason: str, marker: str
) -> None:
    held = crash(world, mode, reason, first=marker == "before")
    world.ledger.settle(held, "m1", "completed")
    resumed = the(restart(world), Resumed)
    assert (resumed.discarded, resumed.authority.generation) == ("settled", 2)
    assert (resumed.plan.mode, resumed.plan.keys) == (None, ())
    known = world.ledger.execution(M1)
    assert known is not None
    assert known.outcome == "completed"
    assert world.ledger.owner(SESSION).checkpoint is None
    assert world.ledger.pending_notices(SESSION) == []
    assert again(world).resumed == ()


@pytest.mark.parametrize("mode", PAYLOADS)
def test_without_a_reason_each_mode_is_resumed(world: World, mode: str) -> None:
    held = crash(world, mode, None, first=False)
    with world.writes() as lines:
        resumed = the(restart(world), Resumed)
    assert lines == [
        "ses_1 RecoveryDecided@1",
        "ses_1 GenerationAdvanced@2 instance_restart",
    ]
    assert (resumed.plan.mode, resumed.restarts) == (mode, 1)
    assert resumed.authority.incarnation != held.incarnation
    world.ledger.check(resumed.authority)
    assert world.ledger.owner(SESSION).process == "p2"
    assert [one.why for one in again(world).skipped] == ["alive"]


def test_all_reasons_that_hold_are_listed_in_the_order_of_the_seed(
    world: World,
) -> None:
    held = crash(world, "reaction_loop", None, first=False)
    for reason in reversed(NINE):
        bar(world, held, reason)
    assert the(restart(world), Closed).reasons == NINE


def test_a_reason_over_another_message_forbids_nothing(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    world.ledger.save_checkpoint(held, PAYLOADS["reaction_loop"], keys=["m1"])
    world.ledger.bar_replay(SESSION, "model_switch", "host", ["m2"])
    assert the(restart(world), Resumed).plan.keys == ("m1",)
