"""What an ended holding says is no word about the live holding's own work."""

from __future__ import annotations

import pytest

from scenes import ONE, SESSION, TWO
from tenure import (
    Authority,
    ChatExecutionKey,
    Evidence,
    Execution,
    Fact,
    FencedOut,
    First,
    OwnerRef,
    TermRetired,
    ToolCall,
)
from worlds import World

MAIL = {"to": "anna"}


def begin(world: World) -> Authority:
    """Give a term in which ``m1`` is admitted."""
    return world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))


def restart(world: World) -> Authority:
    """Let the same agent come back."""
    gone = Evidence.gone(world.ledger.owner(SESSION))
    return world.ledger.take_over(SESSION, ONE, "host", gone)


def called(world: World) -> ToolCall:
    """Return the call as it stands."""
    found = world.ledger.tool_call(SESSION, "m1", "c1")
    assert found is not None
    return found


def known(world: World) -> Execution:
    """Return what the ledger knows of ``m1``."""
    found = world.ledger.execution(ChatExecutionKey("ses_1", "m1"))
    assert found is not None
    return found


def test_a_call_that_the_live_holding_may_run_gets_no_result_from_before(
    world: World,
) -> None:
    first = begin(world)
    world.ledger.retire(first, "continue")
    held = world.ledger.succeed(SESSION, TWO, "host")
    world.ledger.intend_tool_call(held, "m1", "c1", "mail", MAIL)
    with world.refuses(TermRetired) as refusal:
        world.ledger.complete_tool_call(first, ("m1", "c1"), "never sent")
    assert refusal.value.late is None
    call = world.ledger.begin_tool_call(held, "m1", "c1", "mail", MAIL)
    assert call.state == "fresh"


def test_a_call_that_the_live_holding_runs_gets_its_own_result(world: World) -> None:
    first = begin(world)
    world.ledger.intend_tool_call(first, "m1", "c1", "mail", MAIL)
    held = restart(world)
    call = world.ledger.begin_tool_call(held, "m1", "c1", "mail", MAIL)
    with world.refuses(FencedOut) as refusal:
        world.ledger.complete_tool_call(first, call, "not this one")
    assert refusal.value.late is None
    world.ledger.complete_tool_call(held, call, "sent")
    assert (called(world).result, called(world).late) == ("sent", False)


@pytest.mark.parametrize("end", ["retire", "restart"])
def test_a_late_result_of_a_call_from_before_a_restart_is_not_unknown_any_more(
    world: World, end: str
) -> None:
    first = begin(world)
    call = world.ledger.begin_tool_call(first, "m1", "c1", "mail", MAIL)
    held = restart(world)
    assert len(world.ledger.owner(SESSION).open_calls) == 1
    with pytest.raises(FencedOut) as refusal:
        world.ledger.complete_tool_call(first, call, "sent")
    assert refusal.value.late
    assert world.ledger.owner(SESSION).open_calls == ()
    if end == "restart":
        held = restart(world)
    world.ledger.retire(held, "continue")
    assert (called(world).state, called(world).late) == ("completed", True)
    told = [fact for one in world.ledger.pending_notices(SESSION) for fact in one.facts]
    of_call = [fact.kind for fact in told if fact.call_id == "c1"]
    assert of_call == ["output_completed"]


def test_a_message_that_the_live_holding_began_is_not_settled_from_before(
    world: World,
) -> None:
    first = begin(world)
    held = restart(world)
    world.ledger.start(held, "m1")
    with world.refuses(FencedOut) as refusal:
        world.ledger.settle(first, "m1", "completed")
    assert refusal.value.late is None
    assert world.ledger.pending_notices(SESSION) == []


def test_each_run_of_a_crash_loop_may_say_what_became_of_the_work(
    world: World,
) -> None:
    """Not only the one that admitted it."""
    world.ledger.start(begin(world), "m1")
    second = restart(world)
    held = restart(world)
    with pytest.raises(FencedOut) as refusal:
        world.ledger.settle(second, "m1", "completed")
    assert known(world).late == refusal.value.late
    world.ledger.settle(held, "m1", "failed")
    assert known(world).outcome == "failed"


def test_what_was_carried_over_is_the_next_terms_own(world: World) -> None:
    first = world.ledger.advance(begin(world), "lease_renewal")
    world.ledger.retire(first, "continue")
    world.ledger.succeed(SESSION, TWO, "host")
    with world.refuses(TermRetired) as refusal:
        world.ledger.settle(first, "m1", "completed")
    assert refusal.value.late is None


def test_what_becomes_known_late_of_a_thing_is_told_to_who_uses_it(
    world: World,
) -> None:
    browser = OwnerRef("lease", "browser")
    lease = world.ledger.spawn(begin(world), browser, author="host")
    world.ledger.admit(lease, "page", "assistant_run")
    call = world.ledger.begin_tool_call(lease, "page", "c1", "click", {})
    restart(world)
    world.ledger.take_over(browser, ONE, "host")
    with pytest.raises(FencedOut):
        world.ledger.complete_tool_call(lease, call, "clicked")
    assert world.ledger.pending_notices(browser) == []
    told = world.ledger.pending_notices(SESSION)[-1]
    assert (told.event_type, told.about) == ("late_result", browser)
    clicked = Fact(kind="output_completed", key="page", call_id="c1", tool="click")
    assert told.facts == (clicked,)
