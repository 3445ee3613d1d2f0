"""The table of design section 5: every state of an owner by every command.

A cell is the refusal's type, or the lines that the command appends.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

import pytest

from scenes import (
    JOB,
    ONE,
    SCENES,
    SESSION,
    TWO,
    WRITES,
    Scene,
    version_of,
)
from table import (
    ACCEPT,
    CLAIM,
    FENCED,
    LATE,
    LIVE_WRITES,
    SAYS,
    SUCCEED,
    TAKE_OVER,
    Cell,
)
from tenure import (
    AlreadyDecided,
    Authority,
    Evidence,
    Ledger,
    NotFound,
    OwnerEnded,
    OwnerIsLive,
    OwnerRef,
    UnknownOwner,
)
from tenure_ledger import events as e
from worlds import World


def check(
    world: World, scene: Scene, cell: Cell, call: Callable[[], object], owner: OwnerRef
) -> None:
    """Hold that the call does what the cell says."""
    if isinstance(cell, tuple):
        with world.writes() as lines:
            call()
        assert lines == [line.format(id=owner.owner_id) for line in cell]
    else:
        with world.refuses(cell) as refusal:
            call()
        assert scene.evidence.items() <= refusal.value.evidence.items()
        assert SAYS.get(cell, "") in refusal.value.text
    assert world.ledger.verify().ok


owners = pytest.mark.parametrize("owner", [SESSION, JOB], ids=["session", "job"])
scenes = pytest.mark.parametrize("scene", SCENES)


def test_every_state_is_a_row_of_every_column() -> None:
    for column in (CLAIM, SUCCEED, TAKE_OVER, ACCEPT, {**FENCED, "live": ()}):
        assert column.keys() == SCENES.keys()


def test_every_method_that_takes_an_authority_is_a_fenced_write_of_the_table() -> None:
    methods = {
        name
        for name, method in inspect.getmembers(Ledger, inspect.isfunction)
        if "authority" in inspect.signature(method).parameters
    }
    assert methods - {"check"} == {name.split(":")[0] for name in WRITES}
    assert WRITES.keys() == LIVE_WRITES.keys()


@owners
@scenes
def test_claim(world: World, owner: OwnerRef, scene: str) -> None:
    built = SCENES[scene](world, owner)

    def call() -> None:
        held = world.ledger.claim(owner, TWO, "host")
        assert held == authority_now(world, owner)

    check(world, built, CLAIM[scene], call, owner)


@owners
@scenes
def test_succeed(world: World, owner: OwnerRef, scene: str) -> None:
    built = SCENES[scene](world, owner)

    def call() -> None:
        held = world.ledger.succeed(owner, TWO, "host")
        assert held == authority_now(world, owner)

    check(world, built, SUCCEED[scene], call, owner)


@pytest.mark.parametrize("scene", ["terminal", "imported_at_zero"])
def test_succeed_and_take_over_of_what_ended_say_claim(
    world: World, scene: str
) -> None:
    SCENES[scene](world, SESSION)
    with world.refuses(OwnerEnded) as refusal:
        world.ledger.succeed(SESSION, TWO, "host")
    assert "use claim" in refusal.value.text
    if scene == "terminal":
        with world.refuses(OwnerEnded) as refusal:
            world.ledger.take_over(SESSION, TWO, "host")
        assert "use claim" in refusal.value.text


@owners
@scenes
def test_take_over(world: World, owner: OwnerRef, scene: str) -> None:
    built = SCENES[scene](world, owner)
    seen = world.ledger.owner(owner)
    evidence = Evidence.gone(seen) if scene == "live" else None

    def call() -> None:
        held = world.ledger.take_over(owner, TWO, "host", evidence)
        assert held == authority_now(world, owner)

    check(world, built, TAKE_OVER[scene], call, owner)


@owners
def test_take_over_of_a_live_owner_without_evidence(
    world: World, owner: OwnerRef
) -> None:
    built = SCENES["live"](world, owner)
    for agent in (ONE, TWO):
        with world.refuses(OwnerIsLive) as refusal:
            world.ledger.take_over(owner, agent, "host")
        assert built.evidence.items() <= refusal.value.evidence.items()


@owners
def test_take_over_by_the_present_agent_is_no_cut(
    world: World, owner: OwnerRef
) -> None:
    built = SCENES["live"](world, owner)
    evidence = Evidence.gone(world.ledger.owner(owner), "its process is gone")
    with world.writes() as lines:
        held = world.ledger.take_over(owner, ONE, "host", evidence)
    assert lines == [f"{owner.owner_id} GenerationAdvanced@2 instance_restart"]
    assert held.generation == 2
    assert held.incarnation != built.authority.incarnation


@owners
@pytest.mark.parametrize("write", WRITES)
@scenes
def test_a_fenced_write(world: World, owner: OwnerRef, scene: str, write: str) -> None:
    built = SCENES[scene](world, owner)

    def call() -> None:
        WRITES[write](world.ledger, built.authority)

    if scene == "live":
        check(world, built, LIVE_WRITES[write], call, owner)
        return
    if scene in {"cut", "terminal"} and write in LATE:
        late = [line.format(id=owner.owner_id) for line in LATE[write]]
        with world.refuses(FENCED[scene], *late) as refusal:
            call()
        at = version_of(world.ledger, owner, e.LateResult)
        assert refusal.value.evidence["late"] == at
        assert built.evidence.items() <= refusal.value.evidence.items()
        return
    if (scene, write) == ("terminal", "terminate"):
        with world.refuses(AlreadyDecided) as decided:
            call()
        assert decided.value.first == "done"
        assert built.evidence.items() <= decided.value.evidence.items()
        return
    check(world, built, FENCED[scene], call, owner)


@owners
@scenes
def test_asking_whether_an_authority_may_act_writes_nothing(
    world: World, owner: OwnerRef, scene: str
) -> None:
    built = SCENES[scene](world, owner)
    if scene == "live":
        check(world, built, (), lambda: world.ledger.check(built.authority), owner)
        return
    check(
        world,
        built,
        FENCED[scene],
        lambda: world.ledger.check(built.authority),
        owner,
    )


@owners
@scenes
def test_accept(world: World, owner: OwnerRef, scene: str) -> None:
    built = SCENES[scene](world, owner)
    cell = ACCEPT[scene][owner != SESSION]
    check(world, built, cell, lambda: world.ledger.accept(owner, "m9", "host"), owner)


def test_an_owner_with_nothing_but_waiting_messages_is_absent(world: World) -> None:
    world.ledger.accept(SESSION, "m1", "host", human=True)
    made_up = SCENES["absent"](world, SESSION).authority
    assert world.ledger.owner(SESSION).status == "absent"
    with world.refuses(UnknownOwner):
        world.ledger.succeed(SESSION, TWO, "host")
    with world.refuses(UnknownOwner):
        world.ledger.take_over(SESSION, TWO, "host")
    for write in WRITES.values():
        with world.refuses(UnknownOwner):
            write(world.ledger, made_up)
    with world.writes() as lines:
        world.ledger.claim(SESSION, TWO, "host")
    assert lines == [
        "ses_1 OwnershipClaimed@1",
        "manager/2 AgentBound@1",
        "ses_1 ExecutionAdmitted@1 m1",
    ]


UNFENCED: Mapping[str, Callable[[Ledger, OwnerRef], object]] = {
    "bar_replay": lambda on, owner: on.bar_replay(owner, "model_switch", "ann"),
    "decide_approval": lambda on, owner: on.decide_approval(
        owner, "r1", "denied", "ann"
    ),
    "late_result": lambda on, owner: on.late_result(owner, "ann", "m1", "done"),
    "strip_requests": lambda on, owner: on.strip_requests(
        owner, [("ghost", "stale_unadmitted", 1)], "gate", 1
    ),
    "deliver_notices": lambda on, owner: on.deliver_notices(owner, "m1"),
    "settle_interrupt": lambda on, owner: on.settle_interrupt(
        owner, "i1", "given up", "ann"
    ),
    "delete_conversation": lambda on, owner: on.delete_conversation(owner, "ann"),
    "resolve_quarantine": lambda on, owner: on.resolve_quarantine(owner, 1, "ann"),
}


@owners
@pytest.mark.parametrize("write", UNFENCED)
@pytest.mark.parametrize("scene", ["absent", "deleted", "quarantined", "too_new"])
def test_an_unfenced_write_where_nothing_may_be_written(
    world: World, owner: OwnerRef, scene: str, write: str
) -> None:
    built = SCENES[scene](world, owner)
    cell: Cell = FENCED[scene]
    if write == "resolve_quarantine" and scene != "too_new":
        cell = NotFound
        if scene == "quarantined":
            cell = ("{id} QuarantineResolved@1",)
    if (scene, write) == ("deleted", "delete_conversation"):
        cell = ()
    built = built if cell is FENCED[scene] else built._replace(evidence={})
    check(world, built, cell, lambda: UNFENCED[write](world.ledger, owner), owner)


def authority_now(world: World, owner: OwnerRef) -> Authority:
    """Return the authority of the live holding, as anybody can see it."""
    seen = world.ledger.owner(owner)
    assert seen.incarnation is not None
    return Authority(owner, seen.generation, seen.incarnation, seen.agent_id)
