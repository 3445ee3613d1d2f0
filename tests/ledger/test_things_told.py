"""What may have run at a thing when its parent's holding ended is told to the next."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import ONE, SESSION, TWO
from tenure import Authority, Evidence, Fact, First, Ledger, OwnerRef
from worlds import World

BROWSER = OwnerRef("lease", "browser")
TAB = OwnerRef("lease", "tab")


def gone(ledger: Ledger) -> Evidence:
    """Say that whoever holds the session now is gone."""
    return Evidence.gone(ledger.owner(SESSION))


ENDS: dict[str, Callable[[Ledger, Authority], object]] = {
    "retire": lambda on, by: on.retire(by, "continue"),
    "terminate": lambda on, by: on.terminate(by, "done", "ok"),
    "take_over": lambda on, _: on.take_over(SESSION, TWO, "host", gone(on)),
    "migration": lambda on, by: on.advance(by, "migration"),
    "to another agent": lambda on, by: on.advance(by, "migration", TWO),
    "instance_restart": lambda on, _: on.take_over(SESSION, ONE, "host", gone(on)),
}


def used(world: World, thing: OwnerRef, by: Authority) -> Authority:
    """Let a thing be used, with one call that was dispatched and one that was not."""
    held = world.ledger.spawn(by, thing, author="host")
    world.ledger.admit(held, "page", "assistant_run")
    world.ledger.start(held, "page")
    world.ledger.begin_tool_call(held, "page", "c1", "click", {})
    world.ledger.intend_tool_call(held, "page", "c2", "click", {})
    return held


@pytest.mark.parametrize("end", ENDS)
def test_a_call_that_may_have_run_is_told_where_the_parents_end_is_told(
    world: World, end: str
) -> None:
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host")
    lease = used(world, BROWSER, held)
    used(world, TAB, lease)
    ENDS[end](ledger, held)
    unknown = Fact(kind="outcome_unknown", key="page", call_id="c1", tool="click")
    told = {one.about: one for one in ledger.pending_notices(SESSION)}
    assert told.keys() == {BROWSER, TAB}
    for notice in told.values():
        assert (notice.event_type, notice.facts) == ("authority_revoked", (unknown,))
    assert ledger.pending_notices(BROWSER) == []


def test_a_thing_with_nothing_left_behind_is_not_spoken_of(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    lease = world.ledger.spawn(held, BROWSER, author="host")
    world.ledger.admit(lease, "page", "assistant_run")
    world.ledger.start(lease, "page")
    call = world.ledger.begin_tool_call(lease, "page", "c1", "click", {})
    world.ledger.complete_tool_call(lease, call, "clicked")
    world.ledger.retire(held, "continue")
    assert world.ledger.pending_notices(SESSION) == []


def test_each_end_of_a_thing_is_told_once(world: World) -> None:
    """Used again after a restart and lost again: two ends, two notices."""
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    used(world, BROWSER, held)
    for number in (2, 3):
        held = ledger.take_over(SESSION, ONE, "host", gone(ledger))
        lease = ledger.take_over(BROWSER, ONE, "host")
        ledger.admit(lease, f"page {number}", "assistant_run")
        ledger.start(lease, f"page {number}")
        ledger.begin_tool_call(lease, f"page {number}", "c1", "click", {})
    ledger.retire(held, "continue")
    told = [one for one in ledger.pending_notices(SESSION) if one.about == BROWSER]
    assert [one.facts[0].key for one in told] == ["page", "page 2", "page 3"]
