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
)
from worlds import World

from tenure import (
    AlreadyDecided,
    Authority,
    Deleted,
    Evidence,
    Ledger,
    OwnerEnded,
    OwnerIsLive,
    OwnerRef,
    Quarantined,
    Refused,
    TermRetired,
    TooNew,
    UnknownOwner,
)

Cell = type[Refused] | tuple[str, ...]

ENDED = (
    "{id} ExecutionSettled@1 m1 retired",
    "{id} ToolCallClosed@1 m1 c1 outcome_unknown",
    "{id} ReplayBarred@1 successor_accepted",
)
"""What any end of scene `live` closes."""
LET_GO = ("{id} RetirementCut@1 forced", "manager/1 AgentReleased@1")
CARRIED = "{id} ExecutionAdmitted@2 m2"
TOLD = "{id} NoticeIssued@2 retirement_cut"

CLAIM: Mapping[str, Cell] = {
    "absent": ("{id} OwnershipClaimed@1", "manager/2 AgentBound@1"),
    "live": OwnerIsLive,
    "cut": TermRetired,
    "terminal": (
        "{id} RetirementCut@1 forced",
        "{id} GenerationAdvanced@2 reclaim",
        "manager/2 AgentBound@2",
        CARRIED,
    ),
    "imported_at_zero": (
        "{id} CheckpointCleared@0 term_ended",
        "{id} GenerationAdvanced@1 adopted",
        "manager/2 AgentBound@1",
    ),
    "imported_without_agent": (
        "{id} GenerationAdvanced@3 adopted",
        "manager/2 AgentBound@3",
    ),
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
SUCCEED: Mapping[str, Cell] = {
    "absent": UnknownOwner,
    "live": OwnerIsLive,
    "cut": ("{id} GenerationAdvanced@2 succession", "manager/2 AgentBound@2", CARRIED),
    "terminal": OwnerEnded,
    "imported_at_zero": OwnerEnded,
    "imported_without_agent": OwnerEnded,
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
TAKE_OVER: Mapping[str, Cell] = {
    "absent": UnknownOwner,
    "live": (
        *ENDED,
        *LET_GO,
        "{id} GenerationAdvanced@2 takeover",
        "manager/2 AgentBound@2",
        CARRIED,
        TOLD,
    ),
    "cut": TermRetired,
    "terminal": OwnerEnded,
    "imported_at_zero": CLAIM["imported_at_zero"],
    "imported_without_agent": CLAIM["imported_without_agent"],
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
FENCED: Mapping[str, type[Refused]] = {
    "absent": UnknownOwner,
    "cut": TermRetired,
    "terminal": OwnerEnded,
    "imported_at_zero": OwnerEnded,
    "imported_without_agent": OwnerEnded,
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
LIVE_WRITES: Mapping[str, tuple[str, ...]] = {
    "advance: renew": ("{id} GenerationAdvanced@2 lease_renewal",),
    "advance: migrate": ("{id} GenerationAdvanced@2 migration",),
    "advance: to another agent": (
        *ENDED,
        *LET_GO,
        "{id} GenerationAdvanced@2 migration",
        "manager/3 AgentBound@2",
        CARRIED,
        TOLD,
    ),
    "spawn": (
        "{id} ChildSpawned@1",
        "kid_2 OwnershipClaimed@1",
        "kid/2 AgentBound@1",
    ),
    "grant": ("kid_1 AuthorityGranted@1",),
    "revoke": ("kid_1 AuthorityRevoked@1",),
    "terminate": (
        *ENDED,
        "{id} OwnerTerminated@1 closed",
        "manager/1 AgentReleased@1",
        "{id} NoticeIssued@1 closed",
    ),
    "admit": ("{id} SubmissionAccepted@1 m3", "{id} ExecutionAdmitted@1 m3"),
    "start": ("{id} ExecutionStarted@1 m2",),
    "settle": ("{id} ExecutionSettled@1 m1 completed",),
    "retire": (
        *ENDED,
        "{id} RetirementCut@1 accepted",
        "manager/1 AgentReleased@1",
        "{id} NoticeIssued@1 retirement_cut",
    ),
    "history_rewritten": ("{id} HistoryRewritten@1",),
    "save_checkpoint": ("{id} CheckpointSaved@1",),
    "clear_checkpoint": (),
    "mark_output_started": ("{id} OutputStarted@1 m1",),
    "request_approval": ("{id} ApprovalRequested@1 c2",),
    "intend_tool_call": ("{id} ToolCallIntended@1 m1 c2",),
    "begin_tool_call": (
        "{id} ToolCallIntended@1 m1 c2",
        "{id} ToolCallDispatched@1 m1 c2",
    ),
    "complete_tool_call": ("{id} ToolCallCompleted@1 m1 c1",),
}
ACCEPT: Mapping[str, tuple[Cell, Cell]] = {
    "absent": (("{id} SubmissionAccepted@0 m9",), UnknownOwner),
    "live": (("{id} SubmissionAccepted@1 m9",),) * 2,
    "cut": (("{id} SubmissionAccepted@1 m9",),) * 2,
    "terminal": (("{id} SubmissionAccepted@1 m9",), OwnerEnded),
    "imported_at_zero": (("{id} SubmissionAccepted@0 m9",),) * 2,
    "imported_without_agent": (("{id} SubmissionAccepted@2 m9",),) * 2,
    "deleted": (Deleted, Deleted),
    "quarantined": (("{id} SubmissionAccepted@1 m9",),) * 2,
    "too_new": (TooNew, TooNew),
}
"""For a session, and for an owner of any other class."""
LATE = {
    "settle": "{id} LateResult@1 m1 completed",
    "complete_tool_call": "{id} LateResult@1 m1 c1",
}
"""What is stored all the same when the holding ended: a fact, not an act."""
SAYS: Mapping[type[Refused], str] = {
    TermRetired: "succeed",
    UnknownOwner: "claim",
    Deleted: "a new id",
    Quarantined: "resolve_quarantine",
    TooNew: "upgrade",
}
"""The way out, in the sentence."""


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
        late = LATE[write].format(id=owner.owner_id)
        with world.refuses(FENCED[scene], late) as refusal:
            call()
        at = len(world.ledger.history(owner))
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


def authority_now(world: World, owner: OwnerRef) -> Authority:
    """Return the authority of the live holding, as anybody can see it."""
    seen = world.ledger.owner(owner)
    assert seen.incarnation is not None
    return Authority(owner, seen.generation, seen.incarnation, seen.agent_id)
