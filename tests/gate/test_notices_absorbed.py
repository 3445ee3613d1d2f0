"""A notice goes with its message into the execution that absorbs it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gates import Gate, Message, S, first_term, next_term, user
from tenure import NOTICE, Authority, Ledger
from worlds import World

TOLD = (f"{NOTICE}\n- message m2: started and not finished",)
LIST: list[Message] = [user("m3"), user("m4")]


def given_to_m3(ledger: Ledger, gate: Gate) -> Authority:
    """Give a notice to ``m3``, which nobody started; ``q`` absorbs it then.

    A host without an authority at its gate starts by itself, later.
    """
    one = first_term(ledger)
    ledger.admit(one, "m2", "human")
    ledger.start(one, "m2")
    ledger.retire(one, "accepted")
    for key in ("m3", "m4"):
        ledger.accept(S, key, "inbox", human=True)
    two = next_term(ledger, "m5")
    assert gate.apply(LIST, None, acting="m3").notices == TOLD
    ledger.admit(two, "q", "assistant_run", absorbed=("m3", "m4"))
    return two


@pytest.mark.parametrize("acting", ["m3", "m4"])
def test_every_view_of_the_execution_carries_it_and_its_end_is_the_end_of_it(
    world: World, acting: str
) -> None:
    gate = Gate(world)
    two = given_to_m3(world.ledger, gate)
    for _ in range(2):
        assert gate.apply(LIST, two, acting=acting).notices == TOLD
    assert [one.key for one in world.ledger.pending_notices(S)] == ["q"]
    (row,) = world.ledger.rows("notices", S)
    assert row["delivered_to"] == "q"
    world.ledger.settle(two, "q", "completed")
    assert world.ledger.pending_notices(S) == []


ENDS: dict[str, Callable[[Ledger, Authority], object]] = {
    "fails": lambda on, by: on.settle(by, "q", "failed"),
    "ends with its term": lambda on, by: on.retire(by, "accepted"),
}


@pytest.mark.parametrize("end", ENDS)
def test_it_waits_again_where_the_execution_ends_otherwise(
    world: World, end: str
) -> None:
    gate = Gate(world)
    ledger = world.ledger
    two = given_to_m3(ledger, gate)
    ENDS[end](ledger, two)
    if end == "ends with its term":
        two = next_term(ledger, "m6")
    else:
        ledger.admit(two, "m6", "assistant_run")
    assert gate.apply([*LIST, user("m6")], two, acting="m6").notices == TOLD
