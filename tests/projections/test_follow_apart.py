"""On PostgreSQL, read models follow side by side: none waits for another's handling."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Thread

import pytest

import schemas
from clients import client
from tenure import (
    Contended,
    First,
    Follower,
    InvalidInput,
    Ledger,
    ModelRows,
    ModelTable,
    OwnerRef,
    Recorded,
    open_ledger,
)
from tenure_projections.live import LiveTables

S = OwnerRef("session", "ses_1")


class Noted:
    """Notes events in a table of its own; it may be kept waiting in the middle."""

    def __init__(self, name: str, table: str | None = None) -> None:
        self.name = name
        self.tables = (ModelTable(table or f"noted_{name}", {"at": int}, "at"),)
        self.reached, self.go_on = Event(), Event()
        self.go_on.set()

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        rows.put(self.tables[0].name, at=recorded.position)
        self.reached.set()
        assert self.go_on.wait(30)


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend(LiveTables.specs)
    yield url
    schemas.give_back(url)


@pytest.fixture
def ledgers(url: str) -> Iterator[list[Ledger]]:
    """Give the ledgers of three processes, the last without patience."""
    opened = [
        open_ledger(url, process="p0"),
        open_ledger(url, process="p1"),
        open_ledger(url, process="p2", deadline_seconds=0.2),
    ]
    opened[0].claim(S, "agent", "host", first=First("m1", "human"))
    yield opened
    for ledger in opened:
        ledger.close()


def test_a_model_goes_on_while_another_is_in_the_midst_of_a_batch(
    ledgers: list[Ledger],
) -> None:
    slow, quick = Noted("slow"), Noted("quick")
    # Both are on record: who is not has to see that no table is another's.
    ledgers[0].follower(slow).catch_up()
    ledgers[1].follower(quick).catch_up()
    ledgers[0].accept(S, "m2", "inbox")
    slow.go_on.clear()
    slow.reached.clear()
    thread = Thread(target=ledgers[0].follower(slow).catch_up)
    thread.start()
    assert slow.reached.wait(30)
    try:
        follower = ledgers[1].follower(quick)
        assert follower.catch_up() > 0
        assert follower.position == ledgers[1].head().position
        # One of the same name waits, and one that nobody knows yet.
        with pytest.raises(Contended):
            ledgers[2].follower(Noted("slow")).catch_up()
        with pytest.raises(Contended):
            ledgers[2].follower(Noted("new")).catch_up()
        assert thread.is_alive()
    finally:
        slow.go_on.set()
        thread.join()
    assert ledgers[2].follower(Noted("slow")).catch_up() == 0
    assert ledgers[2].follower(Noted("new")).catch_up() > 0


def test_of_two_new_models_with_one_table_one_is_refused(
    ledgers: list[Ledger],
) -> None:
    for turn in range(5):
        models = [Noted(f"m{turn}_{nth}", f"shared_{turn}") for nth in range(2)]
        followers = [
            ledger.follower(model)
            for ledger, model in zip(ledgers, models, strict=False)
        ]
        refused = list[InvalidInput]()

        def work(
            nth: int,
            refused: list[InvalidInput] = refused,
            followers: list[Follower] = followers,
        ) -> None:
            try:
                followers[nth].catch_up()
            except InvalidInput as error:
                refused.append(error)

        threads = [Thread(target=work, args=(nth,)) for nth in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 1


def test_a_record_that_somebody_deleted_is_made_again(
    ledgers: list[Ledger], url: str
) -> None:
    model = Noted("model")
    follower = ledgers[0].follower(model)
    passed = follower.catch_up()
    with client(url) as by_hand:
        by_hand.execute("DELETE FROM followers")
    assert follower.catch_up() == passed
    assert follower.position == ledgers[0].head().position


def test_a_connection_that_is_cut_while_an_event_is_handled_is_replaced(
    url: str,
) -> None:
    cuts: list[int] = []

    class Cut(Noted):
        def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
            assert rows.get("noted_cut", at=recorded.position) is None
            super().handle(recorded, rows)
            if not cuts:
                with client(url) as by_hand:
                    found = by_hand.execute(
                        "WITH found AS MATERIALIZED (SELECT pid FROM pg_locks "
                        "WHERE relation = 'stored_events'::regclass "
                        "AND mode = 'RowExclusiveLock') "
                        "SELECT pid FROM found WHERE pg_terminate_backend(pid, 10000)"
                    ).fetchall()
                    cuts.extend(pid for (pid,) in found)
                    assert cuts

    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
        follower = ledger.follower(Cut("cut"))
        assert follower.catch_up() == ledger.head().count
        assert follower.parked() == []
        assert len(list(follower.rows("noted_cut"))) == ledger.head().count
