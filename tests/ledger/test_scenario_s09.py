"""S9: the over-correction: a run's own ending is dropped as stale."""

from __future__ import annotations

import pytest

from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    Evidence,
    First,
    OwnerRef,
)
from worlds import World

S = OwnerRef("session", "ses_1")
KEY = ChatExecutionKey("ses_1", "m1")


def started_twice(world: World) -> Authority:
    """T2's wrapper starts at t=100 and its inner run at t=103, in one generation."""
    ledger = world.ledger
    one = ledger.claim(S, "t1", "host")
    ledger.retire(one, "continue", "go on")
    two = ledger.succeed(S, "t2", "host", first=First("m1", "continue_relay"))
    world.pass_seconds(100)
    at = ledger.start(two, "m1")
    world.pass_seconds(3)
    assert ledger.start(two, "m1") == at
    return two


def test_s9_step_1_the_second_start_is_the_first_one_and_costs_nothing(
    world: World,
) -> None:
    two = started_twice(world)
    starts = [line for line in world.story() if "ExecutionStarted" in line]
    assert starts == ["ses_1 ExecutionStarted@2 m1"]
    assert world.ledger.owner(S).generation == two.generation == 2


def test_s9_step_2_the_wrappers_ending_is_accepted_although_stamped_earlier(
    world: World,
) -> None:
    two = started_twice(world)
    world.pass_seconds(-3)
    at = world.ledger.settle(two, "m1", outcome="completed")
    known = world.ledger.execution(KEY)
    assert known is not None
    assert (known.settled, known.outcome) == (at, "completed")
    # The inner run tells the same end a moment later: the same fact.
    world.pass_seconds(3)
    assert world.ledger.settle(two, "m1", outcome="completed") == at
    with pytest.raises(AlreadyDecided) as refused:
        world.ledger.settle(two, "m1", outcome="failed")
    assert (refused.value.first, refused.value.evidence["version"]) == ("completed", at)


def test_s9_step_2_an_ending_under_the_authority_from_before_a_renewal_counts(
    world: World,
) -> None:
    two = started_twice(world)
    world.ledger.advance(two, "lease_renewal")
    world.ledger.settle(two, "m1", outcome="completed")
    known = world.ledger.execution(KEY)
    assert known is not None
    assert (known.outcome, known.late) == ("completed", 0)


def test_s9_step_3_after_a_restart_the_run_is_complete_and_nothing_waits(
    world: World,
) -> None:
    two = started_twice(world)
    world.ledger.settle(two, "m1", outcome="completed")
    again = world.open("p1 restarted")
    known = again.execution(KEY)
    assert known is not None
    assert (known.outcome, known.open) == ("completed", False)
    seen = again.owner(S)
    assert (seen.status, seen.waiting, seen.generation) == ("live", (), 2)
    assert again.pending_notices(S) == []
    # The same agent comes back: nothing is closed, nobody is told anything.
    with world.writes() as lines:
        again.take_over(S, "t2", "host", Evidence.gone(seen, "restarted"))
    assert lines == ["ses_1 GenerationAdvanced@3 instance_restart"]
