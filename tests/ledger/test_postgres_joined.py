"""What a lone command writes goes as one statement where that comes to the same."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

import schemas
from clients import client
from stored import OWNERS, command, count, event, owner
from tenure_ledger.rows import (
    BodyRow,
    CommandRow,
    Conflict,
    EventRow,
    RowChange,
    RowRefused,
    TableSpec,
)
from tenure_ledger.stores.postgres import PostgresStore
from tenure_ledger.stores.postgres_wire import Call, Result, Wire

ODD = TableSpec(
    name="odd",
    columns=("a key", "VALUES ($1)", 'one"two', "at"),
    key=("a key",),
    create={
        "postgres": 'CREATE TABLE IF NOT EXISTS odd ("a key" text COLLATE "C" '
        'PRIMARY KEY, "VALUES ($1)" bigint, "one""two" bytea, at timestamptz)'
    },
)
MOMENT = "2026-01-01T12:30:15.123456Z"


@pytest.fixture
def url() -> Iterator[str]:
    url = schemas.lend([OWNERS, ODD])
    yield url
    schemas.give_back(url)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(url, tables=[OWNERS, ODD])
    yield store
    store.close()


@pytest.fixture
def statements(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> list[list[str]]:
    """Give the statements of each call to the server, from here on."""
    store.head_position()  # opened
    seen: list[list[str]] = []
    run = Wire.run

    def seeing(wire: Wire, calls: list[Call], deadline: float) -> list[Result]:
        ours = [one.sql for one in calls if "lock_timeout" not in one.sql]
        seen.append(ours)
        return run(wire, calls, deadline)

    monkeypatch.setattr(Wire, "run", seeing)
    return seen


def odd(key: str, number: int) -> RowChange:
    return RowChange("odd", (key,), (key, number, b"\0two", MOMENT))


def write(
    store: PostgresStore, row: EventRow, one: CommandRow, changes: list[RowChange]
) -> None:
    with store.write(10.0) as unit:
        unit.add([row], one, (), changes)
        unit.commit()


def rows(store: PostgresStore, table: str) -> list[tuple[object, ...]]:
    with store.snapshot() as snapshot:
        return list(snapshot.rows(table))


def test_event_command_body_and_a_row_of_each_table_are_one_statement(
    store: PostgresStore, statements: list[list[str]]
) -> None:
    for version in (1, 2):
        with store.write(10.0) as unit:
            unit.head("s")
            statements.clear()
            positions = unit.add(
                [event("s", version)],
                command("s", f"c{version}", version),
                [BodyRow(f"d{version}", "s", b"body")],
                [owner("o", "agent", version), odd("k", version)],
            )
            unit.commit()
        assert [len(one) for one in statements] == [1]
        assert store.head_position() == positions[0]
    assert [row.version for row in store.tail("s", 0)] == [1, 2]
    assert rows(store, "owners") == [("session", "o", "agent", 2)]
    assert rows(store, "odd") == [("k", 2, b"\0two", MOMENT)]
    assert store.body("s", "d1") == store.body("s", "d2") == b"body"
    with store.write(10.0) as unit:
        assert unit.command("s", "c2") == command("s", "c2", 2)


@pytest.mark.parametrize(
    "changes",
    [
        [owner("o", "a", 1), owner("o", "b", 2)],
        [owner("o", None), owner("p", "a")],
        [RowChange("owners", ("session", "o"), None)],
    ],
    ids=["one row twice", "what one gives up another takes", "a row is deleted"],
)
def test_what_meets_another_row_of_its_table_goes_in_order(
    store: PostgresStore, statements: list[list[str]], changes: list[RowChange]
) -> None:
    with store.write(10.0) as unit:
        unit.add([event("s", 1)], None, (), [owner("o", "a", 0)])
        unit.commit()
    with store.write(10.0) as unit:
        unit.add([event("s", 2)], command("s", "c", 2), (), changes)
        statements.clear()
        unit.commit()
    assert [len(one) for one in statements] == [2 + len(changes)]
    last = {change.key: change.row for change in changes}
    assert rows(store, "owners") == [row for row in last.values() if row is not None]


def test_several_events_are_not_joined(
    store: PostgresStore, statements: list[list[str]]
) -> None:
    with store.write(10.0) as unit:
        unit.add([event("s", 1), event("t", 1)], command("s", "c"))
        statements.clear()
        unit.commit()
    assert [len(one) for one in statements] == [3]
    assert count(store) == 2


def test_a_command_id_that_is_taken_writes_nothing(store: PostgresStore) -> None:
    write(store, event("s", 1), command("s", "c"), [])
    changes = [owner("o", "a"), odd("k", 1)]
    with pytest.raises(Conflict):
        write(store, event("s", 2), command("s", "c", 2), changes)
    assert count(store) == 1
    assert rows(store, "owners") == rows(store, "odd") == []


def test_a_row_that_is_refused_writes_nothing(store: PostgresStore, url: str) -> None:
    with client(url) as by_hand:
        by_hand.execute('ALTER TABLE odd ADD CONSTRAINT no CHECK ("VALUES ($1)" > 0)')
    changes = [owner("o", "a"), odd("k", 0)]
    with pytest.raises(RowRefused):
        write(store, event("s", 1), command("s", "c"), changes)
    with client(url) as by_hand:
        by_hand.execute("ALTER TABLE odd DROP CONSTRAINT no")
    assert count(store) == 0
    assert rows(store, "owners") == rows(store, "odd") == []


def test_of_two_that_write_one_version_one_writes_all_its_rows_and_one_none(
    url: str,
) -> None:
    stores = [PostgresStore(url, tables=[OWNERS, ODD]) for _ in range(2)]
    for turn in range(30):
        barrier, won = Barrier(2), list[int]()

        def work(
            nth: int,
            turn: int = turn,
            barrier: Barrier = barrier,
            won: list[int] = won,
        ) -> None:
            with stores[nth].write(10.0) as unit:
                unit.head(f"s{turn}")
                barrier.wait()
                changes = [owner("o", f"{nth}", turn), odd("k", nth)]
                unit.add([event(f"s{turn}", 1)], None, (), changes)
                try:
                    unit.commit()
                except Conflict:
                    return
            won.append(nth)

        threads = [Thread(target=work, args=(nth,)) for nth in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert rows(stores[0], "owners") == [("session", "o", f"{won[0]}", turn)]
        assert rows(stores[0], "odd") == [("k", won[0], b"\0two", MOMENT)]
    assert count(stores[0]) == 30
    for store in stores:
        store.close()
