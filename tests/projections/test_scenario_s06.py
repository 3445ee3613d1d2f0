"""S6 for the tables: two writers persisted the same decision; a rebuild finishes."""

from __future__ import annotations

import pytest

from projected import right_tables, stored_tables
from tenure import Event, Evidence, First, OwnerRef, Quarantined
from tenure_ledger.events import ExecutionAdmitted, GenerationAdvanced
from tenure_ledger.rows import Column
from worlds import World

S, OTHER = OwnerRef("session", "ses_1"), OwnerRef("session", "ses_2")


def takeover(agent_id: str) -> GenerationAdvanced:
    return GenerationAdvanced(
        author="import", generation=2, reason="takeover", agent_id=agent_id
    )


def admitted(digest: str) -> ExecutionAdmitted:
    return ExecutionAdmitted(
        author="import", generation=1, key="m1", origin="human", content_digest=digest
    )


TAKEOVERS = (takeover("c"), takeover("d"))
ADMISSIONS = (admitted("d1"), admitted("d2"))


def prepare(world: World, *events: Event) -> list[int]:
    """Import events to a live session beside another; return their versions."""
    world.ledger.claim(S, "a", "host")
    world.ledger.claim(OTHER, "b", "host")
    before = len(world.ledger.history(S))
    world.append(S, *events)
    return [before + number for number, _ in enumerate(events, 1)]


def differing(world: World) -> dict[str, int]:
    found = world.ledger.rebuild()
    return {one.table: one.differing for one in found if one.differing}


def shown(world: World, table: str, *columns: str) -> list[tuple[Column, ...]]:
    rows = world.ledger.rows(table)
    return [tuple(row[column] for column in columns) for row in rows]


@pytest.mark.parametrize("events", [TAKEOVERS, ADMISSIONS], ids=["takeover", "admit"])
def test_s6_step_2_a_rebuild_finishes_and_shows_the_stream_with_both_positions(
    world: World, events: tuple[Event, Event]
) -> None:
    earlier, later = prepare(world, *events)
    found = world.ledger.rebuild(check=True)
    assert sum(one.differing for one in found) > 0
    differing(world)
    assert shown(
        world, "stream_states", "stream", "state", "version", "against_version"
    ) == [(S.stream, "quarantined", later, earlier)]
    assert world.ledger.owner(S).positions == (earlier, later)
    assert stored_tables(world.store()) == right_tables(world.store())
    assert differing(world) == {}


def test_s6_step_2_an_identical_duplicate_makes_one_row_and_no_quarantine(
    world: World,
) -> None:
    prepare(world, admitted("d1"), admitted("d1"))
    assert differing(world) == {"chat_executions": 1, "recovery_owners": 1}
    assert shown(world, "stream_states", "stream") == []
    assert shown(world, "chat_executions", "physical_user_message_id") == [("m1",)]


def test_s6_step_3_other_sessions_go_on_and_no_rebuild_takes_that_for_a_difference(
    world: World,
) -> None:
    prepare(world, *TAKEOVERS)
    differing(world)
    ledger = world.ledger
    two = ledger.take_over(OTHER, "b", "host", Evidence.gone(ledger.owner(OTHER)))
    ledger.admit(two, "m1", "human")
    ledger.claim(OwnerRef("session", "ses_3"), "e", "host", first=First("m1", "human"))
    with pytest.raises(Quarantined):
        ledger.claim(S, "f", "host")
    ledger.accept(S, "m9", "inbox")
    assert differing(world) == {}
    assert ("ses_1", "m9") in shown(
        world, "chat_executions", "session_id", "physical_user_message_id"
    )


@pytest.mark.parametrize("keep_later", [False, True])
@pytest.mark.parametrize("rebuilt", [False, True])
def test_s6_the_rows_are_those_of_the_history_that_a_person_chose(
    world: World, *, keep_later: bool, rebuilt: bool
) -> None:
    earlier, later = prepare(world, *TAKEOVERS)
    ledger = world.ledger
    if rebuilt:
        differing(world)
    ledger.accept(S, "m9", "inbox")
    ledger.resolve_quarantine(S, later if keep_later else earlier, "ops")
    assert shown(world, "recovery_owners", "owner_id", "generation", "agent_id") == [
        ("ses_1", 2, "d" if keep_later else "c"),
        ("ses_2", 1, "b"),
    ]
    assert shown(world, "stream_states", "stream") == []
    assert differing(world) == {}
    assert stored_tables(world.store()) == right_tables(world.store())


def test_s6_the_past_shows_the_contradiction_and_its_end(world: World) -> None:
    earlier, _later = prepare(world, *TAKEOVERS)
    between = world.ledger.head().position
    world.ledger.resolve_quarantine(S, earlier, "ops")
    after = world.ledger.head().position
    states = [
        [row["state"] for row in world.ledger.as_of(at).rows("stream_states")]
        for at in (between - 1, between, after)
    ]
    assert states == [[], ["quarantined"], []]
    assert world.ledger.as_of(between).owner(S).status == "quarantined"
    assert world.ledger.as_of(after).owner(S).agent_id == "c"
