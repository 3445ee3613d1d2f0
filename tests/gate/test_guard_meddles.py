"""What happens to the session while its guard is being asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gates import Gate, S, count, next_term, relayed, said, texts, user, verdicts
from tenure import (
    Authority,
    Deleted,
    Interrupted,
    InterruptTarget,
    Ledger,
    NarrativeTransform,
    NothingToSay,
    OwnerEnded,
    Refused,
    TermRetired,
)
from tenure_ledger import events as e
from worlds import World

LIST = [user("m1"), said("A is done."), user("ghost"), user("m2")]


class Meddling:
    """A guard that does something else before it answers."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        self.meddle = meddle
        self.asked = 0

    def interrupt(self, target: InterruptTarget) -> Interrupted:
        """Do it, then say that the leftover was stopped."""
        assert target.key.physical_user_message_id == "ghost"
        self.asked += 1
        self.meddle()
        return Interrupted()


def refused(
    kind: type[Refused], ledger: Ledger, held: Authority, meddle: Callable[[], object]
) -> None:
    """Apply for the second term, whose guard meddles; no view may leave."""
    guard = Meddling(meddle)
    with pytest.raises(kind):
        NarrativeTransform(ledger, guard).apply(S, LIST, authority=held, acting="m2")
    assert guard.asked == 1
    known = ledger.fresh_state(S).executions.by_key["m2"]
    assert not known.started


def test_a_term_that_turns_meanwhile_gets_no_view_and_the_next_asks_nobody_again(
    world: World,
) -> None:
    ledger = world.ledger
    _, two = relayed(ledger)
    given: list[Authority] = []

    def turn() -> None:
        ledger.settle(two, "m2", "completed")
        ledger.retire(two, "continue")
        given.append(next_term(ledger, "m3", 3))

    refused(TermRetired, ledger, two, turn)
    assert count(ledger, e.InterruptSettled) == 1
    gate = Gate(world.open("p2"))
    view = gate.apply([*LIST, user("m3")], given[0], acting="m3")
    assert verdicts(view)["ghost"] == "stale_unadmitted"
    assert gate.host.asked == []


def test_a_session_that_ends_meanwhile_gets_no_view(world: World) -> None:
    ledger = world.ledger
    _, two = relayed(ledger)
    refused(OwnerEnded, ledger, two, lambda: ledger.terminate(two, "closed", "bye"))
    with pytest.raises(NothingToSay) as nothing:
        Gate(world).apply(LIST, None, acting="m2")
    assert nothing.value.reason == "no_holding"


def test_a_conversation_that_is_deleted_meanwhile_gets_no_view(world: World) -> None:
    ledger = world.ledger
    _, two = relayed(ledger)
    refused(Deleted, ledger, two, lambda: ledger.delete_conversation(S, "Ana"))


def test_a_guard_that_asks_the_gate_itself_settles_once(world: World) -> None:
    ledger = world.ledger
    _, two = relayed(ledger)
    inner = Gate(world.open("p2"))
    guard = Meddling(lambda: inner.apply(LIST, two, acting="m2"))
    gate = NarrativeTransform(ledger, guard)
    view = gate.apply(S, LIST, authority=two, acting="m2")
    assert texts(view)[-1] == "text of m2"
    assert (guard.asked, len(inner.host.asked)) == (1, 1)
    assert count(ledger, e.StaleRequestStripped) == 1
    assert count(ledger, e.InterruptSettled) == 1
    assert count(ledger, e.ExecutionStarted) == 2
