"""Merged queues: an absorbed key shares the execution that absorbed it (section 6)."""

from __future__ import annotations

import pytest

from scenes import ONE, SESSION, TWO
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    Execution,
    InvalidInput,
    KeyReused,
)
from worlds import World

MERGED = ("m1", "m2", "m3")


def known(world: World, message_id: str) -> Execution:
    """Return what the ledger knows of a message of the session."""
    found = world.ledger.execution(ChatExecutionKey("ses_1", message_id))
    assert found is not None
    return found


def merge(world: World) -> Authority:
    """Accept three messages of three senders, and admit them as ``q``."""
    held = world.ledger.claim(SESSION, ONE, "host")
    for key, sender in zip(MERGED, ("ann", "bob", "cem"), strict=True):
        world.ledger.accept(SESSION, key, "gateway", sender, f"text {key}", human=True)
    world.ledger.admit(held, "q", "continue_relay", absorbed=MERGED)
    return held


def test_all_keys_are_admitted_in_one_event(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    with world.writes() as lines:
        at = world.ledger.admit(held, "q", "human", absorbed=MERGED)
    assert lines == [
        "ses_1 SubmissionAccepted@1 q",
        "ses_1 ExecutionAdmitted@1 q with m1+m2+m3",
    ]
    assert {known(world, key).admitted for key in (*MERGED, "q")} == {at}
    assert {known(world, key).absorbed_by for key in MERGED} == {"q"}


def test_all_are_admitted_or_none(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    with world.refuses(AlreadyDecided):
        world.ledger.admit(held, "q", "human", absorbed=MERGED)
    assert world.ledger.execution(ChatExecutionKey("ses_1", "m1")) is None


@pytest.mark.parametrize("key", [*MERGED, "q"])
def test_any_of_them_starts_and_settles_all(world: World, key: str) -> None:
    held = merge(world)
    with world.writes() as lines:
        started = world.ledger.start(held, key)
        for one in (*MERGED, "q"):
            assert world.ledger.start(held, one) == started
    assert lines == ["ses_1 ExecutionStarted@1 q"]
    with world.writes() as lines:
        settled = world.ledger.settle(held, key, "completed")
        for one in (*MERGED, "q"):
            assert world.ledger.settle(held, one, "completed") == settled
    assert lines == ["ses_1 ExecutionSettled@1 q completed"]
    assert {known(world, one).outcome for one in (*MERGED, "q")} == {"completed"}


@pytest.mark.parametrize("moment", ["queued", "running", "done", "in the next term"])
def test_a_redelivery_is_a_duplicate_at_every_moment(world: World, moment: str) -> None:
    held = merge(world)
    first = known(world, "m2").accepted
    if moment != "queued":
        world.ledger.start(held, "q")
    if moment == "done":
        world.ledger.settle(held, "q", "completed")
    if moment == "in the next term":
        world.ledger.retire(held, "continue")
        held = world.ledger.succeed(SESSION, TWO, "host")
    with world.writes() as lines:
        assert world.ledger.accept(SESSION, "m2", "gateway", "bob", "text m2") == first
        if moment == "queued":
            world.ledger.admit(held, "m2", "human")
        else:
            with world.refuses(AlreadyDecided):
                world.ledger.admit(held, "m2", "human")
    assert lines == []


def test_the_same_merge_again_adds_nothing_and_another_is_refused(
    world: World,
) -> None:
    held = merge(world)
    first = known(world, "q").admitted
    with world.writes() as lines:
        again = world.ledger.admit(held, "q", "continue_relay", absorbed=MERGED)
        assert again == first
        assert world.ledger.admit(held, "q", "continue_relay") == first
    assert lines == []
    with world.refuses(KeyReused):
        world.ledger.admit(held, "q", "continue_relay", absorbed=["m1"])
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.admit(held, "q2", "continue_relay", absorbed=["m1"])
    assert refusal.value.first == "q"


def test_a_merge_absorbs_neither_itself_nor_another_merge(world: World) -> None:
    held = merge(world)
    for absorbed in (["q2"], ["q"]):
        with world.refuses(InvalidInput):
            world.ledger.admit(held, "q2", "human", absorbed=absorbed)


def test_a_merge_that_was_accepted_is_carried_over_whole(world: World) -> None:
    held = merge(world)
    world.ledger.accept(SESSION, "q", "gateway")
    world.ledger.retire(held, "accepted")
    with world.writes() as lines:
        held = world.ledger.succeed(SESSION, TWO, "host")
    assert lines[2:] == ["ses_1 ExecutionAdmitted@2 q with m1+m2+m3"]
    assert world.ledger.start(held, "m3") == known(world, "q").started


def test_a_merge_that_was_only_admitted_falls_apart_into_what_was_accepted(
    world: World,
) -> None:
    held = merge(world)
    with world.writes() as lines:
        world.ledger.retire(held, "accepted")
        held = world.ledger.succeed(SESSION, TWO, "host")
    assert lines == [
        "ses_1 ReplayBarred@1 successor_accepted",
        "ses_1 RetirementCut@1 accepted",
        "manager/1 AgentReleased@1",
        "ses_1 GenerationAdvanced@2 succession",
        "manager/2 AgentBound@2",
        "ses_1 ExecutionAdmitted@2 m1",
        "ses_1 ExecutionAdmitted@2 m2",
        "ses_1 ExecutionAdmitted@2 m3",
    ]
    senders = [known(world, key).sender for key in MERGED]
    assert senders == ["ann", "bob", "cem"]
    for key in MERGED:
        world.ledger.start(held, key)


def test_a_cut_ends_a_running_merge_as_one(world: World) -> None:
    held = merge(world)
    world.ledger.start(held, "q")
    with world.writes() as lines:
        world.ledger.retire(held, "accepted")
        world.ledger.succeed(SESSION, TWO, "host")
    assert [one for one in lines if "Execution" in one] == [
        "ses_1 ExecutionSettled@1 q retired"
    ]
    notice = world.ledger.pending_notices(SESSION)[0]
    assert [(one.kind, one.key) for one in notice.facts] == [
        ("unfinished", "m1"),
        ("unfinished", "m2"),
        ("unfinished", "m3"),
    ]


@pytest.mark.parametrize("key", ["q", "m2"])
def test_to_finish_one_of_a_merge_is_to_finish_it(world: World, key: str) -> None:
    held = merge(world)
    world.ledger.start(held, "q")
    world.ledger.retire(held, "accepted", finishes=[key])
    assert {known(world, one).outcome for one in (*MERGED, "q")} == {"completed"}
    assert world.ledger.pending_notices(SESSION) == []


def test_what_is_taken_into_an_absorbed_key_is_settled_with_the_merge(
    world: World,
) -> None:
    held = merge(world)
    world.ledger.start(held, "q")
    world.ledger.admit(held, "m4", "human")
    world.ledger.start(held, "m4", into="m2")
    world.ledger.settle(held, "q", "completed")
    assert known(world, "m4").outcome == "completed"
