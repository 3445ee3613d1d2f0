"""Notices are delivered to one request, and wait again when it ends unfinished."""

from __future__ import annotations

from typing import Literal

import pytest

from scenes import ONE, SESSION, TWO
from tenure import (
    NOTICE,
    AlreadyDecided,
    Authority,
    FencedOut,
    First,
    NotAdmitted,
    Notice,
    TermRetired,
)
from worlds import World


def second_term(world: World) -> Authority:
    """The first term left ``m1`` unfinished: one notice waits for ``m2``."""
    on = world.ledger
    one = on.claim(SESSION, ONE, "host", first=First("m1", "human"))
    on.start(one, "m1")
    on.begin_tool_call(one, "m1", "c1", "mail", {})
    on.begin_tool_call(one, "m1", "c2", "mail", {})
    on.retire(one, "continue")
    return on.succeed(SESSION, TWO, "host", first=First("m2", "human"))


def told(world: World) -> list[tuple[str, str | None]]:
    """Return the notices that are not done: event type, and whom they were given."""
    found = world.ledger.pending_notices(SESSION)
    return [(one.event_type, one.key) for one in found]


def test_everything_that_waits_is_delivered_once(world: World) -> None:
    held = second_term(world)
    world.ledger.late_result(SESSION, "watcher", ("m1", "c1"), "sent")
    with world.writes() as lines:
        at = world.ledger.deliver_notices(held, "m2")
        assert world.ledger.deliver_notices(held, "m2") == at
        assert world.open("p2").deliver_notices(SESSION, "m2", "gate") == at
    assert lines == ["ses_1 NoticeDelivered@2 m2"] * 2
    assert told(world) == [("retirement_cut", "m2"), ("late_result", "m2")]
    with world.writes() as lines:
        world.ledger.late_result(SESSION, "watcher", ("m1", "c2"), "sent")
        world.ledger.deliver_notices(held, "m2")
    assert lines[-1] == "ses_1 NoticeDelivered@2 m2"
    assert len(lines) == 3


def test_where_nothing_waits_nothing_is_written(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    with world.writes() as lines:
        world.ledger.deliver_notices(held, "m1")
    assert lines == []


def test_a_notice_is_done_with_the_request_that_it_was_given(world: World) -> None:
    held = second_term(world)
    world.ledger.deliver_notices(held, "m2")
    world.ledger.settle(held, "m2", "completed")
    assert told(world) == []
    world.ledger.admit(held, "m3", "human")
    with world.writes() as lines:
        world.ledger.deliver_notices(held, "m3")
    assert lines == []


def test_another_request_is_not_told_what_one_is_being_told(world: World) -> None:
    held = second_term(world)
    world.ledger.deliver_notices(held, "m2")
    world.ledger.admit(held, "m3", "human")
    with world.writes() as lines:
        world.ledger.deliver_notices(held, "m3")
    assert lines == []


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_a_notice_waits_again_when_its_request_ends_otherwise(
    world: World, outcome: Literal["failed", "cancelled"]
) -> None:
    held = second_term(world)
    world.ledger.deliver_notices(held, "m2")
    world.ledger.settle(held, "m2", outcome)
    world.ledger.admit(held, "m3", "human")
    world.ledger.deliver_notices(held, "m3")
    assert told(world) == [("retirement_cut", "m3")]


@pytest.mark.parametrize("started", [True, False])
def test_a_notice_is_not_lost_with_a_probe_that_ends_with_its_term(
    world: World, *, started: bool
) -> None:
    held = second_term(world)
    world.ledger.admit(held, "probe", "tool_probe")
    world.ledger.deliver_notices(held, "probe")
    if started:
        world.ledger.start(held, "probe")
    world.ledger.settle(held, "m2", "completed")
    world.ledger.retire(held, "continue")
    held = world.ledger.succeed(
        SESSION, "manager/3", "host", first=First("m3", "human")
    )
    world.ledger.deliver_notices(held, "m3")
    assert told(world) == [("retirement_cut", "m3")]


def test_a_notice_goes_on_with_the_request_that_is_carried_over(world: World) -> None:
    held = second_term(world)
    world.ledger.deliver_notices(held, "m2")
    world.ledger.retire(held, "continue")
    held = world.ledger.succeed(
        SESSION, "manager/3", "host", first=First("m3", "human")
    )
    with world.writes() as lines:
        world.ledger.deliver_notices(held, "m3")
    assert lines == []
    world.ledger.start(held, "m2")
    world.ledger.settle(held, "m2", "completed")
    assert told(world) == []


def test_a_notice_is_given_to_the_execution_that_a_message_is_part_of(
    world: World,
) -> None:
    held = second_term(world)
    world.ledger.admit(held, "q", "human", absorbed=["x"])
    world.ledger.deliver_notices(held, "x")
    assert told(world) == [("retirement_cut", "q")]
    world.ledger.settle(held, "x", "completed")
    assert told(world) == []


@pytest.mark.parametrize("fenced", [True, False])
def test_only_an_open_request_of_the_live_term_is_told(
    world: World, *, fenced: bool
) -> None:
    held = second_term(world)
    by = held if fenced else SESSION
    for key in ("m1", "never seen"):
        with world.refuses(NotAdmitted):
            world.ledger.deliver_notices(by, key)
    world.ledger.admit(held, "m3", "human")
    world.ledger.settle(held, "m3", "cancelled")
    with world.refuses(AlreadyDecided):
        world.ledger.deliver_notices(by, "m3")
    world.ledger.retire(held, "continue")
    with world.refuses(TermRetired if fenced else NotAdmitted):
        world.ledger.deliver_notices(by, "m2")


def test_a_zombie_delivers_nothing(world: World) -> None:
    held = second_term(world)
    world.ledger.advance(held, "migration")
    with world.refuses(FencedOut):
        world.ledger.deliver_notices(held, "m2")


def late(world: World) -> Notice:
    """Return the one notice of a late result."""
    found = world.ledger.pending_notices(SESSION)
    (notice,) = [one for one in found if one.event_type == "late_result"]
    return notice


def test_a_late_result_is_told_once_by_its_facts_alone(world: World) -> None:
    held = second_term(world)
    for result in ("sent", "sent", "not sent"):
        world.ledger.late_result(SESSION, "watcher", ("m1", "c1"), result)
    notice = late(world)
    assert notice.text == "- call c1 of mail in message m1: its output is complete"
    assert (notice.about, notice.generation) == (SESSION, 1)
    assert NOTICE not in notice.text
    world.ledger.deliver_notices(held, "m2")
    world.ledger.settle(held, "m2", "completed")
    world.ledger.late_result(SESSION, "watcher", ("m1", "c1"), "sent")
    assert told(world) == []


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("completed", "its output is complete"),
        ("failed", "it failed"),
        ("cancelled", "it was cancelled"),
    ],
)
def test_a_late_outcome_is_told_as_what_it_is(
    world: World, outcome: Literal["completed", "failed", "cancelled"], words: str
) -> None:
    one = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(one, "m1")
    world.ledger.retire(one, "continue")
    with pytest.raises(TermRetired):
        world.ledger.settle(one, "m1", outcome)
    assert late(world).text == f"- message m1: {words}"


def test_each_late_result_of_a_generation_is_told(world: World) -> None:
    second_term(world)
    for call in ("c1", "c2"):
        world.ledger.late_result(SESSION, "watcher", ("m1", call), "sent")
    world.ledger.late_result(SESSION, "watcher", "m1", "done")
    facts = [
        (fact.key, fact.call_id)
        for one in world.ledger.pending_notices(SESSION)
        if one.event_type == "late_result"
        for fact in one.facts
    ]
    assert facts == [("m1", "c1"), ("m1", "c2"), ("m1", None)]


def test_a_late_result_of_an_ended_session_waits_for_who_claims_it(
    world: World,
) -> None:
    held = second_term(world)
    world.ledger.terminate(held, "done", "ok")
    world.ledger.late_result(SESSION, "watcher", ("m1", "c1"), "sent")
    now = world.ledger.claim(SESSION, "manager/3", "host", first=First("m3", "human"))
    world.ledger.deliver_notices(now, "m3")
    assert ("late_result", "m3") in told(world)


def test_a_terminal_event_of_that_name_tells_of_an_end_all_the_same(
    world: World,
) -> None:
    one = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(one, "m1")
    world.ledger.terminate(one, "late_result", "ok")
    world.ledger.late_result(SESSION, "watcher", "m1", "done")
    assert len(world.ledger.pending_notices(SESSION)) == 2


def test_verdicts_are_on_record_where_they_change(world: World) -> None:
    held = second_term(world)
    with world.writes() as lines:
        world.ledger.record_verdicts(held, {"m1": "history", "m2": "successor"})
        world.ledger.record_verdicts(held, {"m1": "history", "m2": "successor"})
        world.ledger.record_verdicts(held, {"m2": "successor", "m3": "queued"})
        world.open("p2").record_verdicts(held, {"m3": "successor"})
    assert lines == [
        "ses_1 VerdictGiven@2 m1",
        "ses_1 VerdictGiven@2 m2",
        "ses_1 VerdictGiven@2 m3",
        "ses_1 VerdictGiven@2 m3",
    ]
    world.ledger.retire(held, "continue")
    held = world.ledger.succeed(SESSION, "manager/3", "host")
    with world.writes() as lines:
        world.ledger.record_verdicts(held, {"m1": "history"})
    assert lines == ["ses_1 VerdictGiven@3 m1"]  # by another cut
