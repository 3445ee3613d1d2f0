"""May this caller call the model now? The first of the gate's two questions."""

from __future__ import annotations

import pytest

from gates import HANDOVER, Gate, S, first_term, next_term, said, texts, user, verdicts
from scenes import SCENES
from tenure import (
    Authority,
    Deleted,
    Evidence,
    FencedOut,
    InvalidInput,
    OwnerEnded,
    OwnerRef,
    Quarantined,
    Refused,
    TermRetired,
    TooNew,
    UnknownOwner,
)
from tenure_ledger import events as e
from worlds import World

OTHER = "manager/other"
LIST = [user("m1"), said("an answer"), user("ghost"), user("m2")]
# Of an owner in each state of the table in design section 5: what the caller is told
# who brings the authority of its last holder, and the one who brings none.
WITH_AUTHORITY: dict[str, type[Refused]] = {
    "absent": UnknownOwner,
    "cut": TermRetired,
    "terminal": OwnerEnded,
    "imported_at_zero": OwnerEnded,
    "imported_without_agent": OwnerEnded,
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}


@pytest.mark.parametrize("scene", WITH_AUTHORITY)
def test_a_caller_without_a_live_holding_is_refused_before_anything_else(
    world: World, scene: str
) -> None:
    held = SCENES[scene](world, S).authority
    gate = Gate(world)
    for side in (False, True):
        with world.refuses(WITH_AUTHORITY[scene]):
            gate.apply([*LIST, user("a person", human=True)], held, side=side)
    assert gate.host.asked == []


@pytest.mark.parametrize(
    ("scene", "kind"),
    [
        ("absent", UnknownOwner),
        ("deleted", Deleted),
        ("quarantined", Quarantined),
        ("too_new", TooNew),
    ],
)
def test_of_a_session_that_cannot_be_judged_nobody_gets_a_view(
    world: World, scene: str, kind: type[Refused]
) -> None:
    SCENES[scene](world, S)
    gate = Gate(world)
    for record in (True, False):
        with world.refuses(kind):
            gate.apply(LIST, None, record=record)


@pytest.mark.parametrize("scene", ["cut", "terminal"])
def test_while_nobody_holds_the_session_a_person_is_heard_and_nothing_is_stripped(
    world: World, scene: str
) -> None:
    SCENES[scene](world, S)
    gate = Gate(world)
    messages = [*LIST, user("new", human=True)]
    with world.writes() as lines:
        nothing = gate.nothing(messages, None)
    assert lines == ["ses_1 SubmissionAccepted@1 new"]
    assert nothing.verdict is not None
    assert (nothing.verdict.name, nothing.verdict.key) == ("unadmitted_human", "new")
    assert gate.host.asked == []
    assert "new" in world.ledger.owner(S).waiting


def test_a_zombie_behind_a_cut_gets_no_view_and_leaves_no_trace(world: World) -> None:
    one = first_term(world.ledger)
    world.ledger.retire(one, "continue", HANDOVER)
    gate = Gate(world)
    with world.refuses(TermRetired):
        gate.apply([user("m1"), user("retry")], one)
    two = next_term(world.ledger, "m2")
    with world.refuses(TermRetired):
        gate.apply([user("m1"), user("retry"), user("m2")], one, acting="m2")
    assert texts(gate.apply([user("m2")], two)) == ["text of m2"]


def test_a_zombie_without_any_cut_gets_no_view_either(world: World) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "m2", "human")
    gone = Evidence.gone(ledger.owner(S), "its process is not there")
    two = world.open("p2").take_over(S, f"{S}/1", "host", gone)
    assert count_cuts(world) == 0
    gate = Gate(world)
    for record in (True, False):
        with world.refuses(FencedOut):
            gate.apply([user("m1"), user("m2")], one, record=record)
    assert verdicts(gate.apply([user("m1"), user("m2")], two)) == {
        "m1": "current",
        "m2": "current",
    }


def count_cuts(world: World) -> int:
    return sum(
        isinstance(one.event, e.RetirementCut) for one in world.ledger.history(S)
    )


def test_a_renewal_and_a_restart_change_no_verdict_and_a_lower_generation_is_good(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "probe", "tool_probe")
    ledger.retire(one, "continue", HANDOVER)
    two = next_term(ledger, "m2")
    gate = Gate(world)
    messages = [user("m1"), user("ghost"), user("probe"), user("m2")]
    before = gate.apply(messages, two)
    renewed = ledger.advance(two, "lease_renewal", lease_seconds=60)
    for held in (two, renewed):
        assert verdicts(gate.apply(messages, held)) == verdicts(before)
    moved = ledger.advance(renewed, "migration")
    assert texts(gate.apply(messages, moved)) == texts(before)
    with world.refuses(FencedOut):
        gate.apply(messages, renewed)
    gone = Evidence.gone(ledger.owner(S), "its process is not there")
    again = ledger.take_over(S, f"{S}/2", "host", gone)
    assert texts(gate.apply(messages, again)) == texts(before)
    assert gate.host.keys == ["ghost", "probe"]


def test_a_takeover_by_another_agent_makes_the_old_work_history(world: World) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "m2", "human")
    ledger.admit(one, "probe", "tool_probe")
    gate = Gate(world)
    gate.apply([user("m1"), user("m2")], one, acting="m2")
    gone = Evidence.gone(ledger.owner(S), "its process is not there")
    two = ledger.take_over(S, OTHER, "host", gone)
    ledger.admit(two, "m3", "continue_relay")
    view = gate.apply([user("m1"), user("m2"), user("probe"), user("m3")], two)
    assert verdicts(view) == {
        "m1": "history",
        "m2": "history",
        "probe": "stale_admitted",
        "m3": "successor",
    }


def test_an_authority_of_another_owner_is_a_mistake_and_not_a_fence(
    world: World,
) -> None:
    held = first_term(world.ledger, OwnerRef("session", "ses_2"))
    first_term(world.ledger)
    with world.refuses(InvalidInput):
        Gate(world).apply([user("m1")], held)


def test_a_forged_incarnation_is_fenced_out(world: World) -> None:
    one = first_term(world.ledger)
    forged = Authority(S, one.generation, "never given", one.agent_id)
    with world.refuses(FencedOut):
        Gate(world).apply([user("m1")], forged)
