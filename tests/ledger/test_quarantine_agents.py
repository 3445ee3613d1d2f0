"""Which agent a quarantined owner turns out to have, and who is free again by that."""

from __future__ import annotations

import pytest

from tenure import AgentIsBound, OwnerRef, Quarantined
from tenure_ledger.events import AgentBound, AgentReleased, GenerationAdvanced
from worlds import World

S, OTHER, NEW = (OwnerRef("session", f"ses_{number}") for number in (1, 2, 3))


def taken_twice(world: World, *, whole: bool) -> tuple[int, int]:
    """Store two takeovers of one generation, by c and by d; return their versions.

    ``whole``: with what an older library wrote of the agents; an import has none.
    """
    world.ledger.claim(S, "a", "host")
    for agent in ("c", "d"):
        taken = GenerationAdvanced(
            author="old",
            generation=2,
            reason="takeover",
            agent_id=agent,
            previous_agent_id="a",
        )
        world.append(S, taken)
        if whole:
            bound = AgentBound(author="old", generation=2, owner=S)
            world.append(f"agent:{agent}", bound)
    if whole:
        released = AgentReleased(author="old", generation=2, owner=S)
        world.append("agent:a", released)
    world.ledger.rebuild()
    earlier, later = world.ledger.owner(S).positions
    return earlier, later


@pytest.mark.parametrize("whole", [True, False], ids=["older library", "import"])
@pytest.mark.parametrize(("keep", "holder"), [(0, "c"), (1, "d")])
def test_the_agent_of_what_was_dropped_is_free_and_the_other_holds(
    world: World, keep: int, holder: str, *, whole: bool
) -> None:
    positions = taken_twice(world, whole=whole)
    ledger = world.ledger
    ledger.resolve_quarantine(S, positions[keep], "ana")
    assert ledger.owner(S).agent_id == holder
    assert all(one.differing == 0 for one in ledger.rebuild(check=True))
    free = "cd".replace(holder, "")
    assert ledger.claim(OTHER, free, "host").agent_id == free
    if whole or keep:
        with world.refuses(AgentIsBound) as refused:
            ledger.claim(NEW, holder, "host")
        assert refused.value.owner == S


def test_no_agent_is_kept_for_an_owner_that_holds_another_by_now(world: World) -> None:
    _, later = taken_twice(world, whole=False)
    ledger = world.ledger
    held = ledger.claim(OTHER, "d", "host")
    with world.refuses(AgentIsBound) as refused:
        ledger.resolve_quarantine(S, later, "ana")
    assert refused.value.owner == OTHER
    ledger.retire(held, "accepted")
    ledger.resolve_quarantine(S, later, "ana")
    with world.refuses(AgentIsBound) as refused:
        ledger.succeed(OTHER, "d", "host")
    assert refused.value.owner == S
    assert all(one.differing == 0 for one in ledger.rebuild(check=True))


def test_an_agent_whose_own_record_contradicts_itself_harms_no_owner(
    world: World,
) -> None:
    ledger = world.ledger
    held = ledger.claim(S, "a", "host")
    bound = AgentBound(author="import", generation=1, owner=OTHER)
    world.append("agent:a", bound)
    ledger.retire(held, "continue")
    with world.refuses(Quarantined) as refused:
        ledger.succeed(S, "a", "host")
    assert "use another agent id" in refused.value.text
    assert ledger.succeed(S, "b", "host").generation == 2
