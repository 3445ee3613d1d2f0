"""What differs between two moments is what the tables say of both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from projected import Rows
from remembering import Memory, remember
from tenure import Difference, First, InvalidInput, OwnerRef
from tenure_ledger.rows import Column
from tenure_projections.tables import TABLES
from worlds import World

S, OTHER = OwnerRef("session", "ses_1"), OwnerRef("session", "ses_2")
SEEDS = (6, 11, 29, 51)
STEPS = 100
Row = tuple[Column, ...] | None


def plain(
    found: Iterator[Difference],
) -> list[tuple[str, tuple[Column, ...], Row, Row]]:
    """Return differences with rows as tuples."""
    return [
        (
            one.table,
            one.key,
            None if one.before is None else tuple(one.before.values()),
            None if one.after is None else tuple(one.after.values()),
        )
        for one in found
    ]


def expected(
    before: Rows, after: Rows
) -> list[tuple[str, tuple[Column, ...], Row, Row]]:
    """Compare two whole moments."""
    return [
        (name, key, before[name].get(key), after[name].get(key))
        for name in (table.spec.name for table in TABLES)
        for key in sorted({*before[name], *after[name]})
        if before[name].get(key) != after[name].get(key)
    ]


def pairs(memory: Memory) -> Iterator[tuple[int, int]]:
    """Yield neighbours, and some moments that lie further apart, in both directions."""
    positions = list(memory.moments)
    yield from pairwise(positions)
    random = Random(1)  # noqa: S311  a choice, not a secret
    for _ in range(20):
        yield random.choice(positions), random.choice(positions)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_diff_is_what_comparing_all_rows_of_both_moments_finds(
    world: World, seed: int
) -> None:
    memory = remember(world, seed, STEPS)
    told = 0
    for a, b in pairs(memory):
        rows = [memory.without_erased(memory.moments[at]) for at in (a, b)]
        found = plain(world.ledger.diff(a, b))
        assert found == expected(*rows)
        told += len(found)
    assert told > 100


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_a_diff_of_one_table_or_one_owner_is_a_part_of_the_whole(
    world: World, seed: int
) -> None:
    memory = remember(world, seed, STEPS)
    first, last = min(memory.moments), max(memory.moments)
    whole = list(world.ledger.diff(first, last))
    for table in TABLES:
        name = table.spec.name
        part = list(world.ledger.diff(first, last, name))
        assert part == [one for one in whole if one.table == name]
    for ref in memory.moments[last].views:
        part = list(world.ledger.diff(first, last, owner=ref))
        assert part == [one for one in whole if _owner(one) == ref]


def _owner(one: Difference) -> OwnerRef | None:
    (table,) = (table for table in TABLES if table.spec.name == one.table)
    row = one.after or one.before
    assert row is not None
    stream = table.stream(tuple(row.values()))
    return None if stream is None else OwnerRef.of_stream(stream)


def test_an_agent_that_moved_is_one_row_on_each_side(world: World) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "x", "host")
    a = ledger.head().position
    ledger.retire(one, "accepted")
    ledger.claim(OTHER, "x", "host")
    b = ledger.head().position
    found = list(ledger.diff(a, b, "recovery_owners"))
    assert [(one.key, _agent(one.before), _agent(one.after)) for one in found] == [
        (("session", "ses_1"), "x", None),
        (("session", "ses_2"), None, "x"),
    ]
    assert found[1].before is None
    backwards = list(ledger.diff(b, a, "recovery_owners"))
    assert backwards == [
        one._replace(before=one.after, after=one.before) for one in found
    ]


def _agent(row: dict[str, Column] | None) -> Column:
    return None if row is None else row["agent_id"]


def test_moments_are_given_as_positions_or_times(world: World) -> None:
    ledger = world.ledger
    one = ledger.claim(S, "x", "host", first=First("m1", "human"))
    before = world.now
    world.pass_seconds(5)
    ledger.start(one, "m1")
    head = ledger.head().position
    by_time = list(ledger.diff(before, world.now))
    assert by_time == list(ledger.diff(head - 1, head))
    # Within the first command means before it.
    assert list(ledger.diff(0, 1)) == []
    assert [each.after and each.after["status"] for each in by_time] == ["started"]
    assert list(ledger.diff(head, world.now)) == []


def test_what_is_no_moment_table_or_owner_is_refused_at_once(world: World) -> None:
    ledger = world.ledger
    with pytest.raises(InvalidInput, match="ends at position 0"):
        ledger.diff(0, 1)
    with pytest.raises(InvalidInput, match="recovery_owners"):
        ledger.diff(0, 0, "payloads")
    with pytest.raises(InvalidInput, match="OwnerRef"):
        ledger.diff(0, 0, owner="ses_1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
