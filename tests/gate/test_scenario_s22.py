"""S22, steps 1 to 3: a re-seated supervisor reaches the children of its predecessor.

Right: parentage follows the session, not the dead term; the gate of each child judges
by the child's own stream.
"""

from __future__ import annotations

import pytest

from gates import Gate, S, count, first_term, next_term, said, texts, user, verdicts
from tenure import Authority, FencedOut, Ledger, OwnerRef, TermRetired
from tenure_ledger import events as e
from worlds import World

C1 = OwnerRef("subagent", "c1")
C2 = OwnerRef("subagent", "c2")
D = OwnerRef("subagent", "d")
# Every owner numbers its messages in the same way.
LIST = [user("m1"), said("so far"), user("m2")]


class Family:
    """A session with two children and a grandchild, each at work on its ``m1``."""

    def __init__(self, ledger: Ledger) -> None:
        self.one = first_term(ledger)
        self.held: dict[OwnerRef, Authority] = {}
        for parent, child in ((S, C1), (S, C2), (C1, D)):
            above = self.held.get(parent, self.one)
            held = ledger.spawn(above, child, f"{child}/1", author="host")
            ledger.admit(held, "m1", "assistant_run")
            ledger.start(held, "m1")
            self.held[child] = held
        ledger.retire(self.one, "accepted")
        self.two = next_term(ledger, "m2")


@pytest.mark.parametrize("child", [C1, C2, D])
def test_s22_step_3_a_child_goes_on_over_the_cut_of_its_parent(
    world: World, child: OwnerRef
) -> None:
    family = Family(world.ledger)
    gate = Gate(world, owner=child)
    view = gate.apply(LIST[:2], family.held[child])
    assert verdicts(view) == {"m1": "current"}
    assert texts(view) == ["text of m1", "so far"]
    world.ledger.settle(family.held[child], "m1", "completed")
    assert gate.host.asked == []


@pytest.mark.parametrize("child", [C1, C2, D])
def test_s22_step_3_the_new_supervisor_asks_a_child_and_gets_an_answer(
    world: World, child: OwnerRef
) -> None:
    ledger = world.ledger
    family = Family(ledger)
    assert ledger.owner(child).parent == (C1 if child == D else S)
    ledger.settle(family.held[child], "m1", "completed")
    ledger.accept(child, "m2", family.two.agent_id or "", digest="d1")
    gate = Gate(world, owner=child)
    view = gate.apply(LIST, family.held[child])
    assert verdicts(view) == {"m1": "current", "m2": "current"}
    assert view.acting == "m2"
    ledger.settle(family.held[child], "m2", "completed")
    # And back: the child reports to whoever holds the session now.
    ledger.accept(S, f"report of {child}", str(child))
    messages = [user("m1"), user("m2"), user(f"report of {child}")]
    seat = Gate(world)
    view = seat.apply(messages, family.two, acting=f"report of {child}")
    assert texts(view)[-1] == f"text of report of {child}"
    assert seat.host.asked == []


def test_s22_the_sessions_leftovers_are_stripped_and_the_childrens_are_not(
    world: World,
) -> None:
    """The same ids: the child's own stream knows nothing of its parent's cut."""
    ledger = world.ledger
    family = Family(ledger)
    seat = Gate(world)
    seat.apply([user("m1"), user("m3"), user("m2")], family.two)
    assert seat.host.keys == ["m3"]
    child = Gate(world, owner=C1)
    nothing = child.nothing([user("m1"), user("m3")], family.held[C1], acting="m3")
    assert verdicts(nothing.view) == {"m1": "current", "m3": "not_admitted"}
    assert child.host.asked == []
    assert count(ledger, e.StaleRequestStripped, C1) == 0


def test_s22_a_cut_of_a_childs_own_term_is_judged_like_any_other(
    world: World,
) -> None:
    ledger = world.ledger
    family = Family(ledger)
    held = family.held[C1]
    ledger.admit(held, "probe", "tool_probe")
    ledger.retire(held, "continue", "half of it is done")
    again = next_term(ledger, "m2", 2, C1)
    gate = Gate(world, owner=C1)
    messages = [*LIST[:2], user("probe"), user("ghost"), LIST[2]]
    with world.refuses(TermRetired):
        gate.apply(messages, held)
    view = gate.apply(messages, again)
    assert verdicts(view) == {
        "m1": "history",
        "probe": "stale_admitted",
        "ghost": "stale_unadmitted",
        "m2": "successor",
    }
    (target, _) = gate.host.asked
    assert target.owner == C1
    assert target.key.session_id == "c1"
    assert texts(view)[-1] == "text of m2"
    # D goes on: its parent is the owner C1, not the agent that left.
    grandchild = Gate(world, owner=D)
    assert texts(grandchild.apply(LIST[:1], family.held[D])) == ["text of m1"]


def test_s22_a_childs_authority_opens_no_other_ones_gate(world: World) -> None:
    family = Family(world.ledger)
    own = family.held[C1]
    forged = Authority(C2, own.generation, own.incarnation, own.agent_id)
    with world.refuses(FencedOut):
        Gate(world, owner=C2).apply(LIST[:1], forged)
