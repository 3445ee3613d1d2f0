"""A whole stream cancelled with a queue behind it, a crash, recovery, the next term."""

from __future__ import annotations

from gates import Gate, user
from recovering import (
    PAYLOADS,
    SESSION,
    again,
    begin,
    hears_only_what_came_after_the_cancel,
    restart,
    the,
)
from tenure import (
    Authority,
    ChatExecutionKey,
    Closed,
    First,
    OwnerRef,
    SuccessionDue,
)
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
KID = OwnerRef("subagent", "kid_1")


def outcome(world: World, key: str, owner: OwnerRef = SESSION) -> str | None:
    """Return how the message was settled."""
    at = ChatExecutionKey(owner.owner_id, key)
    known = world.ledger.execution(at, owner.recovery_class)
    assert known is not None
    return known.outcome


def queue(world: World) -> Authority:
    """``m1`` runs with a child at work, ``m2`` and ``m3`` are queued behind it."""
    held = begin(world.ledger)
    world.ledger.admit(held, "m2", "human")
    world.ledger.accept(SESSION, "m3", "inbox", human=True)
    kid = world.ledger.spawn(held, KID, "kid/1", author="manager/1")
    world.ledger.admit(kid, "t1", "assistant_run")
    world.ledger.start(kid, "t1")
    world.ledger.save_checkpoint(kid, LOOP)
    world.ledger.save_checkpoint(held, LOOP)
    return held


def test_nothing_of_a_cancelled_stream_comes_back(world: World) -> None:
    queue(world)
    world.ledger.bar_replay(SESSION, "user_cancelled_whole_stream", "ann")
    assert [outcome(world, key) for key in ("m1", "m2", "m3")] == [
        None,
        "cancelled",
        "cancelled",
    ]
    report = restart(world)
    assert [one.owner for one in report.closed] == [SESSION, KID]
    assert report.closed[0].reasons == ("user_cancelled_whole_stream",)
    assert outcome(world, "m1") == "cancelled"
    assert outcome(world, "t1", KID) == "cancelled"
    due = the(report, SuccessionDue)
    assert due.waiting == ()
    assert again(world).results == (due,)


def test_what_is_said_after_the_cancel_is_the_next_terms(world: World) -> None:
    queue(world)
    world.ledger.bar_replay(SESSION, "user_cancelled_whole_stream", "ann")
    world.ledger.accept(SESSION, "m4", "inbox", human=True)
    report = restart(world)
    assert the(report, SuccessionDue).waiting == ("m4",)
    two = world.open("p3").succeed(SESSION, "manager/2", "host")
    (only,) = world.ledger.owner(SESSION).open_executions
    assert only.key == "m4"
    view = Gate(world.ledger).apply(
        [user("m1"), user("m2"), user("m3"), user("m4")], two
    )
    hears_only_what_came_after_the_cancel(view)
    world.ledger.settle(two, "m4", "completed")
    assert world.ledger.pending_notices(SESSION) == []


def test_s16_a_cancelled_wait_and_an_open_one_are_two_things(world: World) -> None:
    """S16: cancelled, then ``m2`` is new work; without a cancel ``m2`` is queued."""
    cancelled = begin(world.ledger)
    world.ledger.save_checkpoint(cancelled, PAYLOADS["tool_approval_wait"])
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m1"])
    world.ledger.accept(SESSION, "m2", "inbox", human=True)
    report = restart(world)
    assert the(report, Closed).reasons == ("user_cancelled",)
    assert the(report, SuccessionDue).waiting == ("m2",)
    two = world.ledger.succeed(SESSION, "manager/2", "host")
    world.ledger.start(two, "m2")


def test_s16_a_message_to_one_who_waits_is_queued_and_the_wait_goes_on(
    world: World,
) -> None:
    held = begin(world.ledger)
    digest = "sha256 of the arguments"
    asked = world.ledger.request_approval(held, "c1", "pay", digest, "p-1")
    world.ledger.save_checkpoint(held, PAYLOADS["tool_approval_wait"], keys=["m1"])
    world.ledger.accept(SESSION, "m2", "inbox", human=True)
    (resumed,) = restart(world).resumed
    assert resumed.plan.keys == ("m1",)
    (still,) = world.ledger.owner(SESSION).open_approvals
    assert (still.request_id, still.decided) == (asked.request_id, 0)
    assert world.ledger.owner(SESSION).waiting == ("m2",)


def test_a_first_request_of_the_next_term_may_follow_a_closed_one(
    world: World,
) -> None:
    begin(world.ledger)
    restart(world)
    first = First("m9", "runtime_recovery")
    world.ledger.succeed(SESSION, "manager/2", "host", first=first)
    open_ones = world.ledger.owner(SESSION).open_executions
    assert [one.key for one in open_ones] == ["m9"]
