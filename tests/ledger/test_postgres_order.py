"""In one stream positions rise with the versions, whoever wrote in between."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

import schemas
from stored import OWNERS, append, append_next, count, event
from tenure import InvalidInput
from tenure_ledger.rows import Conflict
from tenure_ledger.stores.postgres import PostgresStore
from tenure_ledger.stores.postgres_pending import ORDINALS_MAX


@pytest.fixture
def stores() -> Iterator[list[PostgresStore]]:
    url = schemas.lend([OWNERS])
    stores = [PostgresStore(url, tables=[OWNERS]) for _ in range(2)]
    yield stores
    for store in stores:
        store.close()
    schemas.give_back(url)


def test_who_has_its_place_already_takes_none_behind_a_later_one(
    stores: list[PostgresStore],
) -> None:
    """A unit of several commands that has sent the first, and reads for the second."""
    one, two = stores
    append(one, event("b", 1))
    with one.write(10.0) as unit:
        # Asked for its position, the unit has its transaction id.
        (place,) = unit.add([event("a", 1)], None)
        (later,) = append(two, event("b", 2))
        assert place < later
        assert unit.head("b") == (2, event("b", 2).hash)
        # It does not fit in the order of positions: to be decided again, behind it.
        with pytest.raises(Conflict):
            unit.add([event("b", 3)], None)
    assert append_next(one, "b") == 3
    rows = [(row.position, row.version) for row in two.tail("b", 1)]
    assert [version for _, version in rows] == [1, 2, 3]
    assert all(early < late for (early, _), (late, _) in pairwise(rows))
    assert two.tail("a", 1) == []


def test_what_lies_in_front_of_its_place_is_built_on(
    stores: list[PostgresStore],
) -> None:
    one, two = stores
    append(two, event("b", 1))
    with one.write(10.0) as unit:
        place, _ = unit.add([event("a", 1), event("a", 2)], None)
        assert unit.head("b") == (1, event("b", 1).hash)
        (behind,) = unit.add([event("b", 2)], None)
        unit.add([event("b", 3)], None)
        unit.commit()
    assert place < behind
    assert [row.version for row in two.tail("b", 1)] == [1, 2, 3]


def test_as_many_events_as_have_a_place_are_one_unit_and_one_more_is_told_at_once(
    stores: list[PostgresStore],
) -> None:
    store, _ = stores
    many = [event(f"s{nth}", 1) for nth in range(ORDINALS_MAX)]
    more = event("more", 1)
    with store.write(10.0) as unit:
        unit.add(many, None)
        with pytest.raises(InvalidInput, match=r"number 65537; nothing was written"):
            unit.add([more], None)
        with pytest.raises(InvalidInput):
            unit.commit()
    assert store.head_position() == 0
    with store.write(120.0) as unit:
        found = list(unit.add(many, None))
        unit.commit()
    assert found == list(range(found[0], found[0] + ORDINALS_MAX))
    assert append(store, more)[0] > found[-1]
    assert count(store) == ORDINALS_MAX + 1
