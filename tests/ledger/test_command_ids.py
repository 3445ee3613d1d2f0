"""The table of commands: one id, one outcome, for ever (design section 5, rule 1)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest

from asks import ASKS, Ask, essence, under
from scenes import JOB, KID, ONE, SCENES, SESSION, WRITES
from tenure import (
    CommandIdReused,
    FencedOut,
    InvalidInput,
    Ledger,
    OwnerIsLive,
    OwnerMoved,
    Refused,
    TermRetired,
)
from tenure_ledger import events as e
from worlds import World

GIVES: Mapping[str, type[Refused]] = {
    "claim": OwnerIsLive,
    "succeed": OwnerIsLive,
    "take_over": OwnerMoved,
    "advance: renew": CommandIdReused,
    "advance: migrate": FencedOut,
    "advance: to another agent": TermRetired,
    "spawn": OwnerIsLive,
}
"""What gives an authority, and what another process is told under the same id."""

asks = pytest.mark.parametrize("ask", ASKS)


def prepare(world: World, ask: str) -> Ask:
    """Make the live scene, and what the command needs besides."""
    return ASKS[ask](world, SCENES["live"](world, SESSION).authority)


def test_every_method_with_a_command_id_is_asked_here() -> None:
    methods = {
        name
        for name, method in inspect.getmembers(Ledger, inspect.isfunction)
        if "command_id" in inspect.signature(method).parameters
        and not name.startswith("_")
    }
    # A restore is of no owner that is named: the next test asks for it.
    assert methods == {name.split(":")[0] for name in ASKS} | {"restored"}


def test_a_restore_under_the_same_id_raises_nothing_again(world: World) -> None:
    SCENES["live"](world, SESSION)
    done = world.ledger.restored("ann", above=1000, command_id="c1")
    assert (done.floor, SESSION in done.restarted) == (1000, True)
    with world.writes() as lines:
        again = world.open("p2").restored("ann", above=1000, command_id="c1")
        assert (again.floor, again.restarted) == (1000, ())
    assert lines == []
    with world.refuses(CommandIdReused):
        world.ledger.restored("ann", above=2000, command_id="c1")


@asks
def test_the_same_command_again_is_the_first_outcome_whatever_came_after(
    world: World, ask: str
) -> None:
    call = prepare(world, ask)
    first = essence(call(under(world.ledger, "c1")))
    world.ledger.delete_conversation(SESSION, "ann")
    with world.writes() as lines:
        assert essence(call(under(world.ledger, "c1"))) == first
        assert essence(call(under(world.open("p1"), "c1"))) == first
    assert lines == []
    if world.kind == "sqlite":
        world.close()
        assert essence(call(under(world.open("p1"), "c1"))) == first


@asks
def test_the_id_is_kept_with_the_first_named_owner_alone(
    world: World, ask: str
) -> None:
    call = prepare(world, ask)
    before = world.ledger.owner(SESSION).version
    call(under(world.ledger, "c1"))
    row = world.command(SESSION, "c1")
    assert row is not None
    wrote = world.ledger.owner(SESSION).version > before
    assert row.first_version == (before + 1 if wrote else before)
    assert world.command(KID, "c1") is None
    world.ledger.claim(JOB, "worker", "host", command_id="c1")


@asks
def test_another_command_under_the_id_is_refused(world: World, ask: str) -> None:
    call = prepare(world, ask)
    call(under(world.ledger, "c1"))
    row = world.command(SESSION, "c1")
    assert row is not None
    with world.refuses(CommandIdReused) as refusal:
        world.open("p2").accept(SESSION, "another", "host", command_id="c1")
    assert refusal.value.evidence == {"version": row.first_version}
    assert world.command(SESSION, "c1") == row


@pytest.mark.parametrize("ask", GIVES)
def test_an_authority_is_given_again_to_its_own_process_only(
    world: World, ask: str
) -> None:
    call = prepare(world, ask)
    first = call(under(world.ledger, "c1"))
    with world.refuses(GIVES[ask]):
        call(under(world.open("p2"), "c1"))
    with world.writes() as lines:
        assert call(under(world.open("p1"), "c1")) == first
    assert lines == []


@pytest.mark.parametrize("ask", sorted(ASKS.keys() - GIVES.keys()))
def test_any_other_outcome_is_given_to_every_process(world: World, ask: str) -> None:
    call = prepare(world, ask)
    first = essence(call(under(world.ledger, "c1")))
    assert essence(call(under(world.open("p2"), "c1"))) == first


@pytest.mark.parametrize("scene", ["absent", "cut", "terminal", "deleted", "too_new"])
def test_a_refusal_stores_nothing_and_leaves_the_id_free(
    world: World, scene: str
) -> None:
    held = SCENES[scene](world, SESSION).authority
    for write in WRITES.values():
        with pytest.raises(Refused):
            write(under(world.ledger, "c1"), held)
        assert world.command(SESSION, "c1") is None
    other = world.ledger.claim(JOB, "worker", "host", command_id="c1")
    with world.refuses(OwnerIsLive):
        world.ledger.claim(JOB, ONE, "host", command_id="c2")
    world.ledger.terminate(other, "done", "ok")
    assert world.ledger.claim(JOB, "worker", "host", command_id="c2").generation == 2


def test_a_late_result_is_refused_again_under_its_id(world: World) -> None:
    held = SCENES["cut"](world, SESSION).authority
    ask = partial(world.ledger.settle, held, "m1", outcome="completed", command_id="c1")
    late = ("ses_1 LateResult@1 m1 completed", "ses_1 NoticeIssued@1 late_result")
    with world.refuses(TermRetired, *late) as refusal:
        ask()
    at = refusal.value.late
    with world.refuses(TermRetired) as refusal:
        ask()
    assert refusal.value.late == at is not None


NATURAL = ("accept", "admit", "start", "settle", "mark_output_started", "grant")


@pytest.mark.parametrize("ask", [*NATURAL, "request_approval", "clear_checkpoint"])
def test_an_outcome_that_was_on_record_already_is_remembered_under_the_id(
    world: World, ask: str
) -> None:
    call = prepare(world, ask)
    first = essence(call(world.ledger))
    with world.writes() as lines:
        assert essence(call(under(world.ledger, "c1"))) == first
    assert lines == []
    row = world.command(SESSION, "c1")
    assert row is not None
    assert row.first_version == world.ledger.owner(SESSION).version
    world.ledger.delete_conversation(SESSION, "ann")
    assert essence(call(under(world.open("p2"), "c1"))) == first


def test_without_an_id_the_shell_makes_one_for_each_command(world: World) -> None:
    held = SCENES["live"](world, SESSION).authority
    world.ledger.retire(held, "continue")
    ids = [one.event for one in world.ledger.events()]
    made = [one.command_id for one in ids if isinstance(one, e.Event)]
    assert len(set(made)) == 6
    row = world.command(SESSION, made[-1])
    assert row is not None
    with world.refuses(CommandIdReused):
        world.ledger.accept(SESSION, "m9", "host", command_id=made[-1])


def test_a_renewed_authority_asks_the_same_command(world: World) -> None:
    held = SCENES["live"](world, SESSION).authority
    first = world.ledger.advance(held, "lease_renewal", command_id="c1")
    with world.writes() as lines:
        assert world.ledger.advance(first, "lease_renewal", command_id="c1") == first
    assert lines == []
    with world.refuses(CommandIdReused):
        world.ledger.advance(
            replace(held, incarnation="another"), "lease_renewal", command_id="c1"
        )


CHANGED: Mapping[str, Ask] = {
    "message": lambda on: on.accept(SESSION, "m8", "host", "ann", "d", human=True),
    "author": lambda on: on.accept(SESSION, "m9", "relay", "ann", "d", human=True),
    "sender": lambda on: on.accept(SESSION, "m9", "host", "bob", "d", human=True),
    "digest": lambda on: on.accept(SESSION, "m9", "host", "ann", None, human=True),
    "human": lambda on: on.accept(SESSION, "m9", "host", "ann", "d"),
    "kind": lambda on: on.bar_replay(SESSION, "model_switch", "host"),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_command_is_another_one_if_any_of_its_arguments_is(
    world: World, change: str
) -> None:
    world.ledger.accept(SESSION, "m9", "host", "ann", "d", human=True, command_id="c1")
    with world.refuses(CommandIdReused):
        CHANGED[change](under(world.ledger, "c1"))


@pytest.mark.parametrize("command_id", ["", "x" * 257, "\0", "\ud83d", 7])
def test_a_command_id_is_an_id(world: World, command_id: str) -> None:
    with world.refuses(InvalidInput):
        world.ledger.accept(SESSION, "m9", "host", command_id=command_id)
