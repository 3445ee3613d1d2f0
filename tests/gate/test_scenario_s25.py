"""S25: ordering by ids made from clocks.

Right: the ledger's versions and admissions decide, never the order of ids or the place
in the list.
"""

from __future__ import annotations

import itertools

import pytest

from gates import Gate, S, first_term, next_term, said, texts, user, verdicts
from tenure import First, KeyReused, OwnerRef
from worlds import World

PAIRS = [
    ("aaa", "zzz"),
    ("zzz", "aaa"),
    ("msg_0", "msg_9"),
    ("msg_10", "msg_9"),
    ("01890a5d-ac96-774b-bcce-b302099a8057", "fff"),
    ("018f3e00-0000-7000-8000-000000000000", "018f3dff-ffff-7fff-bfff-ffffffffffff"),
    ("é", "e\u0301"),
    ("\U0001f600", "A"),
]
"""The successor's first message, and the leftover."""


@pytest.mark.parametrize(("first", "leftover"), PAIRS)
def test_s25_steps_1_and_2_the_admitted_one_passes_whatever_its_id_looks_like(
    world: World, first: str, leftover: str
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.retire(one, "continue", None)
    two = next_term(ledger, first)
    for messages in itertools.permutations([user("m1"), user(leftover), user(first)]):
        if messages.index(user(leftover)) < messages.index(user("m1")):
            continue  # an unknown one before the boundary is the past
        gate = Gate(world)
        view = gate.apply(messages, two)
        assert verdicts(view) == {
            "m1": "history",
            leftover: "stale_unadmitted",
            first: "successor",
        }
        assert f"text of {leftover}" not in texts(view)


@pytest.mark.parametrize(("first", "leftover"), PAIRS)
def test_s25_an_admission_before_the_cut_is_no_better_for_its_id_or_place(
    world: World, first: str, leftover: str
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, leftover, "assistant_run")
    ledger.retire(one, "continue", None)
    two = next_term(ledger, first)
    for messages in itertools.permutations([user("m1"), user(leftover), user(first)]):
        view = Gate(world).apply(messages, two)
        assert verdicts(view)[leftover] == "stale_admitted"
        assert verdicts(view)[first] == "successor"


def test_s25_clocks_decide_nothing(world: World) -> None:
    """The successor's process lives an hour behind the one that left."""
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "probe", "tool_probe")
    ledger.retire(one, "continue", None)
    world.pass_seconds(-3600)
    two = next_term(ledger, "m2")
    world.pass_seconds(7200)
    view = Gate(world).apply([user("m1"), user("probe"), user("m2")], two)
    assert verdicts(view)["probe"] == "stale_admitted"
    assert verdicts(view)["m2"] == "successor"


def test_s25_step_3_the_same_id_with_the_same_content_is_a_duplicate(
    world: World,
) -> None:
    one = first_term(world.ledger)
    world.ledger.admit(one, "m2", "human")
    messages = [user("m1"), user("m2"), said("so far"), user("m2")]
    gate = Gate(world)
    view = gate.apply(messages, one)
    assert texts(view) == ["text of m1", "text of m2", "so far"]
    assert [one.key for one in view.verdicts] == ["m1", "m2"]


def test_s25_step_3_a_stripped_one_is_stripped_once_however_often_it_stands_there(
    world: World,
) -> None:
    one = first_term(world.ledger)
    world.ledger.retire(one, "continue", None)
    two = next_term(world.ledger, "m2")
    gate = Gate(world)
    view = gate.apply([user("m1"), user("g"), user("m2"), user("g")], two)
    assert view.stripped == ("g",)
    assert gate.host.keys == ["g"]
    assert texts(view) == ["text of m1", "text of m2"]


def test_s25_step_3_the_same_id_with_other_content_is_refused(world: World) -> None:
    one = first_term(world.ledger)
    gate = Gate(world)
    messages = [user("m1"), user("m1", "something else"), user("ghost")]
    for authority in (one, None):
        with world.refuses(KeyReused) as refused:
            gate.apply(messages, authority)
        assert refused.value.evidence["key"] == "m1"
        assert refused.value.evidence["indices"] == (0, 1)


def test_s25_step_3_the_same_id_in_two_sessions_is_two_keys(world: World) -> None:
    ledger = world.ledger
    other = OwnerRef("session", "ses_2")
    one = first_term(ledger)
    ledger.retire(one, "continue", None)
    two = next_term(ledger, "m2")
    held = ledger.claim(other, "other/1", "host", first=First("g", "human"))
    messages = [user("m1"), user("g"), user("m2")]
    gate, beside = Gate(world), Gate(world, owner=other)
    assert verdicts(gate.apply(messages, two))["g"] == "stale_unadmitted"
    assert texts(beside.apply([user("g")], held)) == ["text of g"]
    assert verdicts(gate.apply(messages, two))["g"] == "stale_unadmitted"
    assert beside.host.asked == []
    assert world.ledger.owner(S).version != world.ledger.owner(other).version
