"""What a commit holds while it takes long: nothing that other owners' writers need."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest

import schemas
from clients import Client, client
from tenure import (
    Authority,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    open_ledger,
)
from tenure_projections.live import LiveTables
from waiting import until

SLOW = OwnerRef("session", "slow")
S = OwnerRef("session", "ses_1")
CHILD = OwnerRef("subagent", "child")
HELD = 4217
"""The lock that a commit of the slow owner waits for."""

_SLOW_COMMITS = f"""
CREATE FUNCTION pg_temp.wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.originator_id = '{SLOW.stream}' THEN
        PERFORM pg_advisory_xact_lock({HELD});
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER slow_commits AFTER INSERT ON stored_events
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.wait()
"""
_WAITING = """
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND objid = %s AND NOT granted
"""


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend(LiveTables.specs)
    yield url
    schemas.give_back(url)


@pytest.fixture
def by_hand(url: str) -> Iterator[Client]:
    """Give a session that holds every commit of the slow owner back."""
    with client(url) as by_hand:
        by_hand.execute(_SLOW_COMMITS.encode())
        by_hand.execute("SELECT pg_advisory_lock(%s)", (HELD,))
        yield by_hand
        by_hand.execute("DROP TRIGGER slow_commits ON stored_events")


def all_that_others_do(ledger: Ledger) -> None:
    """Give out generations, and do the work of an owner."""
    one = ledger.claim(S, "a", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    call = ledger.begin_tool_call(one, "m1", "c1", "shell", {"do": "it"})
    ledger.complete_tool_call(one, call, "done")
    ledger.save_checkpoint(one, RuntimeRestartReactionLoopState(consecutive_batches=1))
    ledger.spawn(one, CHILD, "c", author="host")
    ledger.settle(one, "m1", "completed")
    ledger.advance(one, "lease_renewal", lease_seconds=60)
    ledger.retire(one, "continue", "go on")
    ledger.succeed(S, "b", "host")


def test_a_commit_that_takes_long_holds_no_other_owner_back(
    url: str, by_hand: Client
) -> None:
    done: list[Authority] = []
    with open_ledger(url) as slow, open_ledger(url, deadline_seconds=10) as other:
        thread = Thread(target=lambda: done.append(slow.claim(SLOW, "s", "host")))
        thread.start()
        try:
            until(lambda: by_hand.execute(_WAITING, (HELD,)).fetchall())
            all_that_others_do(other)
            assert not done
        finally:
            by_hand.execute("SELECT pg_advisory_unlock(%s)", (HELD,))
            thread.join()
        assert done[0].generation == 1
        assert other.verify().ok


def test_no_command_tells_the_server_to_notify(url: str) -> None:
    with client(url) as listening, client(url) as by_hand, open_ledger(url) as ledger:
        listening.execute("LISTEN anything")
        # What it was not handed yet stays in the server's queue.
        listening.execute("BEGIN")
        listening.execute("SELECT 1")

        def queued() -> float:
            ((usage,),) = by_hand.execute(
                "SELECT pg_notification_queue_usage()"
            ).fetchall()
            return float(usage)

        before = queued()
        all_that_others_do(ledger)
        assert queued() == before
        by_hand.execute(
            "SELECT pg_notify('a', n || repeat('x', 7000)) FROM generate_series(1, 9) n"
        )
        assert queued() > before
