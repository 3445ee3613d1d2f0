"""Every table at every moment of the past is what it was then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate

import pytest

from projected import Rows, stored_tables
from remembering import CHECKPOINTS, Memory, remember
from tenure import (
    Event,
    First,
    InvalidInput,
    OwnerRef,
    Past,
    RuntimeRestartReactionLoopState,
    StoreUnavailable,
)
from tenure_projections.tables import TABLES
from worlds import World

S, OTHER = OwnerRef("session", "ses_1"), OwnerRef("session", "ses_2")
SEEDS = (6, 11, *(pytest.param(seed, marks=pytest.mark.prove) for seed in (29, 51)))
"""Walks that get far: of a hundred steps a good third writes something."""
STEPS = 100


def rows_at(past: Past) -> Rows:
    """Return all rows of a moment, each table by key and in order."""
    found: Rows = {}
    for table in TABLES:
        keys = len(table.spec.key)
        rows = [tuple(row.values()) for row in past.rows(table.spec.name)]
        found[table.spec.name] = {row[:keys]: row for row in rows}
        assert len(found[table.spec.name]) == len(rows)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rows_of_every_table_are_those_that_were_there(
    world: World, seed: int
) -> None:
    memory = remember(world, seed, STEPS)
    assert len(memory.moments) > 25
    for position, moment in memory.moments.items():
        past = world.ledger.as_of(position)
        assert past.position == position
        then = rows_at(past)
        assert then == memory.without_erased(moment)
        for name, rows in then.items():
            stored = moment.rows[name]
            assert [*rows] == [*stored], "in the order of the table"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_position_within_a_command_is_the_moment_before_it(
    world: World, seed: int
) -> None:
    memory = remember(world, seed, STEPS)
    inside = memory.inside()
    assert len(inside) > 12
    for position, before in inside.items():
        assert world.ledger.as_of(position).position == before
        # Where a store leaves holes, nothing stands between it and the moment.
        moment = max(at for at in memory.moments if at <= before)
        assert list(world.store().events(moment, before)) == []


def owners_rows(
    memory: Memory, position: int, ref: OwnerRef, name: str
) -> list[object]:
    """Return the owner's rows of a table as they are remembered."""
    (table,) = (one for one in TABLES if one.spec.name == name)
    rows = memory.without_erased(memory.moments[position])[name]
    return [row for row in rows.values() if table.stream(row) == ref.stream]


@pytest.mark.parametrize("seed", SEEDS)
def test_one_owners_rows_and_view_are_those_of_then(world: World, seed: int) -> None:
    memory = remember(world, seed, STEPS)
    for position, moment in memory.moments.items():
        past = world.ledger.as_of(position)
        for ref, view in moment.views.items():
            assert past.owner(ref) == view
            for table in TABLES:
                name = table.spec.name
                rows = [tuple(row.values()) for row in past.rows(name, ref)]
                assert rows == owners_rows(memory, position, ref, name)
    nobody = OwnerRef("session", "nobody")
    assert world.ledger.as_of(0).owner(nobody).status == "absent"
    assert list(world.ledger.as_of(0).rows("recovery_owners", nobody)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_present_is_the_latest_past(world: World, seed: int) -> None:
    remember(world, seed, STEPS)
    past = world.ledger.as_of(world.ledger.head().position)
    assert rows_at(past) == stored_tables(world.store())
    for table in TABLES:
        name = table.spec.name
        assert list(past.rows(name)) == list(world.ledger.rows(name))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_time_means_what_no_younger_event_stands_before(
    world: World, seed: int
) -> None:
    memory = remember(world, seed, STEPS)
    for seconds in (7, -3600, 30, 7200):
        world.pass_seconds(seconds)
        world.ledger.claim(OwnerRef("job", f"{seconds}"), f"{seconds}", "host")
    positions = [one.position for one in world.ledger.events()]
    events = [one.event for one in world.ledger.events()]
    times = [one.recorded_at for one in events if isinstance(one, Event)]
    latest = list(accumulate(times, max))
    # Sometimes: an old event stands behind a young one.
    assert latest != times
    for time in {*times, *(at + timedelta(microseconds=1) for at in times)}:
        position = [0, *positions][sum(at <= time for at in latest)]
        past = world.ledger.as_of(time)
        assert past.position == position
        assert past.position not in memory.inside()


def test_a_time_counts_in_whatever_zone_it_is_given(world: World) -> None:
    world.ledger.accept(S, "m1", "inbox")
    here = world.now.astimezone(timezone(timedelta(hours=9)))
    assert world.ledger.as_of(here).position == world.ledger.head().position > 0
    assert world.ledger.as_of(here - timedelta(microseconds=1)).position == 0


def test_before_everything_there_was_nothing_and_a_time_to_come_is_now(
    world: World,
) -> None:
    for at in (0, world.now, datetime.max.replace(tzinfo=UTC)):
        assert world.ledger.as_of(at).position == 0
    one = world.ledger.claim(S, "a", "host", first=First("m1", "human"))
    empty = world.ledger.as_of(0)
    assert rows_at(empty) == {table.spec.name: {} for table in TABLES}
    assert empty.owner(S).status == "absent"
    past = world.ledger.as_of(world.now + timedelta(days=1))
    head = world.ledger.head().position
    assert past.position == head
    world.ledger.settle(one, "m1", "completed")
    # It is the present of that call, not of each read.
    assert past.position == head
    (row,) = past.rows("chat_executions")
    assert row["status"] == "admitted"


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (-1, "from 0"),
        (2**62, "ends at position"),
        (2**63, "from 0"),
        (True, "whole number"),
        (1.0, "a position or a datetime"),
        ("1", "a position or a datetime"),
        (None, "a position or a datetime"),
        (datetime(2026, 1, 1), "time zone"),  # noqa: DTZ001  that is the point
    ],
)
def test_what_is_no_moment_of_this_ledger_is_refused(
    world: World, at: int, told: str
) -> None:
    world.ledger.accept(S, "m1", "inbox")
    with pytest.raises(InvalidInput, match=told):
        world.ledger.as_of(at)


def test_a_table_or_an_owner_that_is_none_is_refused_at_once(world: World) -> None:
    past = world.ledger.as_of(0)
    with pytest.raises(InvalidInput, match="recovery_owners"):
        past.rows("payloads")
    with pytest.raises(InvalidInput, match="OwnerRef"):
        past.rows("notices", "ses_1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="OwnerRef"):
        past.owner("ses_1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_what_was_erased_since_is_not_there_in_the_past_either(world: World) -> None:
    one = world.ledger.claim(S, "a", "host")
    payload = RuntimeRestartReactionLoopState(consecutive_batches=2)
    world.ledger.save_checkpoint(one, payload)
    past = world.ledger.as_of(world.ledger.head().position)
    (row,) = past.rows(CHECKPOINTS)
    assert str(row["payload_json"]).startswith('{"')
    world.ledger.delete_conversation(S, "host")
    (row,) = past.rows(CHECKPOINTS)
    assert (row["payload_json"], row["agent_id"]) == (None, "a")


def test_an_import_counts_from_its_own_position(world: World) -> None:
    world.ledger.accept(S, "m1", "inbox")
    world.append_unknown(S, ignorable=True)
    world.append_unknown(S, ignorable=False)
    world.ledger.accept(OTHER, "m1", "inbox")
    moments = [0, *(one.position for one in world.ledger.events())]
    states = [list(world.ledger.as_of(at).rows("stream_states")) for at in moments]
    assert [len(rows) for rows in states] == [0, 0, 0, 1, 1]
    assert world.ledger.as_of(world.now).position == moments[-1]


def test_a_closed_ledger_has_no_past(world: World) -> None:
    past = world.ledger.as_of(0)
    world.ledger.close()
    with pytest.raises(StoreUnavailable):
        past.owner(S)
    with pytest.raises(StoreUnavailable):
        list(past.rows("notices"))
    with pytest.raises(StoreUnavailable):
        world.ledger.as_of(0)
