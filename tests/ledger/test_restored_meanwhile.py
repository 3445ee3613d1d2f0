"""A restore that somebody writes beside, who should have been stopped before."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import schemas
from clients import client, insert_event
from stored import event
from tenure import FencedOut, OwnerRef, open_ledger
from tenure_ledger.values import RESTORED
from tenure_projections.live import LiveTables
from waiting import until

OLD = OwnerRef("session", "old")
NEW = OwnerRef("session", "new")


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend(LiveTables.specs)
    yield url
    schemas.give_back(url)


def test_what_is_claimed_before_the_floor_is_raised_ends_too(url: str) -> None:
    with (
        open_ledger(url, process="restores") as restoring,
        open_ledger(url, process="was not stopped") as other,
        client(url) as by_hand,
        client(url) as looks,
        ThreadPoolExecutor(1) as pool,
    ):
        other.claim(OLD, "a", "host")
        restoring.setup()
        # The floor has to wait for this one.
        by_hand.execute("BEGIN")
        insert_event(by_hand, event(RESTORED.stream, 1))
        done = pool.submit(restoring.restored, "host", above=10**6)
        holder = [by_hand.info.backend_pid]
        blocked = "SELECT 1 FROM pg_locks WHERE %s = ANY(pg_blocking_pids(pid))"
        until(lambda: looks.execute(blocked, holder).fetchone())
        new = other.claim(NEW, "b", "host")
        by_hand.execute("ROLLBACK")
        assert {*done.result(60).restarted} == {OLD, NEW}
        with pytest.raises(FencedOut):
            other.check(new)
        assert other.owner(NEW).generation > 10**6
