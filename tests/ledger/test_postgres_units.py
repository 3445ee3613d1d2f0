"""Units that hold nobody back: what they rest on is checked, never assumed for good."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Barrier, Event, Thread

import pytest

import schemas
from clients import client
from stored import OWNERS, append, command, count, event, owner
from table_rows import table_rows
from tenure import Contended, First, Ledger, OwnerRef, TermRetired, open_ledger
from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import Conflict, EventRow, RowChange, RowRefused
from tenure_ledger.stores.postgres import PostgresStore
from tenure_ledger.stores.postgres_seen import Head
from tenure_ledger.stores.postgres_wire import Call, Result, Wire
from tenure_projections.live import LiveTables

S = OwnerRef("session", "ses_1")


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend([OWNERS])
    yield url
    schemas.give_back(url)


@pytest.fixture
def stores(url: str) -> Iterator[list[PostgresStore]]:
    stores = [PostgresStore(url, tables=[OWNERS]) for _ in range(2)]
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def ledgers() -> Iterator[list[Ledger]]:
    """Give the ledgers of several processes on one schema."""
    url = schemas.lend(LiveTables.specs)
    opened = [open_ledger(url, process=f"p{nth}") for nth in range(4)]
    yield opened
    for ledger in opened:
        ledger.close()
    schemas.give_back(url)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count how many statements each call to the server has."""
    seen: list[int] = []
    run = Wire.run

    def counted(wire: Wire, calls: list[Call], deadline: float) -> list[Result]:
        seen.append(len(calls))
        return run(wire, calls, deadline)

    monkeypatch.setattr(Wire, "run", counted)
    return seen


def test_a_warm_command_is_one_statement(
    ledgers: list[Ledger], calls: list[int]
) -> None:
    ledger = ledgers[0]
    one = ledger.claim(S, "a", "host")
    for name in ("m1", "m2"):
        ledger.admit(one, name, "human")
    calls.clear()
    ledger.start(one, "m1")
    ledger.settle(one, "m1", "completed")
    ledger.accept(S, "m3", "inbox")
    assert calls == [1, 1, 1]


def test_a_refusal_is_one_call_that_looks(
    ledgers: list[Ledger], calls: list[int]
) -> None:
    one = ledgers[0].claim(S, "a", "host", first=First("m1", "human"))
    ledgers[0].start(one, "m1")
    ledgers[1].retire(one, "continue", "go on")
    calls.clear()
    # It knows nothing of the cut, and must not act on that.
    with pytest.raises(TermRetired):
        ledgers[0].settle(one, "m1", "completed")
    assert len(calls) > 1
    calls.clear()
    with pytest.raises(TermRetired):
        ledgers[0].admit(one, "m2", "human")
    assert len(calls) == 1


def add_behind(store: PostgresStore, stream: str, *rows: EventRow) -> Head:
    """Look at a head and leave, or add rows too; return the head that was seen."""
    with store.write(10.0) as unit:
        seen = unit.head(stream)
        if rows:
            unit.add(rows, None)
            unit.commit()
    return seen


@pytest.mark.parametrize("rows", [[], [event("b", 1)], [event("a", 2)]])
def test_a_head_that_has_moved_is_a_conflict_and_is_asked_for_again(
    stores: list[PostgresStore], rows: list[EventRow]
) -> None:
    one, two = stores
    one.tail("a", 0)
    append(two, event("a", 1))
    with pytest.raises(Conflict):
        add_behind(one, "a", *rows)
    assert count(one) == 1
    assert add_behind(one, "a", *rows) == (1, event("a", 1).hash)
    assert count(one) == 1 + len(rows)


def test_a_row_behind_a_head_that_is_gone_is_not_written(
    stores: list[PostgresStore], url: str
) -> None:
    # A standby that took over without the last commits.
    one, _ = stores
    append(one, event("a", 1), event("a", 2))
    one.tail("a", 0)
    with client(url) as by_hand:
        by_hand.execute("SET session_replication_role = replica")
        by_hand.execute("DELETE FROM stored_events WHERE originator_version = 2")
    with pytest.raises(Conflict):
        add_behind(one, "a", event("a", 3))
    assert [row.version for row in one.tail("a", 0)] == [1]


def test_two_that_rest_on_what_the_other_writes_do_not_both_commit(
    stores: list[PostgresStore],
) -> None:
    outcomes: list[list[bool]] = []
    for turn in range(40):
        x, y = f"x{turn}", f"y{turn}"
        barrier, done = Barrier(2), [False, False]

        def work(
            nth: int,
            own: str,
            other: str,
            barrier: Barrier = barrier,
            done: list[bool] = done,
        ) -> None:
            try:
                with stores[nth].write(10.0) as unit:
                    unit.head(own)
                    unit.expect({own: 0, other: 0})
                    unit.add([event(own, 1)], command(own, "c"))
                    barrier.wait()
                    unit.commit()
                done[nth] = True
            except Conflict:
                pass

        threads = [
            Thread(target=work, args=(0, x, y)),
            Thread(target=work, args=(1, y, x)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        outcomes.append(done)
    assert [True, True] not in outcomes
    assert sum(map(sum, outcomes)) > 20


def put(store: PostgresStore, seconds: float, *rows: RowChange) -> None:
    """Put rows, beside an event."""
    with store.write(seconds) as unit:
        unit.add([event("a", 2)], None, (), rows)
        unit.commit()


def test_a_lock_that_somebody_keeps_is_contended_and_nothing_is_written(
    stores: list[PostgresStore], url: str
) -> None:
    one, _ = stores
    append(one, event("a", 1))
    with one.write(10.0) as unit:
        unit.add([], None, (), [owner("o", None)])
        unit.commit()
    with client(url) as by_hand:
        by_hand.execute("BEGIN")
        by_hand.execute("UPDATE owners SET generation = 7")
        with pytest.raises(Contended, match="nothing was written"):
            put(one, 0.3, owner("o", None, 2))
        by_hand.execute("ROLLBACK")
    assert count(one) == 1
    assert table_rows(one, "owners") == [("session", "o", None, 1)]


@pytest.fixture
def refusing(stores: list[PostgresStore], url: str) -> Iterator[PostgresStore]:
    """Give a store whose table takes no generation above 2."""
    stores[0].setup()
    with client(url) as by_hand:
        by_hand.execute("ALTER TABLE owners ADD CONSTRAINT few CHECK (generation < 3)")
        yield stores[0]
        by_hand.execute("ALTER TABLE owners DROP CONSTRAINT few")


def test_a_row_that_the_table_refuses_is_told_at_the_commit(
    refusing: PostgresStore,
) -> None:
    with pytest.raises(RowRefused, match="tenure rebuild"):
        put(refusing, 10.0, owner("o", None, 3))
    assert count(refusing) == 0


def test_a_row_that_the_table_refuses_is_told_at_once_to_who_asked_for_rows(
    refusing: PostgresStore,
) -> None:
    with refusing.write(10.0) as unit:
        unit.rows("owners", {})
        with pytest.raises(RowRefused, match="tenure rebuild"):
            unit.add([event("a", 1)], None, (), [owner("o", None, 3)])
        with pytest.raises(RowRefused):
            unit.commit()
    assert count(refusing) == 0


def test_a_value_that_another_row_has_is_put_as_null() -> None:
    spec = OWNERS._replace(unique="agent")
    url = schemas.lend([spec])
    store = PostgresStore(url, tables=[spec])
    with store.write(10.0) as unit:
        unit.add([], None, (), [owner("a", "x"), owner("b", "x"), owner("a", "x", 2)])
        unit.commit()
    rows = [("session", "a", "x", 2), ("session", "b", None, 1)]
    assert table_rows(store, "owners") == rows
    store.close()
    schemas.give_back(url)


def test_one_stream_that_all_write_is_written_by_all(ledgers: list[Ledger]) -> None:
    tries: list[int] = []
    for ledger in ledgers:
        shell = ledger._shell  # pyright: ignore[reportPrivateUsage]
        attempt = shell._attempt  # pyright: ignore[reportPrivateUsage]

        def counted(jobs: object, attempt: object = attempt) -> None:
            tries.append(1)
            attempt(jobs)  # type: ignore[operator]

        setattr(shell, "_attempt", counted)  # noqa: B010  mypy forbids a method

    def work(nth: int) -> None:
        for number in range(25):
            ledgers[nth].accept(S, f"{nth} {number}", "inbox")

    threads = [Thread(target=work, args=(nth,)) for nth in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledgers[0].head().count == 100
    assert ledgers[0].verify().ok
    # Whoever lost twice waits in line, so few tries are for nothing.
    assert len(tries) < 250


def test_a_rebuild_takes_nothing_that_writers_do_for_a_difference(
    ledgers: list[Ledger],
) -> None:
    over = Event()

    def work(nth: int) -> None:
        number = 0
        while not over.is_set():
            owner = OwnerRef("session", f"{nth} {number % 5}")
            ledgers[nth].accept(owner, f"m{number}", "inbox")
            number += 1

    threads = [Thread(target=work, args=(nth,)) for nth in range(1, 3)]
    for thread in threads:
        thread.start()
    for _ in range(6):
        assert all(not one.differing for one in ledgers[0].rebuild(check=True))
        ledgers[0].rebuild()
    with ledgers[3]._shell.store.write(10.0) as unit:  # pyright: ignore[reportPrivateUsage]
        unit.rows("chat_executions", {})
    over.set()
    for thread in threads:
        thread.join()
    assert all(not one.differing for one in ledgers[0].rebuild(check=True))


def test_a_forked_child_goes_on_with_connections_of_its_own(
    ledgers: list[Ledger],
) -> None:
    ledger = ledgers[0]
    ledger.accept(S, "before", "inbox")
    child = os.fork()
    if not child:
        status = 1
        try:
            for number in range(20):
                ledger.accept(S, f"child {number}", "inbox")
            status = 0
        finally:
            os._exit(status)
    for number in range(20):
        ledger.accept(S, f"parent {number}", "inbox")
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert ledger.head().count == 41
    assert ledger.verify().ok


def test_a_unit_of_a_closed_store_is_refused(url: str) -> None:
    with ExitStack() as stack:
        store = PostgresStore(url, tables=[OWNERS])
        stack.callback(store.close)
        store.close()
        with pytest.raises(StoreUnavailable, match="open another"):
            store.write(1.0)
