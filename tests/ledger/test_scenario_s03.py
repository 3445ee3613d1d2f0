"""S3: a fence that remembers only the id lets old work borrow the new lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scenes import version_of
from tenure import (
    Authority,
    Evidence,
    FencedOut,
    InvalidInput,
    Ledger,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    TermRetired,
)
from tenure_ledger import events as e
from worlds import World

S = OwnerRef("session", "ses_1")
PAYLOAD = RuntimeRestartQueuedSubmission(submission_key="m1")


def take(ledger: Ledger, agent_id: str) -> Authority:
    seen = Evidence.gone(ledger.owner(S))
    return ledger.take_over(S, agent_id=agent_id, author="host", evidence=seen)


def away_and_back(world: World, there: str) -> tuple[Ledger, Authority, Authority]:
    """Process P holds at 1, Q at 2 (by ``there``), P again at 3 by its first agent."""
    p, q = world.open("P"), world.open("Q")
    one = p.claim(S, agent_id="manager", author="P")
    p.admit(one, "m1", origin="human")
    assert take(q, there).generation == 2
    three = take(p, "manager")
    assert (three.generation, p.owner(S).process) == (3, "P")
    return p, one, three


WRITES: dict[str, Callable[[Ledger, Any], object]] = {
    "admit": lambda p, one: p.admit(one, "m2", origin="human"),
    "start": lambda p, one: p.start(one, "m1"),
    "save_checkpoint": lambda p, one: p.save_checkpoint(one, PAYLOAD),
    "mark_output": lambda p, one: p.mark_output_started(one, "m1"),
    "begin_tool_call": lambda p, one: p.begin_tool_call(one, "m1", "c1", "sh", {}),
    "retire": lambda p, one: p.retire(one, outcome="accepted"),
    "terminate": lambda p, one: p.terminate(one, "done", "done"),
    "renew": lambda p, one: p.advance(one, "lease_renewal"),
    "spawn": lambda p, one: p.spawn(
        one, OwnerRef("session", "child"), "c/1", author="P"
    ),
    "check": lambda p, one: p.check(one),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("there", ["other", "manager"])
def test_s3_step_4_the_first_holdings_callback_cannot_use_the_third(
    world: World, write: str, there: str
) -> None:
    p, one, three = away_and_back(world, there)
    head = p.head()
    with pytest.raises(FencedOut) as late:
        WRITES[write](p, one)
    assert isinstance(late.value, TermRetired) == (there == "other")
    assert (late.value.holder, late.value.generation) == ("manager", 3)
    assert p.head() == head
    p.check(three)


def test_s3_step_4_a_settle_of_the_first_holding_is_kept_as_a_late_fact_only(
    world: World,
) -> None:
    p, one, _ = away_and_back(world, "manager")
    with pytest.raises(FencedOut) as late:
        p.settle(one, "m1", outcome="completed")
    assert late.value.late == version_of(p, S, e.LateResult)
    topics = [at.event.topic for at in p.history(S)]
    assert topics[-2:] == ["late-result.v1", "notice-issued.v1"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("nothing", [None, "manager", ("session", "ses_1", 3)])
def test_s3_step_5_a_write_without_a_captured_authority_is_refused(
    world: World, write: str, nothing: object
) -> None:
    p, _, _ = away_and_back(world, "other")
    head = p.head()
    with pytest.raises(InvalidInput, match="authority"):
        WRITES[write](p, nothing)
    assert p.head() == head


def test_s3_a_made_up_generation_under_an_old_incarnation_is_refused(
    world: World,
) -> None:
    p, one, three = away_and_back(world, "manager")
    with pytest.raises(FencedOut):
        p.start(Authority(S, three.generation, one.incarnation, "manager"), "m1")
    with pytest.raises(FencedOut):
        p.start(Authority(S, 4, three.incarnation, "manager"), "m1")


def test_s3_an_authority_survives_the_journey_as_json(world: World) -> None:
    p, _, three = away_and_back(world, "manager")
    again = Authority.from_json(three.to_json())
    assert again == three
    p.start(again, "m1")
