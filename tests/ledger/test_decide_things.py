"""The things that an agent uses end with its holding (design sections 2 and 5)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import ONE, SESSION, TWO
from tenure import (
    Authority,
    Evidence,
    FencedOut,
    InvalidInput,
    Ledger,
    OwnerEnded,
    OwnerIsLive,
    OwnerRef,
)
from tenure_ledger.events import GenerationAdvanced
from worlds import World

BROWSER = OwnerRef("lease", "browser")
TAB = OwnerRef("lease", "tab")


def begin(world: World, agent: str = ONE) -> Authority:
    """Claim the session."""
    return world.ledger.claim(SESSION, agent, "host")


def gone(ledger: Ledger, owner: OwnerRef = SESSION) -> Evidence:
    """Say that whoever holds the owner now is gone."""
    return Evidence.gone(ledger.owner(owner))


HOLDS: dict[str, Callable[[Ledger, Authority], object]] = {
    "retire": lambda on, by: on.retire(by, "continue"),
    "terminate": lambda on, by: on.terminate(by, "done", "ok"),
    "take_over": lambda on, _: on.take_over(SESSION, TWO, "host", gone(on)),
    "migration": lambda on, by: on.advance(by, "migration"),
    "to another agent": lambda on, by: on.advance(by, "migration", TWO),
    "instance_restart": lambda on, _: on.take_over(SESSION, ONE, "host", gone(on)),
}


@pytest.mark.parametrize("end", HOLDS)
def test_what_ends_the_parents_holding_ends_that_of_its_things(
    world: World, end: str
) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    tab = ledger.spawn(lease, TAB, author="host")
    ledger.admit(lease, "page", "tool_probe")
    ledger.start(lease, "page")
    with world.writes() as lines:
        HOLDS[end](ledger, held)
    assert [one for one in lines if one.startswith(("browser", "tab"))] == [
        "browser ExecutionSettled@1 page retired",
        "browser ReplayBarred@1 successor_accepted",
        "browser AuthorityRevoked@1 ends_holding",
        "tab AuthorityRevoked@1 ends_holding",
    ]
    for authority in (lease, tab):
        with world.refuses(FencedOut):
            ledger.check(authority)


def test_a_renewed_lease_keeps_the_things(world: World) -> None:
    held = begin(world)
    lease = world.ledger.spawn(held, BROWSER, author="host")
    world.ledger.advance(held, "lease_renewal")
    world.ledger.check(lease)


def test_the_next_holder_takes_a_thing_without_evidence(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    ledger.retire(held, "continue")
    for agent in (None, ONE):
        with world.refuses(OwnerEnded):
            ledger.take_over(BROWSER, agent, "host")
    with world.refuses(OwnerEnded):
        ledger.claim(BROWSER, "somebody", "host")
    held = ledger.succeed(SESSION, TWO, "host")
    with world.refuses(OwnerEnded) as ended:
        ledger.spawn(held, BROWSER, author="host")
    assert "use take_over" in ended.value.text
    for agent in (ONE, "somebody"):
        with world.refuses(FencedOut) as refusal:
            ledger.take_over(BROWSER, agent, "host")
        assert refusal.value.holder == TWO
    with world.writes() as lines:
        taken = ledger.take_over(BROWSER, TWO, "host")
    assert lines == ["browser GenerationAdvanced@2 takeover"]
    assert (taken.generation, taken.agent_id) == (2, None)
    with world.refuses(FencedOut):
        ledger.check(lease)
    with world.refuses(OwnerIsLive):
        ledger.take_over(BROWSER, None, "host")


def test_a_live_thing_is_taken_by_nobody_but_the_holder_of_its_parent(
    world: World,
) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    with world.refuses(FencedOut):
        ledger.take_over(BROWSER, "somebody", "host", gone(ledger, BROWSER))
    ledger.check(lease)
    with world.writes() as lines:
        ledger.take_over(BROWSER, None, "host", gone(ledger, BROWSER))
        ledger.take_over(BROWSER, ONE, "host", gone(ledger, BROWSER))
    assert lines == [
        "browser GenerationAdvanced@2 instance_restart",
        "browser GenerationAdvanced@3 instance_restart",
    ]


def test_a_thing_never_leaves_its_parent(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    with world.refuses(InvalidInput):
        ledger.retire(lease, "continue")
    ledger.terminate(lease, "closed", "ok")
    with world.refuses(OwnerEnded):
        ledger.claim(BROWSER, "somebody", "host")
    again = ledger.spawn(held, BROWSER, author="host")
    assert again.generation == 2
    ledger.check(again)


@pytest.mark.parametrize("keep", [0, 1])
def test_a_quarantined_thing_loses_its_holding_with_its_parents(
    world: World, keep: int
) -> None:
    ledger = world.ledger
    held = begin(world)
    lease = ledger.spawn(held, BROWSER, author="host")
    world.append(
        BROWSER,
        GenerationAdvanced(
            author="import", generation=9, reason="takeover", agent_id=None
        ),
    )
    ledger.retire(held, "continue")
    two = ledger.succeed(SESSION, "m/9", "host")
    ledger.resolve_quarantine(BROWSER, ledger.owner(BROWSER).positions[keep], "person")
    with world.refuses(FencedOut):
        ledger.check(lease)
    ledger.check(ledger.take_over(BROWSER, two.agent_id, "host"))


def test_a_thing_has_no_checkpoint_and_no_agent(world: World) -> None:
    held = begin(world)
    lease = world.ledger.spawn(held, BROWSER, author="host")
    with world.refuses(InvalidInput):
        world.ledger.advance(lease, "migration", "somebody")
    with world.refuses(InvalidInput):
        world.ledger.spawn(held, SESSION, author="host")
