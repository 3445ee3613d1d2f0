"""Retire and terminate: the two ends that a holder writes itself (section 6)."""

from __future__ import annotations

from scenes import ONE, SESSION
from tenure import (
    AlreadyDecided,
    Authority,
    Boundary,
    First,
    InvalidInput,
    OwnerEnded,
    TermRetired,
)
from worlds import World


def test_the_boundary_is_the_request_started_last_unless_it_is_named(
    world: World,
) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    assert boundary(world, held) is None
    held = world.ledger.succeed(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.admit(held, "m2", "human")
    world.ledger.start(held, "m2")
    world.ledger.start(held, "m1")
    world.ledger.settle(held, "m2", "completed")
    assert boundary(world, held) == Boundary("m1")
    held = world.ledger.succeed(SESSION, ONE, "host")
    assert boundary(world, held) is None
    held = world.ledger.succeed(SESSION, ONE, "host")
    assert boundary(world, held, "m7") == Boundary("m7")
    held = world.ledger.succeed(SESSION, ONE, "host")
    assert boundary(world, held, Boundary("m7", 3)) == Boundary("m7", 3)


def boundary(
    world: World, held: Authority, named: str | Boundary | None = None
) -> Boundary | None:
    """Retire and return the boundary that is on record."""
    at = world.ledger.retire(held, "accepted", boundary=named)
    cut = world.ledger.owner(SESSION).cut
    assert cut is not None
    assert cut.version == at
    return cut.boundary


def test_the_handover_is_a_body_of_the_cut(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    world.ledger.retire(held, "continue", handover="Done: A. Next: B.")
    cut = world.ledger.owner(SESSION).cut
    assert cut is not None
    assert cut.handover is not None
    assert world.ledger.body(SESSION, cut.handover) == "Done: A. Next: B."
    with world.refuses(InvalidInput):
        world.ledger.retire(held, "forced")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_term_retires_once(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    at = world.ledger.retire(held, "accepted")
    with world.refuses(TermRetired) as refusal:
        world.ledger.retire(held, "accepted")
    assert (refusal.value.holder, refusal.value.evidence["cut"]) == (None, at)


def test_the_same_terminal_again_is_the_first_outcome(world: World) -> None:
    held = world.ledger.claim(SESSION, ONE, "host")
    at = world.ledger.terminate(held, "closed", "by the host")
    with world.writes() as lines:
        assert world.ledger.terminate(held, "closed", "by the host") == at
        assert world.open("p2").terminate(held, "closed", "by the host") == at
    assert lines == []
    for event_type, status in (("closed", "other words"), ("crashed", "by the host")):
        with world.refuses(AlreadyDecided) as refusal:
            world.ledger.terminate(held, event_type, status)
        assert refusal.value.first == "closed"


def test_the_terminal_of_another_holding_is_no_answer(world: World) -> None:
    first = world.ledger.claim(SESSION, ONE, "host")
    moved = world.ledger.advance(first, "migration")
    world.ledger.terminate(moved, "closed", "by the host")
    with world.refuses(OwnerEnded):
        world.ledger.terminate(first, "closed", "by the host")
    second = world.ledger.claim(SESSION, ONE, "host")
    with world.refuses(TermRetired):
        world.ledger.terminate(moved, "closed", "by the host")
    world.ledger.terminate(second, "closed", "by the host")
