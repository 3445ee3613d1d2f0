"""Who waits in line for one stream rests on no memory of another (section 6)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import schemas
from stored import OWNERS, append, event
from tenure_ledger.rows import Conflict
from tenure_ledger.stores.postgres import PostgresStore
from tenure_ledger.stores.postgres_seen import Head

BUSY, CALM = "busy", "calm"


@pytest.fixture
def stores() -> Iterator[list[PostgresStore]]:
    """Give the stores of two processes on one schema."""
    url = schemas.lend([OWNERS])
    stores = [PostgresStore(url, tables=[OWNERS]) for _ in range(2)]
    yield stores
    for store in stores:
        store.close()
    schemas.give_back(url)


def look(store: PostgresStore, *streams: str) -> list[Head]:
    """Look at heads, and leave without a word."""
    with store.write(10.0) as unit:
        return [unit.head(stream) for stream in streams]


def fight(one: PostgresStore, two: PostgresStore) -> int:
    """Let the first lose the busy stream to the second until it waits in line.

    Return the version that the second left.
    """
    append(two, event(BUSY, 1))
    look(one, BUSY)
    for version in (2, 3):
        append(two, event(BUSY, version))
        with pytest.raises(Conflict):
            look(one, BUSY)
        if version == 2:
            look(one, BUSY)
    return version


def test_a_refusal_from_within_the_line_rests_on_what_is_durable(
    stores: list[PostgresStore],
) -> None:
    one, two = stores
    append(two, event(CALM, 1))
    look(one, CALM)
    version = fight(one, two)
    append(two, event(CALM, 2))
    with pytest.raises(Conflict):
        look(one, BUSY, CALM)
    known = [event(BUSY, version).hash, event(CALM, 2).hash]
    assert look(one, BUSY, CALM) == [(version, known[0]), (2, known[1])]


def test_what_has_not_moved_is_no_conflict(stores: list[PostgresStore]) -> None:
    one, two = stores
    append(two, event(CALM, 1))
    look(one, CALM)
    version = fight(one, two)
    heads = look(one, BUSY, CALM)
    assert heads == [(version, event(BUSY, version).hash), (1, event(CALM, 1).hash)]
