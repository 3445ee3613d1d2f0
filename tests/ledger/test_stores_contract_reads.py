"""What every store promises of snapshots, tables and of what a unit rests on.

The other half of `test_stores_contract`, on the same stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise

import pytest
from eventsourcing.persistence import StoredEvent

from stored import AnyStore, append, count, event, nth, owner
from table_rows import table_rows
from tenure_ledger.errors import Contended, InvalidInput, StoreUnavailable
from tenure_ledger.rows import (
    BodyRow,
    Column,
    Conflict,
    RowChange,
    Snapshot,
    TableSpec,
    Unit,
)

ODD = TableSpec(
    "odd",
    ("k", "v"),
    ("k",),
    {
        "sqlite": "CREATE TABLE IF NOT EXISTS odd (k PRIMARY KEY, v)",
        "postgres": "CREATE TABLE IF NOT EXISTS odd (k text PRIMARY KEY, v bigint)",
    },
)
TYPED = [
    (
        "text",
        "text",
        ["", "B", "a", "\N{HALFWIDTH KATAKANA LETTER A}", "\N{SNOWFLAKE}"],
    ),
    ("number", "bigint", [-(2**63), -1, 0, 2, 10, 2**63 - 1]),
    ("part", "double precision", [-1e300, -0.5, 0.0, 0.1, 2.5, 1e-7 + 3]),
    ("data", "bytea", [b"", b"\0", b"a", b"a\0", b"\xff"]),
]


def change(store: AnyStore, *changes: RowChange, seconds: float = 10.0) -> None:
    """Change rows in one unit."""
    with store.write(seconds) as unit:
        unit.add([], None, changes=changes)
        unit.commit()


# Snapshots


def test_streams_are_in_the_order_of_their_bytes(store: AnyStore) -> None:
    names = ["B", "a", "a:", "ab", "b", "\N{LATIN SMALL LETTER E WITH ACUTE}"]
    names += ["\N{HALFWIDTH KATAKANA LETTER A}", "\N{GRINNING FACE}"]
    append(store, *[event(name, 1) for name in reversed(names)])
    append(store, event("b", 2))
    with store.snapshot() as snapshot:
        assert list(snapshot.streams()) == names


@pytest.mark.parametrize(("name", "kind", "keys"), TYPED)
def test_rows_are_in_the_order_of_their_keys(
    store: AnyStore, name: str, kind: str, keys: list[Column]
) -> None:
    create = f"CREATE TABLE IF NOT EXISTS {name} (k %s PRIMARY KEY, v %s)"
    sqlite, server = create % ("", ""), create % (kind, kind)
    columns = ("k", "v")
    store.define(
        [TableSpec(name, columns, ("k",), {"sqlite": sqlite, "postgres": server})]
    )
    change(store, *[RowChange(name, (key,), (key, key)) for key in reversed(keys)])
    rows = [(key, key) for key in sorted(keys)]  # type: ignore[type-var]
    assert table_rows(store, name) == rows
    with store.write(10.0) as unit:
        assert list(unit.rows(name, {})) == rows
        where: dict[str, Column] = {"k": keys[1]}
        assert list(unit.rows(name, where)) == [(keys[1], keys[1])]


@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
def test_rows_of_any_types_are_in_the_order_of_their_keys(store: AnyStore) -> None:
    keys: list[Column] = [
        None,
        -1,
        2,
        2.5,
        10,
        "B",
        "a",
        "\N{GRINNING FACE}",
        b"",
        b"a",
    ]
    store.define([ODD])
    change(store, *[RowChange("odd", (key,), (key, 1)) for key in reversed(keys)])
    assert [row[0] for row in table_rows(store, "odd")] == keys
    with store.write(10.0) as unit:
        assert [row[0] for row in unit.rows("odd", {})] == keys


def test_rows_are_found_by_the_values_of_any_columns(store: AnyStore) -> None:
    change(store, owner("b", None), owner("a", None), owner("c", "agent", 2))
    with store.snapshot() as snapshot, store.write(10.0) as unit:
        for found in (snapshot.rows, unit.rows):
            assert [row[1] for row in found("owners", {})] == ["a", "b", "c"]
            assert [row[1] for row in found("owners", {"agent": None})] == ["a", "b"]
            by_two = found("owners", {"generation": 2, "agent": "agent"})
            assert list(by_two) == [("session", "c", "agent", 2)]
            by_key = found("owners", {"owner": "b", "kind": "session"})
            assert list(by_key) == [("session", "b", None, 1)]
            assert list(found("owners", {"generation": 2, "agent": None})) == []
            with pytest.raises(InvalidInput, match="'name'"):
                list(found("owners", {"name": "a"}))
            with pytest.raises(InvalidInput, match="'nobody'"):
                list(found("nobody", {}))


def test_a_snapshot_is_of_one_moment_whatever_is_written(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        bodies = [BodyRow("d1", "a", b"old")]
        unit.add([event("a", 1), event("b", 1)], None, bodies, [owner("a", None)])
        unit.commit()
    with store.snapshot() as before:
        told = _told(before)
        under_way = before.rows("owners")
        with store.write(10.0) as unit:
            changes = [RowChange("owners", ("session", "a"), None), owner("b", "agent")]
            bodies = [BodyRow("d2", "a", b"new")]
            events = [event("a", 2), event("c", 1)]
            unit.add(events, None, bodies, changes, erase=["a"])
            unit.commit()
        assert _told(before) == told
        assert list(under_way) == [("session", "a", None, 1)]
    with store.snapshot() as after:
        assert nth(store, [after.position]) == [4]
        assert list(after.streams()) == ["a", "b", "c"]
        assert [row.version for row in after.tail("a", 2)] == [2]
        assert [after.body("a", digest) for digest in ("d1", "d2")] == [None, b"new"]
        assert list(after.rows("owners")) == [("session", "b", "agent", 1)]


def _told(snapshot: Snapshot) -> tuple[object, ...]:
    return (
        snapshot.position,
        list(snapshot.streams()),
        [list(snapshot.tail(stream, 1)) for stream in ("a", "b", "c")],
        [snapshot.body("a", digest) for digest in ("d1", "d2")],
        list(snapshot.rows("owners")),
    )


# What tells how far the ledger is


def test_nothing_appears_any_more_up_to_the_horizon(store: AnyStore) -> None:
    assert store.horizon() == 0
    append(store, event("a", 1))
    with store.write(10.0) as unit:
        unit.add([event("a", 2)], None)
        safe = store.horizon()
        seen = list(store.events(0, safe))
        unit.commit()
    assert list(store.events(0, safe)) == seen
    append(store, event("b", 1))
    assert store.horizon() == store.head_position()
    assert count(store) == 3


def test_the_pulse_is_another_after_every_commit_of_events(store: AnyStore) -> None:
    commits: list[Callable[[], object]] = [
        lambda: append(store, event("a", 1)),
        lambda: append(store, event("b", 1), event("b", 2)),
        lambda: store.recorder.insert_events([StoredEvent("c", 1, "old.v1", b"")]),
        lambda: append(store, event("a", 2)),
    ]
    seen = [store.pulse()]
    for commit in commits:
        commit()
        seen.append(store.pulse())
        assert store.pulse() == seen[-1]
    assert all(one != two for one, two in pairwise(seen))


# Further tables


def test_a_table_that_is_defined_again_keeps_its_rows(store: AnyStore) -> None:
    append(store, event("a", 1))
    with pytest.raises(InvalidInput, match="'odd'"):
        table_rows(store, "odd")
    store.define([ODD])
    change(store, RowChange("odd", ("a",), ("a", 1)))
    store.define([ODD])
    assert table_rows(store, "odd") == [("a", 1)]


def test_a_name_is_of_one_table_only(store: AnyStore) -> None:
    store.define([ODD])
    for taken in (ODD._replace(columns=("k", "w")), ODD._replace(name="owners")):
        with pytest.raises(InvalidInput, match=f"{taken.name!r}"):
            store.define([taken])
    change(store, owner("a", None), RowChange("odd", ("a",), ("a", 1)))


# What a unit rests on


def of_the_stream(unit: Unit) -> object:
    unit.expect({"a": 1, "b": 0})
    return unit.head("a")


def of_the_rows(unit: Unit) -> object:
    return unit.rows("owners", {"agent": "agent"})


@pytest.mark.parametrize("read", [of_the_stream, of_the_rows])
def test_what_a_unit_read_is_so_when_it_commits(
    store: AnyStore, read: Callable[[Unit], object]
) -> None:
    append(store, event("a", 1))
    change(store, owner("one", "agent"))
    moved = True
    with store.write(10.0) as unit:
        before = read(unit)
        try:
            with store.write(0.0) as other:
                other.add([event("a", 2)], None, (), [owner("one", None)])
                other.commit()
        except Contended:
            moved = False
            assert read(unit) == before
        unit.add([event("c", 1)], None)
        with suppress(Conflict):
            unit.commit()
    assert bool(store.tail("c", 1)) is not moved


def test_a_confirmation_is_a_commit_that_changes_nothing(store: AnyStore) -> None:
    append(store, event("a", 1))
    before = list(store.events(0))
    with store.write(10.0) as unit:
        unit.confirm()
        unit.commit()
        with pytest.raises(StoreUnavailable, match="begin another"):
            unit.confirm()
    assert list(store.events(0)) == before


def test_a_unit_finds_the_rows_that_it_changed(store: AnyStore) -> None:
    change(store, owner("a", "agent 1"), owner("b", "agent 2"))
    with store.write(10.0) as unit:
        gone = RowChange("owners", ("session", "a"), None)
        unit.add([], None, changes=[gone, owner("b", "agent 1"), owner("c", None)])
        rows = [("session", "b", "agent 1", 1), ("session", "c", None, 1)]
        assert list(unit.rows("owners", {})) == rows
        assert list(unit.rows("owners", {"agent": "agent 1"})) == rows[:1]
        for name, found in (("a", []), ("b", rows[:1]), ("c", rows[1:])):
            key: dict[str, Column] = {"kind": "session", "owner": name}
            assert list(unit.rows("owners", key)) == found
        unit.commit()
    assert table_rows(store, "owners") == rows


def test_changes_are_made_last_and_one_by_one(store: AnyStore) -> None:
    with store.write(10.0) as unit:
        unit.add([], None, [BodyRow("old", "a", b"old")])
        unit.commit()
    seen: list[object] = []
    with store.write(10.0) as unit:

        def changes() -> Iterator[RowChange]:
            seen.append([unit.body("a", digest) for digest in ("old", "new")])
            seen.append(unit.head("a"))
            yield owner("one", None)
            seen.append(list(unit.rows("owners", {})))
            yield owner("two", None)

        lazy, new = changes(), [BodyRow("new", "a", b"new")]
        unit.add([event("a", 1)], None, new, lazy, erase=["a"])
        unit.commit()
    assert seen == [
        [None, b"new"],
        (1, event("a", 1).hash),
        [("session", "one", None, 1)],
    ]
    assert len(table_rows(store, "owners")) == 2
