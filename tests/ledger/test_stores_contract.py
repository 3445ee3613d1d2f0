"""What every store promises: a new store adds a parameter to the fixture, no test.

The fixture is in `conftest`; the rest of the suite is `test_stores_contract_reads`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

from stored import AnyStore, append, append_next, command, count, event, nth, owner
from table_rows import table_rows
from tenure_ledger.errors import Contended, InvalidInput, StoreUnavailable
from tenure_ledger.rows import BodyRow, Conflict, RowChange, Store, Unit, row_hash


def everything(store: AnyStore) -> tuple[object, ...]:
    """Return all that a store holds, as far as these tests write it."""
    bodies = [store.body(stream, "d1") for stream in ("a", "b")]
    with store.write(10.0) as unit:
        commands = [unit.command("a", "c1"), unit.command("a", "c2")]
    return list(store.events(0)), table_rows(store, "owners"), bodies, commands


def fill(unit: Unit) -> None:
    """Add rows of every kind."""
    unit.add(
        [event("a", 1), event("a", 2)],
        command("a", "c1"),
        bodies=[BodyRow("d1", "a", b"what a person wrote", "key 1")],
        changes=[owner("one", "agent 1")],
    )


def write(store: AnyStore, *steps: Callable[[Unit], object]) -> None:
    """Take the steps in one unit and commit it."""
    with store.write(10.0) as unit:
        for step in steps:
            step(unit)
        unit.commit()


def overrun(unit: Unit) -> None:
    """Add a version, as somebody else may have done."""
    unit.add([event("a", 2)], None)


def test_an_empty_ledger_holds_nothing(store: AnyStore) -> None:
    assert store.head_position() == 0
    assert list(store.events(0)) == []
    assert list(store.hashes(0)) == []
    assert store.tail("a", 1) == []
    assert store.body("a", "d1") is None
    assert table_rows(store, "owners") == []


def test_what_is_committed_is_read_back(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        fill(unit)
        unit.commit()
    one, two = (position for position, _ in store.hashes(0))
    assert 0 < one < two
    first = event("a", 1)._replace(position=one)
    second = event("a", 2)._replace(position=two)
    assert list(store.events(0)) == [first, second]
    assert store.tail("a", 0) == store.tail("a", 1) == [first, second]
    assert store.tail("a", 2) == [second]
    assert store.tail("a", 3) == store.tail("b", 1) == []
    assert store.body("a", "d1") == b"what a person wrote"
    assert store.body("b", "d1") is store.body("a", "d2") is None
    assert table_rows(store, "owners") == [("session", "one", "agent 1", 1)]
    with store.write(10.0) as unit:
        assert unit.command("a", "c1") == command("a", "c1")
        assert unit.command("b", "c1") is unit.command("a", "c2") is None


def test_text_and_bytes_are_kept_as_given(store: AnyStore) -> None:
    stream, state = "session/\N{SNOWMAN}\N{GRINNING FACE}'\"%_\n", bytes(range(256))
    append(store, event(stream, 1, state), event(stream.upper(), 1, b""))
    assert [row.state for row in store.tail(stream, 1)] == [state]
    assert [row.state for row in store.tail(stream.upper(), 1)] == [b""]


def test_a_unit_sees_what_it_added_and_nobody_else_does(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        assert unit.command("a", "c1") is None
        assert unit.head("a") is None
        fill(unit)
        unit.add([event("b", 1)], None)
        assert [row.version for row in unit.tail("a", 2)] == [2]
        assert unit.head("a") == (2, event("a", 2).hash)
        assert unit.head("b") == (1, event("b", 1).hash)
        (third,) = (row.position for row in unit.tail("b", 1))
        assert third > unit.tail("a", 2)[0].position
        assert unit.command("a", "c1") == command("a", "c1")
        assert unit.body("a", "d1") == b"what a person wrote"
        assert store.head_position() == 0
        assert store.tail("a", 1) == []
        assert store.body("a", "d1") is None
        assert table_rows(store, "owners") == []
        unit.commit()
        assert store.head_position() == third
    assert count(store) == 3


def test_a_version_that_exists_is_a_conflict_and_nothing_is_written(
    store: AnyStore,
) -> None:
    append(store, event("a", 1), event("b", 1))
    before = everything(store)
    with pytest.raises(Conflict):
        write(
            store,
            lambda unit: unit.add(
                [event("c", 1), event("b", 1)],
                command("a", "c1"),
                [BodyRow("d1", "a", b"body")],
                [owner("one", "agent 1")],
            ),
        )
    assert everything(store) == before


def test_a_version_added_twice_in_one_unit_is_a_conflict(store: AnyStore) -> None:
    with pytest.raises(Conflict):
        append(store, event("a", 1), event("a", 1))
    with pytest.raises(Conflict):
        write(store, overrun, overrun)
    assert store.head_position() == 0


def test_a_command_id_is_unique_in_its_stream(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        unit.add([event("a", 1)], command("a", "c1"))
        unit.add([event("b", 1)], command("b", "c1"))
        unit.commit()
    with pytest.raises(Conflict):
        write(store, lambda unit: unit.add([event("a", 2)], command("a", "c1", 2)))
    assert count(store) == 2


def leave(_unit: Unit) -> None:
    """Leave the unit without committing."""


def fail(_unit: Unit) -> None:
    raise ZeroDivisionError


def interrupt(_unit: Unit) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("end", [leave, fail, interrupt, overrun])
def test_an_abandoned_unit_changes_nothing(
    store: AnyStore, end: Callable[[Unit], None]
) -> None:
    append(store, event("b", 1))
    before = everything(store)
    try:
        with store.write(10.0) as unit:
            fill(unit)
            unit.add([], None, erase=["b"])
            end(unit)
    except (ZeroDivisionError, KeyboardInterrupt, Conflict):
        pass
    assert everything(store) == before
    assert nth(store, append(store, event("b", 2))) == [2]


def test_a_unit_that_nobody_ends_gives_its_turn_back(store: AnyStore) -> None:
    # A signal can strike between the two lines with which Python enters `with`.
    unit = store.write(10.0)
    unit.__enter__()
    fill(unit)
    del unit
    assert nth(store, append(store, event("a", 1))) == [1]


def test_what_failed_cannot_be_committed(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        unit.add([event("a", 1)], None)
        with pytest.raises(Conflict):
            unit.add([event("b", 1), event("a", 1)], None)
        with pytest.raises(Conflict):
            unit.commit()
        for read in (lambda: unit.tail("a", 1), lambda: unit.head("a")):
            with pytest.raises(Conflict):
                read()
    assert store.head_position() == 0


def test_a_unit_that_is_over_refuses_everything(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        unit.add([event("a", 1)], None)
        unit.commit()
        with pytest.raises(StoreUnavailable, match="begin another"):
            unit.add([event("a", 2)], None)
    for attempt in (unit.commit, lambda: unit.tail("a", 1), lambda: fill(unit)):
        with pytest.raises(StoreUnavailable, match="begin another"):
            attempt()
    assert count(store) == 1


def test_table_rows_are_put_replaced_and_deleted_in_order(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        changes = [owner("b", "agent 1"), owner("a", None), owner("b", "agent 2", 2)]
        unit.add([], None, changes=changes)
        unit.add([], None, changes=[owner("c", "agent 1")])
        unit.commit()
    assert table_rows(store, "owners") == [
        ("session", "a", None, 1),
        ("session", "b", "agent 2", 2),
        ("session", "c", "agent 1", 1),
    ]
    with store.write(10.0) as unit:
        gone = [
            RowChange("owners", ("session", name), None) for name in ("a", "c", "x")
        ]
        unit.add([], None, changes=[*gone, owner("a", "agent 3")])
        unit.commit()
    assert [row[2] for row in table_rows(store, "owners")] == ["agent 3", "agent 2"]


def test_a_table_that_was_not_named_is_refused(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        with pytest.raises(InvalidInput, match="'nobody'"):
            unit.add([event("a", 1)], None, changes=[RowChange("nobody", ("x",), None)])
        with pytest.raises(InvalidInput):
            unit.commit()
    assert store.head_position() == 0
    with pytest.raises(InvalidInput, match="'nobody'"):
        table_rows(store, "nobody")


def test_bodies_are_stored_once_and_erased_by_stream(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        unit.add([], None, [BodyRow("d1", "a", b"1"), BodyRow("d2", "a", b"2")])
        unit.add([], None, [BodyRow("d1", "a", b"1", "key"), BodyRow("d1", "b", b"3")])
        unit.commit()
    assert store.body("a", "d1") == b"1"
    with store.write(10.0) as unit:
        unit.add([event("a", 1)], None, [BodyRow("d3", "a", b"4")], erase=["a", "x"])
        assert unit.body("a", "d1") is None
        assert unit.body("a", "d3") == b"4"
        unit.commit()
    assert store.body("a", "d1") is store.body("a", "d2") is None
    assert store.body("a", "d3") == b"4"
    assert store.body("b", "d1") == b"3"


def test_positions_rise_whatever_was_abandoned(store: AnyStore) -> None:
    (first,) = append(store, event("a", 1))
    with store.write(10.0) as unit:
        one, two = unit.add([event("a", 2), event("b", 1)], None)
        assert first < one < two
    with store.write(10.0) as unit:
        assert list(unit.add([], None)) == []
        added = [*unit.add([event("b", 1)], None)]
        added += unit.add([event("a", 2), event("c", 1)], None)
        unit.commit()
    assert [first, *added] == sorted(row.position for row in store.events(0))
    assert [row.stream for row in store.events(0)] == ["a", "b", "a", "c"]


@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
def test_one_writer_at_a_time_leaves_no_hole(store: AnyStore) -> None:
    assert append(store, event("a", 1)) == [1]
    with store.write(10.0) as unit:
        assert list(unit.add([event("a", 2), event("b", 1)], None)) == [2, 3]
    with store.write(10.0) as unit:
        assert list(unit.add([], None)) == []
        assert list(unit.add([event("b", 1)], None)) == [2]
        assert list(unit.add([event("a", 2), event("c", 1)], None)) == [3, 4]
        unit.commit()
    assert [row.position for row in store.events(0)] == [1, 2, 3, 4]
    assert store.head_position() == 4


def test_a_long_ledger_is_read_by_pages(store: AnyStore) -> None:
    append(store, *[event(f"s{n % 7}", n // 7 + 1) for n in range(4001)])
    rows = list(store.events(0))
    assert [(row.stream, row.version) for row in rows] == [
        (f"s{n % 7}", n // 7 + 1) for n in range(4001)
    ]
    at = [0, *(row.position for row in rows)]
    assert all(one < two for one, two in pairwise(at))
    assert all(row.hash == row_hash(*row[1:5]) for row in rows)
    assert list(store.events(at[1990], at[2010])) == rows[1990:2010]
    assert list(store.events(at[2000], at[4000])) == rows[2000:4000]
    assert list(store.events(at[-1])) == list(store.events(at[5], at[5])) == []
    hashes = [(row.position, row.hash) for row in rows]
    assert list(store.hashes(0)) == hashes
    assert list(store.hashes(at[3999])) == hashes[3999:]


def test_a_reader_between_two_pages_holds_up_no_writer(store: AnyStore) -> None:
    append(store, *[event("a", n + 1) for n in range(2000)])
    reading = store.events(0)
    assert next(reading).version == 1
    append(store, event("b", 1))
    assert [row.version for row in reading] == [*range(2, 2001), 1]


def test_units_of_many_threads_lose_nothing(store: AnyStore) -> None:
    written: list[int] = []

    def work() -> None:
        for _ in range(10):
            while True:
                # A store that holds nobody back says so afterwards.
                with suppress(Conflict):
                    written.append(append_next(store, "shared"))
                    break

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(written) == list(range(1, 61))
    assert [row.version for row in store.events(0)] == list(range(1, 61))


@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
def test_a_turn_that_does_not_come_in_time_is_contended(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        fill(unit)
        for seconds in (0.0, 0.01, -1.0):
            with pytest.raises(Contended, match="Call again"):
                append_for(store, seconds)
        unit.commit()
    append_for(store, 0.0)
    assert store.head_position() == 3


def append_for(store: Store, seconds: float) -> None:
    with store.write(seconds) as unit:
        unit.add([event("z", 1)], None)
        unit.commit()


def test_a_reader_never_waits_for_a_writer(store: AnyStore) -> None:
    append(store, event("a", 1))
    with store.write(10.0) as unit:
        unit.add([event("a", 2)], None)
        assert count(store) == 1
        assert len(store.recorder.select_events("a")) == 1


def test_old_histories_enter_through_the_recorder(store: AnyStore) -> None:
    recorder = store.recorder
    assert not recorder.max_notification_id()
    assert recorder.select_notifications(None, 10) == []
    old = [StoredEvent("a", version, "old.v1", b"[]") for version in (1, 2, 7)]
    assert nth(store, recorder.insert_events(old)) == [1, 2, 3]
    assert list(recorder.insert_events([])) == []
    assert [row.version for row in store.tail("a", 2)] == [2, 7]
    assert [row.hash for row in store.events(0)] == [
        row_hash("a", version, "old.v1", b"[]") for version in (1, 2, 7)
    ]
    assert recorder.select_events("a", gt=1, desc=True) == [old[2], old[1]]
    _, second, third = (row.position for row in store.events(0))
    assert recorder.max_notification_id() == store.head_position() == third
    notified = recorder.select_notifications(second, 10, topics=["old.v1"])
    told = [(note.id, note.originator_version) for note in notified]
    assert told == [(second, 2), (third, 7)]
    assert nth(store, append(store, event("a", 8))) == [4]


def test_the_recorder_refuses_a_version_that_exists(store: AnyStore) -> None:
    append(store, event("a", 1))
    with pytest.raises(IntegrityError):
        store.recorder.insert_events(
            [StoredEvent("b", 1, "old.v1", b""), StoredEvent("a", 1, "old.v1", b"")]
        )
    assert count(store) == 1


def test_a_stream_is_in_order_of_versions_however_it_was_written(
    store: AnyStore,
) -> None:
    store.recorder.insert_events([StoredEvent("a", 5, "old.v1", b"")])
    store.recorder.insert_events([StoredEvent("a", 2, "old.v1", b"")])
    assert [row.version for row in store.tail("a", 0)] == [2, 5]
    with store.write(10.0) as unit:
        unit.add([event("a", 3)], None)
        assert [row.version for row in unit.tail("a", 3)] == [3, 5]
        assert unit.head("a") == (5, unit.tail("a", 5)[0].hash)


def test_setup_may_be_asked_for_again(store: AnyStore) -> None:
    store.setup()
    append(store, event("a", 1))
    store.setup()
    assert count(store) == 1


def test_a_closed_store_says_so(store: AnyStore) -> None:
    append(store, event("a", 1))
    store.close()
    store.close()
    attempts: list[Callable[[], object]] = [
        lambda: store.tail("a", 1),
        lambda: store.body("a", "d1"),
        lambda: next(store.events(0)),
        lambda: next(store.hashes(0)),
        store.head_position,
        store.setup,
        lambda: table_rows(store, "owners"),
        lambda: append(store, event("a", 2)),
        lambda: store.recorder.insert_events([StoredEvent("b", 1, "old.v1", b"")]),
    ]
    for attempt in attempts:
        with pytest.raises(StoreUnavailable, match="open another"):
            attempt()


def test_a_store_closed_under_a_unit_lets_it_end(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        unit.add([event("a", 1)], None)
        store.close()
        unit.commit()
    with pytest.raises(StoreUnavailable, match="open another"):
        append(store, event("a", 2))
