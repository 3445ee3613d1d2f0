"""A connection that is cut at every byte of an append: stored once, and known to be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

import postgres
import schemas
from cutting import Cutter, Way
from tenure import Event, Ledger, NotAdmitted, OwnerRef, open_ledger
from tenure_ledger.stores.postgres import PostgresStore
from tenure_projections.live import LiveTables

S = OwnerRef("session", "ses_1")
EVERY = 13
"""Bytes from one cut to the next; `--prove` cuts at each."""


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend(LiveTables.specs)
    yield url
    schemas.give_back(url)


def recorded(number: int) -> StoredEvent:
    """Return an event of the session as a recorder takes it."""
    return StoredEvent(S.stream, number, "seen.v1", b'{"number": %d}' % number)


def keys(ledger: Ledger) -> list[str]:
    """Return the message of each event of the session, in order."""
    events = [one.event for one in ledger.history(S)]
    return [str(getattr(one, "key", "")) for one in events if isinstance(one, Event)]


def cut_at_every_byte(url: str, way: Way, step: int) -> None:
    """Cut an append after each count of bytes: all are there, once, and in order."""
    with (
        Cutter(postgres.server().folder) as cutter,
        open_ledger(cutter.url(url), process="cut") as ledger,
    ):
        asked: list[str] = []

        def accept(name: str) -> None:
            asked.append(name)
            ledger.accept(S, name, "inbox")

        for number in range(3):
            accept(f"before {number}")
        size = cutter.bytes[way]
        accept("measured")
        size = cutter.bytes[way] - size
        assert size > 30
        for count in range(0, size, step):
            cutter.cut_after(way, count)
            accept(f"cut after {count}")
            # So that the next is as long as the one that was measured.
            accept(f"whole after {count}")
        assert keys(ledger) == asked
        assert ledger.verify().ok
        assert all(one.differing == 0 for one in ledger.rebuild(check=True))
        # The next may be shorter by a digit or two than the one that was measured.
        assert cutter.cuts >= len(range(0, size - 5, step))


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_cut_anywhere_is_an_append_all_the_same_and_once(url: str, way: Way) -> None:
    cut_at_every_byte(url, way, EVERY)


@pytest.mark.prove
@pytest.mark.parametrize("way", ["up", "down"])
def test_a_cut_at_each_byte_is_an_append_all_the_same_and_once(
    url: str, way: Way
) -> None:
    cut_at_every_byte(url, way, 1)


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_refusal_that_is_cut_is_a_refusal_all_the_same(url: str, way: Way) -> None:
    with (
        Cutter(postgres.server().folder) as cutter,
        open_ledger(cutter.url(url)) as ledger,
    ):
        held = ledger.claim(S, "a", "host")
        for number in range(30):
            cutter.cut_after(way, 10 * number)
            with pytest.raises(NotAdmitted):
                ledger.start(held, "nobody knows it", command_id=f"c{number}")
        assert cutter.cuts > 5
        assert [one.version for one in ledger.history(S)] == [1]


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_recorder_that_is_cut_does_not_meet_its_own_rows(url: str, way: Way) -> None:
    with (
        Cutter(postgres.server().folder) as cutter,
        closing(PostgresStore(cutter.url(url), tables=LiveTables.specs)) as store,
    ):
        store.recorder.insert_events([recorded(1), recorded(2)])
        for number in range(3, 40, 2):
            cutter.cut_after(way, 25 * number)
            pair = [recorded(number), recorded(number + 1)]
            positions = store.recorder.insert_events(pair)
            assert positions == [row.position for row in store.tail(S.stream, number)]
        assert cutter.cuts > 5
        versions = [row.version for row in store.tail(S.stream, 0)]
        assert versions == list(range(1, 41))
        with pytest.raises(IntegrityError):
            store.recorder.insert_events([recorded(40)])


def test_a_reader_that_is_cut_reads_on(url: str) -> None:
    with (
        Cutter(postgres.server().folder) as cutter,
        open_ledger(cutter.url(url)) as ledger,
    ):
        for number in range(5):
            ledger.accept(S, f"m{number}", "inbox")
        whole = keys(ledger)
        for count in range(0, 400, 40):
            cutter.cut_after("down", count)
            assert keys(ledger) == whole
        assert cutter.cuts > 3


def test_a_look_that_is_cut_before_its_moment_is_another_moments(url: str) -> None:
    with (
        Cutter(postgres.server().folder) as cutter,
        open_ledger(cutter.url(url)) as ledger,
    ):
        ledger.accept(S, "m1", "inbox")
        whole = list(ledger.rows("chat_executions"))
        assert whole
        for count in (0, 1, 20):
            # As where the server has ended what nobody was using for long.
            cutter.cut_after("down", count)
            assert list(ledger.rows("chat_executions")) == whole
        assert cutter.cuts == 3
