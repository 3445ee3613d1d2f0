"""What the walks of `test_properties_machine` found, each as the shortest story."""

from __future__ import annotations

import pytest

from tenure import (
    Authority,
    ChatExecutionKey,
    Evidence,
    Execution,
    First,
    InvalidInput,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
)
from tenure_ledger import events as e
from worlds import World

SESSION = OwnerRef("session", "ses_1")
HELPER, BROWSER = OwnerRef("subagent", "h1"), OwnerRef("browser", "b1")
LOOP = RuntimeRestartReactionLoopState(consecutive_batches=1)


def claim(ledger: Ledger) -> Authority:
    return ledger.claim(SESSION, "a1", "host")


def restart(ledger: Ledger) -> Authority:
    """The same agent goes on in a new run."""
    return ledger.take_over(SESSION, "a1", "host", Evidence.gone(ledger.owner(SESSION)))


def known(ledger: Ledger, key: str, owner: OwnerRef = SESSION) -> Execution:
    at = ChatExecutionKey(owner.owner_id, key)
    found = ledger.execution(at, owner.recovery_class)
    assert found is not None
    return found


def listed(ledger: Ledger) -> list[str | None]:
    """Return the messages that a notice says nobody finished."""
    notices = ledger.pending_notices(SESSION)
    return [fact.key for one in notices for fact in one.facts]


def test_an_absorption_by_what_was_only_admitted_ends_with_its_term(
    world: World,
) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.accept(SESSION, "m1", "router")
    ledger.admit(one, "probe", "tool_probe", absorbed=["m1"])
    ledger.retire(one, "continue")
    ledger.accept(SESSION, "probe", "router")
    two = ledger.succeed(SESSION, "a2", "host")
    ledger.start(two, "probe")
    assert not known(ledger, "m1").started
    ledger.start(two, "m1")
    assert known(ledger, "m1").absorbed_by is None


def test_what_a_thing_only_admitted_ends_with_its_holding(world: World) -> None:
    ledger = world.ledger
    one = claim(ledger)
    thing = ledger.spawn(one, BROWSER, author="host")
    ledger.admit(thing, "probe", "tool_probe")
    ledger.retire(one, "continue")
    ledger.bar_replay(BROWSER, "user_cancelled", "a person")
    assert known(ledger, "probe", BROWSER).outcome is None


def test_a_snapshot_of_an_absorbed_message_is_not_resumed_after_output(
    world: World,
) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.admit(one, "m1", "human", absorbed=["m2"])
    ledger.start(one, "m1")
    ledger.save_checkpoint(one, LOOP, keys=["m2"])
    ledger.mark_output_started(one, "m1")
    restart(ledger)
    assert ledger.owner(SESSION).checkpoint is None
    assert known(ledger, "m2").outcome == "closed_in_recovery"


def test_a_forbidden_snapshot_closes_all_that_it_names(world: World) -> None:
    ledger = world.ledger
    one = claim(ledger)
    for key in ("m1", "m2"):
        ledger.admit(one, key, "human")
        ledger.start(one, key)
    ledger.save_checkpoint(one, LOOP)
    ledger.mark_output_started(one, "m1")
    restart(ledger)
    outcomes = [known(ledger, key).outcome for key in ("m1", "m2")]
    assert outcomes == ["closed_in_recovery", "closed_in_recovery"]


def test_naming_an_absorbed_message_as_finished_finishes_the_execution(
    world: World,
) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.admit(one, "m1", "human", absorbed=["m2"])
    ledger.start(one, "m1")
    ledger.retire(one, "continue", finishes=["m2"])
    outcomes = [known(ledger, key).outcome for key in ("m1", "m2")]
    assert outcomes == ["completed", "completed"]
    assert listed(ledger) == []


@pytest.mark.parametrize("started_before", [True, False])
def test_a_cancelled_message_is_not_listed_as_unfinished_by_way_of_a_merge(
    world: World, *, started_before: bool
) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.accept(SESSION, "m2", "router", human=True)
    ledger.admit(one, "m1", "human", absorbed=["m2"])
    if started_before:
        ledger.start(one, "m1")
    ledger.bar_replay(SESSION, "user_cancelled", "a person", ["m2"])
    ledger.start(one, "m1")
    ledger.retire(one, "continue")
    assert listed(ledger) == ["m1"]


def test_a_message_whose_output_started_is_not_carried_over(world: World) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.admit(one, "m1", "human")
    ledger.mark_output_started(one, "m1")
    ledger.retire(one, "continue")
    ledger.succeed(SESSION, "a2", "host")
    assert known(ledger, "m1").outcome == "retired"
    assert ledger.owner(SESSION).waiting == ()


def test_a_bar_said_again_in_the_next_term_covers_its_snapshot(world: World) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.bar_replay(SESSION, "model_switch", "a person")
    ledger.retire(one, "continue")
    two = ledger.succeed(SESSION, "a1", "host")
    ledger.bar_replay(SESSION, "model_switch", "a person")
    ledger.save_checkpoint(two, LOOP, keys=[])
    restart(ledger)
    assert ledger.owner(SESSION).checkpoint is None


def test_what_was_taken_in_by_way_of_another_is_settled_with_the_first(
    world: World,
) -> None:
    ledger = world.ledger
    one = ledger.claim(SESSION, "a1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    for key, into in (("m2", "m1"), ("m3", "m2")):
        ledger.admit(one, key, "human")
        ledger.start(one, key, into)
    ledger.settle(one, "m1", "completed")
    assert [known(ledger, key).outcome for key in ("m2", "m3")] == ["completed"] * 2


def test_what_was_taken_into_a_taken_one_is_settled_with_that_one(
    world: World,
) -> None:
    ledger = world.ledger
    one = ledger.claim(SESSION, "a1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    for key, into in (("m2", "m1"), ("m3", "m2")):
        ledger.admit(one, key, "human")
        ledger.start(one, key, into)
    ledger.settle(one, "m2", "failed")
    assert known(ledger, "m3").outcome == "failed"
    assert known(ledger, "m1").outcome is None


def test_a_bar_does_not_cover_what_is_admitted_after_it_by_a_later_term(
    world: World,
) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.admit(one, "probe", "tool_probe")
    ledger.retire(one, "continue")
    two = ledger.succeed(SESSION, "a2", "host")
    ledger.bar_replay(SESSION, "user_cancelled", "a person")
    ledger.admit(two, "probe", "tool_probe")
    ledger.intend_tool_call(two, "probe", "c1", "read", {})  # not refused: not covered
    ledger.bar_replay(SESSION, "user_cancelled", "a person")
    assert known(ledger, "probe").outcome == "cancelled"


def test_a_sub_agent_is_not_taken_over_without_an_agent(world: World) -> None:
    ledger = world.ledger
    ledger.spawn(claim(ledger), HELPER, "h/1", author="host")
    evidence = Evidence.gone(ledger.owner(HELPER))
    with world.refuses(InvalidInput):
        ledger.take_over(HELPER, None, "host", evidence)


def test_a_cut_that_two_writers_stored_is_one_cut(world: World) -> None:
    ledger = world.ledger
    ledger.retire(claim(ledger), "continue")
    cut = next(
        one.event
        for one in ledger.history(SESSION)
        if isinstance(one.event, e.RetirementCut)
    )
    assert cut.fenced
    world.append(SESSION, cut.model_copy(update={"event_id": ""}))
    assert world.open("p2").owner(SESSION).status == "cut"
    ledger.succeed(SESSION, "a2", "host")


def test_a_spawn_that_two_writers_stored_is_one_child(world: World) -> None:
    ledger = world.ledger
    one = claim(ledger)
    ledger.spawn(one, HELPER, "h/1", author="host")
    spawned = next(
        event.event
        for event in ledger.history(SESSION)
        if isinstance(event.event, e.ChildSpawned)
    )
    ledger.retire(one, "continue")
    world.append(SESSION, spawned.model_copy(update={"event_id": ""}))
    seen = world.open("p2").owner(SESSION)
    assert (seen.status, seen.children) == ("cut", (HELPER,))
