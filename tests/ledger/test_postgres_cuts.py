"""A connection that is cut at every byte of an append: stored once, and known to be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import postgres
import schemas
from cutting import Cutter, Way
from tenure import Event, Ledger, OwnerRef, open_ledger
from tenure_projections.live import LiveTables

S = OwnerRef("session", "ses_1")
EVERY = 13
"""Bytes from one cut to the next; `--prove` cuts at each."""


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend(LiveTables.specs)
    yield url
    schemas.give_back(url)


def keys(ledger: Ledger) -> list[str]:
    """Return the message of each event of the session, in order."""
    events = [one.event for one in ledger.history(S)]
    return [str(getattr(one, "key", "")) for one in events if isinstance(one, Event)]


def cut_at_every_byte(url: str, way: Way, step: int) -> int:
    """Cut an append after each count of bytes; return how many cuts there were."""
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
        return cutter.cuts


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_cut_anywhere_is_an_append_all_the_same_and_once(url: str, way: Way) -> None:
    assert cut_at_every_byte(url, way, EVERY) > 5


@pytest.mark.prove
@pytest.mark.parametrize("way", ["up", "down"])
def test_a_cut_at_each_byte_is_an_append_all_the_same_and_once(
    url: str, way: Way
) -> None:
    assert cut_at_every_byte(url, way, 1) > 100


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
