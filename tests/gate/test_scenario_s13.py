"""S13: the stop for the old turn kills the new one nine milliseconds after it starts.

Right: an interrupt names its target, so a newer generation refuses it, the retry too.
"""

from __future__ import annotations

import pytest

from gates import Gate, S, count, first_term, next_term, relayed, texts, user, verdicts
from stages import Stage
from tenure import (
    Authority,
    GuardRejected,
    InterruptTarget,
    NarrativeTransform,
    OwnerRef,
    RelayGateFailure,
    SessionWideGuard,
)
from tenure_ledger import events as e
from worlds import World

LIST = [user("m1"), user("retry"), user("m2")]


def outcomes(world: World) -> list[str]:
    return [
        one.event.outcome
        for one in world.ledger.history(S)
        if isinstance(one.event, e.InterruptSettled)
    ]


def test_s13_the_interrupt_names_one_execution_of_the_ended_holding(
    world: World,
) -> None:
    one, two = relayed(world.ledger, leaves=["retry"])
    gate = Gate(world)
    gate.apply(LIST, two)
    (target,) = gate.host.asked
    assert target.owner == S
    assert target.key.session_id == "ses_1"
    assert target.key.physical_user_message_id == "retry"
    assert target.ended is not None
    assert (target.ended.generation, target.ended.incarnation) == (1, one.incarnation)
    assert target.ended.agent_id == one.agent_id
    assert (target.live.generation, target.live.incarnation) == (2, two.incarnation)
    assert target.live.agent_id == two.agent_id


def test_s13_of_what_nobody_admitted_no_ended_holding_is_named(world: World) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    gate.apply(LIST, two)
    (target,) = gate.host.asked
    assert target.ended is None
    assert target.live.incarnation == two.incarnation


def test_s13_step_4_the_old_turn_stops_and_the_new_one_runs_on(world: World) -> None:
    stage = Stage()
    one = first_term(world.ledger)
    world.ledger.admit(one, "retry", "assistant_run")
    stage.run(one, "retry")
    world.ledger.retire(one, "continue", "go on")
    two = next_term(world.ledger, "m2")
    stage.run(two, "m2")
    gate = NarrativeTransform(world.ledger, stage)
    for _ in range(2):
        view = gate.apply(S, LIST, authority=two)
        assert verdicts(view)["retry"] == "stale_admitted"
    assert stage.stopped == ["retry"]
    assert list(stage.running) == ["m2"]
    assert outcomes(world) == ["interrupted"]


def test_s13_a_target_that_the_new_term_runs_again_is_refused_both_times(
    world: World,
) -> None:
    """The host took the id up anew; the ledger knows, and so does the guard."""
    stage = Stage()
    one = first_term(world.ledger)
    world.ledger.admit(one, "retry", "assistant_run")
    world.ledger.retire(one, "continue", "go on")
    two = next_term(world.ledger, "m2")
    stage.run(two, "retry")
    NarrativeTransform(world.ledger, stage).apply(S, LIST, authority=two)
    assert stage.stopped == []
    assert list(stage.running) == ["retry"]
    assert outcomes(world) == ["different_generation_active"]


def test_s13_step_4_the_interrupt_is_late_and_its_retry_later_still(
    world: World,
) -> None:
    """The first delivery is lost; a third term has begun when the retry arrives."""
    stage = Stage()
    one, two = relayed(world.ledger, leaves=["retry"])
    lost = Gate(world, TimeoutError("nobody answered"))
    with pytest.raises(RelayGateFailure):
        lost.apply(LIST, two)
    stage.run(two, "m2")
    world.ledger.start(two, "m2")
    world.ledger.retire(two, "continue", "go on")
    three = next_term(world.ledger, "m3", 3)
    stage.run(three, "m3")
    seen = Gate(world, TimeoutError("nobody answered"))
    with pytest.raises(RelayGateFailure):
        seen.apply([*LIST, user("m3")], three)
    view = NarrativeTransform(world.ledger, stage).apply(
        S, [*LIST, user("m3")], authority=three
    )
    assert texts(view)[-1] == "text of m3"
    (first,), (again,) = lost.host.asked, seen.host.asked
    assert first.interrupt_id == again.interrupt_id
    assert first.key == again.key
    assert (first.ended, again.ended) == (first.ended, first.ended)
    assert first.ended is not None
    assert first.ended.incarnation == one.incarnation
    assert again.live.incarnation == three.incarnation
    assert stage.refused == ["no_active_execution"]
    assert {"m2", "m3"} <= stage.running.keys()
    assert outcomes(world) == ["no_active_execution"]
    assert count(world.ledger, e.StaleRequestStripped) == 1


def test_s13_a_host_that_knows_whole_sessions_only_is_never_called(
    world: World,
) -> None:
    aborted: list[OwnerRef] = []
    guard = SessionWideGuard(aborted.append)
    _, two = relayed(world.ledger, leaves=["retry"])
    gate = NarrativeTransform(world.ledger, guard)
    for held in (two, world.ledger.advance(two, "lease_renewal", lease_seconds=9)):
        view = gate.apply(S, [*LIST[:2], user("ghost"), LIST[2]], authority=held)
        assert texts(view)[-1] == "text of m2"
    assert aborted == []
    assert outcomes(world) == ["different_generation_active"] * 2


def test_s13_nothing_is_interrupted_before_there_is_a_successor_to_protect(
    world: World,
) -> None:
    one = first_term(world.ledger)
    world.ledger.admit(one, "retry", "assistant_run")
    gate = Gate(world)
    world.ledger.retire(one, "continue", "go on")
    gate.nothing(LIST, None)
    assert gate.host.asked == []
    assert count(world.ledger, e.StaleRequestStripped) == 0
    two = next_term(world.ledger, "m2")
    gate.apply(LIST, two)
    assert gate.host.keys == ["retry"]


def test_s13_what_the_new_term_admits_while_the_host_is_asked_is_not_touched(
    world: World,
) -> None:
    """Its own next request arrives in the middle of the clean-up of the old one."""
    _, two = relayed(world.ledger, leaves=["retry"])

    class Meanwhile:
        def __init__(self, held: Authority) -> None:
            self.held = held
            self.asked: list[str] = []

        def interrupt(self, target: InterruptTarget) -> GuardRejected:
            self.asked.append(target.key.physical_user_message_id)
            world.ledger.admit(self.held, "m3", "assistant_run")
            world.ledger.start(self.held, "m3")
            return GuardRejected("no_active_execution")

    guard = Meanwhile(two)
    gate = NarrativeTransform(world.ledger, guard)
    assert texts(gate.apply(S, LIST, authority=two))[-1] == "text of m2"
    view = gate.apply(S, [*LIST, user("m3")], authority=two)
    assert verdicts(view)["m3"] == "successor"
    # Both are at work; the gate started m2 last, so it is what this call serves.
    assert texts(view)[-2:] == ["text of m3", "text of m2"]
    assert guard.asked == ["retry"]
