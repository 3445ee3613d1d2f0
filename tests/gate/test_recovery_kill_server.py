"""kill -9 around and within every commit of a recovery run, on a PostgreSQL server.

Of what was sent and not answered the server may have done all or nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

import postgres
import schemas
from clients import client
from crashes import held_in_recovery, killed_at_work
from tenure import Ledger, OwnerRef, open_ledger, recover
from tenure_ledger import events as e
from tenure_projections.live import LiveTables
from waiting import until
from workshop import Hand, hand

S1, S2, S3 = (OwnerRef("session", f"ses_{number}") for number in (1, 2, 3))
C1, D = OwnerRef("subagent", "c1"), OwnerRef("subagent", "d")
WORK = """
one = begin(OwnerRef("session", "ses_1"), "manager/1")
ledger.mark_output_started(one, "m1")
child = ledger.spawn(one, OwnerRef("subagent", "c1"), "kid/c1", author="host")
ledger.admit(child, "t1", "assistant_run")
ledger.start(child, "t1")
ledger.save_checkpoint(child, LOOP)
ledger.spawn(child, OwnerRef("subagent", "d"), "kid/d", author="kid/c1")
two = begin(OwnerRef("session", "ses_2"), "manager/2")
ledger.begin_tool_call(two, "m1", "call", "mail", {"to": "ann"})
ledger.save_checkpoint(two, LOOP, keys=["m1"])
three = begin(OwnerRef("session", "ses_3"), "manager/3")
ledger.retire(three, "continue", "Next: C.")
"""
RUN = """
store, commits = ledger._shell.store, iter(range(99))
begin_unit = store.write

def watched(deadline_seconds):
    unit = begin_unit(deadline_seconds)
    commit = unit.commit

    def commit_and_say():
        number = next(commits)
        say("before", number)
        hear()
        commit()
        say("after", number)
        hear()

    unit.commit = commit_and_say
    return unit

store.write = watched
recover(ledger)
say("recovered")
hear()
"""
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
OURS = "SELECT count(*) FROM pg_locks WHERE relation = %s::regclass"
COMMITS = 4
"""No run has more; it may have fewer, as owners share a commit."""


@pytest.fixture
def url() -> Iterator[str]:
    """What a process left that was killed at work."""
    lent = schemas.lend(LiveTables.specs)
    killed_at_work(lent, WORK)
    yield lent
    schemas.give_back(lent)


def decided(ledger: Ledger) -> Counter[str]:
    """Count what recovery runs decided, by owner."""
    return Counter(
        one.stream
        for one in ledger.events()
        if isinstance(one.event, e.RecoveryDecided)
    )


def ended_well(ledger: Ledger) -> None:
    """Hold that the next run leaves each owner where an unbroken one does."""
    before = decided(ledger)
    assert {*before.values()} <= {1}
    report = recover(ledger)
    assert report.failed == ()
    states = {owner: ledger.owner(owner).status for owner in (S1, C1, D, S2, S3)}
    ended = {S1: "cut", C1: "terminal", D: "terminal", S2: "live", S3: "cut"}
    assert states == ended
    (resumed,) = report.resumed
    assert (resumed.owner, resumed.restarts) == (S2, 1 + before[S2.stream])
    expected = dict.fromkeys((one.stream for one in (S1, C1, D)), 1)
    assert decided(ledger) == {**expected, S2.stream: resumed.restarts}
    assert {one.about for one in ledger.pending_notices(S1)} == {S1, C1, D}
    assert len(ledger.pending_notices(S1)) == 3
    (told,) = ledger.pending_notices(S2)
    assert [fact.call_id for fact in told.facts] == ["call"]
    assert all(table.differing == 0 for table in ledger.rebuild(check=True))
    held_in_recovery(ledger)


def goes_to(run: Hand, point: str, number: int) -> bool:
    """Let the run go on to that point; False: it has no such commit."""
    while (said := run.hear()) != f"{point} {number}":
        if said == "recovered":
            return False
        run.say()
    return True


@pytest.mark.parametrize("point", ["before", "after"])
@pytest.mark.parametrize("number", range(COMMITS))
def test_a_run_that_was_killed_around_a_commit_is_ended_by_the_next(
    url: str, number: int, point: str
) -> None:
    with hand(url, RUN) as run:
        there = goes_to(run, point, number)
        assert there or number
        run.kill()
    with open_ledger(url) as ledger:
        if there:
            assert bool(decided(ledger)) == (number > 0 or point == "after")
        ended_well(ledger)


@pytest.mark.parametrize("number", range(COMMITS))
def test_a_run_that_was_killed_within_a_commit_is_ended_by_the_next(
    url: str, number: int
) -> None:
    """All of it was sent and nothing was answered when the process died."""
    table = (f"{url.rpartition('=')[2]}.stored_events",)
    with ExitStack() as stack:
        run = stack.enter_context(hand(url, RUN))
        holder = stack.enter_context(client(url))
        watcher = stack.enter_context(psycopg.connect(postgres.server().url))
        watcher.autocommit = True

        def locks(query: bytes) -> int:
            (count,) = watcher.execute(query, table).fetchone() or (0,)
            return int(count)

        if goes_to(run, "before", number):
            with holder.transaction():
                holder.execute("LOCK TABLE stored_events IN ACCESS EXCLUSIVE MODE")
                run.say()
                until(lambda: locks(WAITING.encode()))
                run.kill()
            # The server goes on with what was sent, until nothing of it is left.
            until(lambda: not locks(OURS.encode()))
        else:
            assert number
    with open_ledger(url) as ledger:
        ended_well(ledger)
