"""A sub-agent that a thing has spawned hangs on whoever uses the thing."""

from __future__ import annotations

import pytest

from recovering import PAYLOADS, SESSION, begin, environment, restart
from tenure import (
    Authority,
    Closed,
    OwnerRef,
    RecoveryReport,
    Resumed,
    SuccessionDue,
    recover,
)
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
TAB, WINDOW = OwnerRef("browser", "tab"), OwnerRef("browser", "window")
KID = OwnerRef("subagent", "kid")


def below(world: World, held: Authority, *, busy: bool) -> None:
    """Let the session use a window, that a tab, and that a sub-agent."""
    window = world.ledger.spawn(held, WINDOW, author="manager/1")
    tab = world.ledger.spawn(window, TAB, author="manager/1")
    kid = world.ledger.spawn(tab, KID, "kid/1", author="manager/1")
    if busy:
        world.ledger.admit(kid, "t1", "assistant_run")


def told(report: RecoveryReport) -> list[tuple[type, OwnerRef]]:
    """Return what became of whom, in order."""
    return [(type(one), one.owner) for one in report.results]


def foreseen(world: World, *only: OwnerRef) -> list[tuple[type, OwnerRef]]:
    """Return what a dry run says."""
    report = recover(world.open("p2"), environment(), only=only or None, dry_run=True)
    return told(report)


@pytest.mark.parametrize("busy", [False, True])
def test_it_goes_on_with_the_session_that_used_the_thing(
    world: World, *, busy: bool
) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    below(world, held, busy=busy)
    before = foreseen(world)
    report = restart(world)
    wanted = [(Resumed, SESSION), (Resumed, KID)]
    assert told(report) == before == (wanted if busy else wanted[:1])
    assert [world.ledger.owner(at).status for at in (WINDOW, TAB, KID)] == [
        "revoked",
        "revoked",
        "live",
    ]


def test_it_goes_on_where_a_cut_waits_for_the_next_term(world: World) -> None:
    held = begin(world.ledger)
    below(world, held, busy=True)
    world.ledger.retire(held, "continue")
    before = foreseen(world)
    assert told(restart(world)) == before
    assert set(before) == {(Resumed, KID), (SuccessionDue, SESSION)}


@pytest.mark.parametrize("only", [(), (SESSION,)])
@pytest.mark.parametrize("busy", [False, True])
def test_it_is_closed_with_the_session_that_used_the_thing(
    world: World, only: tuple[OwnerRef, ...], *, busy: bool
) -> None:
    held = begin(world.ledger)
    below(world, held, busy=busy)
    before = foreseen(world, *only)
    report = recover(world.open("p2"), environment(), only=only or None)
    wanted = [(Closed, SESSION), (SuccessionDue, SESSION), (Closed, KID)]
    assert told(report) == before == wanted
    closed = report.closed[-1]
    assert closed.assertion == "invalid_structural_owner_identity"
    assert closed.told == SESSION


def test_of_a_thing_that_came_to_its_own_end_it_is_an_orphan(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    tab = world.ledger.spawn(held, TAB, author="manager/1")
    world.ledger.spawn(tab, KID, "kid/1", author="manager/1")
    world.ledger.terminate(tab, "released", "Done.")
    before = foreseen(world)
    report = restart(world)
    assert told(report) == before == [(Resumed, SESSION), (Closed, KID)]
    assert report.closed[0].told == SESSION
