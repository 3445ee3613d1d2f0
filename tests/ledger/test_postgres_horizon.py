"""Positions that are given early and shown late: the real holes of S23."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import postgres
import schemas
from clients import Client, client, insert_event
from consumer import Consumer
from following import Saw, forgot_nothing
from odd_stores import ledger_on
from stored import OWNERS, append, event
from tenure_ledger.rows import Store
from tenure_ledger.stores.postgres import PostgresStore
from tenure_ledger.tailing import settled


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend([OWNERS])
    yield url
    schemas.give_back(url)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(url, tables=[OWNERS])
    yield store
    store.close()


@pytest.fixture
def other(url: str) -> Iterator[Client]:
    with client(url) as other:
        yield other


def positions(store: Store, after: int = 0) -> list[int]:
    """Return what is settled above a position."""
    return [row.position for row in settled(store, after)]


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "rolled back"])
def test_what_may_still_be_committed_is_not_passed(
    store: PostgresStore, other: Client, *, committed: bool
) -> None:
    ledger = ledger_on(store)
    follower = ledger.follower(Saw())
    consumer = Consumer(ledger.follow())
    first = append(store, event("a", 1))
    other.execute("BEGIN")
    late = insert_event(other, event("late", 1))
    above = append(store, event("b", 1))
    assert first < [late] < above
    assert [row.position for row in store.events(0)] == first + above
    assert positions(store) == first
    follower.catch_up()
    assert follower.position == first[0]
    assert consumer.reaches(first[0])
    other.execute("COMMIT" if committed else "ROLLBACK")
    expected = [*first, *([late] if committed else []), *above]
    assert positions(store) == expected
    assert store.horizon() == store.head_position() == above[0]
    follower.catch_up()
    assert forgot_nothing(ledger) == len(expected)
    assert consumer.reaches(above[0])
    assert consumer.positions == expected
    ledger.close()
    assert consumer.ends()


def test_a_head_is_no_fork_of_what_others_commit_below_it_later(
    store: PostgresStore, other: Client
) -> None:
    ledger = ledger_on(store)
    append(store, event("a", 1))
    first = ledger.head()
    other.execute("BEGIN")
    late = insert_event(other, event("late", 1))
    append(store, event("b", 1))
    kept = ledger.head(since=first)
    assert kept == first == ledger.head()
    assert kept.position < late
    assert ledger.as_of(kept.position).position == kept.position
    other.execute("COMMIT")
    assert ledger.head(since=kept) == ledger.head()
    assert ledger.head().count == 3


def test_who_goes_on_from_the_last_event_it_was_given_misses_none(
    store: PostgresStore, other: Client
) -> None:
    ledger = ledger_on(store)
    append(store, event("a", 1))
    other.execute("BEGIN")
    insert_event(other, event("late", 1))
    append(store, event("b", 1))
    seen = [one.stream for one in ledger.events()]
    last = [one.position for one in ledger.events()][-1]
    other.execute("COMMIT")
    seen += [one.stream for one in ledger.events(last)]
    assert seen == ["a", "late", "b"]


def test_only_writers_of_this_ledger_hold_it_back(
    store: PostgresStore, url: str
) -> None:
    elsewhere = schemas.lend([OWNERS])
    with ExitStack() as stack:
        for place in (elsewhere, url):
            busy = stack.enter_context(client(place))
            busy.execute("BEGIN")
            if place == elsewhere:
                insert_event(busy, event("a", 1))
            else:
                # A transaction id, and nothing of the ledger.
                busy.execute("SELECT pg_current_xact_id()")
        append(store, event("a", 1))
        assert store.horizon() == store.head_position() > 0
        before = store.pulse()
        append(store, event("a", 2))
        assert store.horizon() == store.head_position()
        assert store.pulse() != before
    schemas.give_back(elsewhere)


def test_a_commit_below_the_head_changes_the_pulse(
    store: PostgresStore, other: Client
) -> None:
    append(store, event("a", 1))
    other.execute("BEGIN")
    insert_event(other, event("late", 1))
    append(store, event("a", 2))
    before = store.pulse()
    assert store.pulse() == before
    other.execute("COMMIT")
    after = store.pulse()
    assert after != before
    assert store.pulse() == after


def test_many_commits_ahead_of_one_that_is_open_each_change_the_pulse(
    store: PostgresStore, other: Client
) -> None:
    append(store, event("a", 1))
    other.execute("BEGIN")
    insert_event(other, event("late", 1))
    seen = [store.pulse()]
    for version in range(2, 130):
        append(store, event("a", version))
        seen.append(store.pulse())
    other.execute("COMMIT")
    seen.append(store.pulse())
    assert len(set(map(repr, seen))) == len(seen)
    assert store.pulse() == seen[-1]


def test_a_snapshot_of_positions_that_rise_is_never_passed_by_a_lower_one(
    store: PostgresStore, url: str
) -> None:
    # Writers that begin in one order and commit in another.
    with ExitStack() as stack:
        writers = [stack.enter_context(client(url)) for _ in range(6)]
        for nth, writer in enumerate(writers):
            writer.execute("BEGIN")
            insert_event(writer, event(f"s{nth}", 1))
        read: list[int] = []
        for nth in (3, 5, 0, 2, 1, 4):
            writers[nth].execute("COMMIT")
            read += positions(store, read[-1] if read else 0)
            assert read == sorted(read)
    assert read == [row.position for row in store.events(0)]
    assert len(read) == 6


def test_the_server_is_a_real_one() -> None:
    with client(postgres.new_url()) as other:
        ((fsync,),) = other.execute("SHOW fsync").fetchall()
    assert fsync == "on"
