"""A read model is declared once, and its values are the same on every store."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from following import Counts
from tenure import (
    Follower,
    InvalidInput,
    ModelRows,
    ModelTable,
    OwnerRef,
    Recorded,
)
from worlds import World

KINDS = ModelTable(
    "kinds",
    {"a": str, "b": int, "text": str, "whole": int, "real": float, "data": bytes},
    ("b", "a"),
)
FULL: dict[str, Any] = {
    "a": "é\U0001f600",
    "b": -(2**63),
    "text": "e\u0301\n'\"",
    "whole": 2**63 - 1,
    "real": 0.1,
    "data": b"\0\xff",
}
NOTHING: dict[str, Any] = dict.fromkeys(("text", "whole", "real", "data"))


class Color(StrEnum):
    """What hosts pass as text."""

    RED = "red"


class Runs:
    """Runs a function for the first event alone."""

    name = "runs"
    tables = (KINDS, ModelTable("alone", {"key": str}, "key"))

    def __init__(self, run: Callable[[ModelRows], object]) -> None:
        self.run = run
        self.answer: object = None

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Run it."""
        if recorded.version == 1 and recorded.stream.startswith("owner:"):
            self.answer = self.run(rows)


def run(world: World, work: Callable[[ModelRows], object]) -> tuple[Follower, object]:
    """Let a model do the work for an event; return its follower and the answer."""
    if not world.ledger.head().count:
        world.ledger.claim(OwnerRef("session", "ses_1"), "manager/1", "host")
    model = Runs(work)
    follower = world.ledger.follower(model)
    follower.reset()
    follower.catch_up()
    return follower, model.answer


def test_values_are_read_back_as_they_were_put(world: World) -> None:
    def work(rows: ModelRows) -> object:
        rows.put("kinds", **FULL)
        rows.put("kinds", a="", b=0, **NOTHING)
        return rows.get("kinds", a=FULL["a"], b=FULL["b"]), rows.find("kinds")

    follower, answer = run(world, work)
    stored = [FULL, {"a": "", "b": 0, **NOTHING}]
    assert answer == (FULL, stored)
    assert list(follower.rows("kinds")) == stored
    assert list(follower.rows("kinds", whole=None)) == stored[1:]
    shown = map(repr, next(iter(follower.rows("kinds"))).values())
    assert list(shown) == list(map(repr, FULL.values()))


def test_what_is_nearly_of_its_type_is_made_plain(world: World) -> None:
    def work(rows: ModelRows) -> None:
        rows.put("kinds", a=Color.RED, b=True, text=None, whole=False, real=3, data=b"")
        rows.put("kinds", a="x", b=2, **{**NOTHING, "real": -0.0})

    follower, _ = run(world, work)
    red, zero = follower.rows("kinds")
    shown = [repr(red[name]) for name in ("a", "b", "whole", "real")]
    assert shown == ["'red'", "1", "0", "3.0"]
    assert repr(zero["real"]) == "0.0"


WRONG: dict[str, Callable[[ModelRows], object]] = {
    "no such table": lambda rows: rows.get("nothing", a="x"),
    "a table of the ledger": lambda rows: rows.find("recovery_owners"),
    "no such column": lambda rows: rows.find("kinds", c=1),
    "a part of the key": lambda rows: rows.get("kinds", a="x"),
    "more than the key": lambda rows: rows.delete("kinds", a="x", b=1, whole=1),
    "a part of the row": lambda rows: rows.put("kinds", a="x", b=1, whole=1),
    "a row with more": lambda rows: rows.put("kinds", **FULL, more=1),
    "None in the key": lambda rows: rows.put("alone", key=None),
    "text for a number": lambda rows: rows.find("kinds", whole="1"),
    "a real for a whole": lambda rows: rows.find("kinds", whole=1.0),
    "a number too large": lambda rows: rows.find("kinds", whole=2**63),
    "bytes for text": lambda rows: rows.find("kinds", text=b"x"),
    "text for bytes": lambda rows: rows.find("kinds", data="x"),
    "nought in text": lambda rows: rows.find("kinds", text="a\0b"),
    "half a pair": lambda rows: rows.find("kinds", text="\ud83d"),
    "no number": lambda rows: rows.find("kinds", real=math.nan),
    "infinity": lambda rows: rows.find("kinds", real=math.inf),
    "a key too long": lambda rows: rows.get("alone", key="é" * 1001),
}


@pytest.mark.parametrize("work", WRONG.values(), ids=WRONG.keys())
def test_what_no_store_could_keep_is_refused_before_it_is_written(
    world: World, work: Callable[[ModelRows], object]
) -> None:
    def refused(rows: ModelRows) -> None:
        with pytest.raises(InvalidInput):
            work(rows)

    follower, _ = run(world, refused)
    assert follower.parked() == []
    follower, _ = run(world, work)
    (parked,) = follower.parked()
    assert parked.error.startswith("tenure_ledger.errors.refusals.InvalidInput: ")


def test_a_model_reads_what_it_has_not_committed_yet(world: World) -> None:
    rows_of_a = [{"a": f"{n}", "b": 1, **NOTHING} for n in range(4)]

    class Many(Runs):
        def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
            """Change a row for each of the first events, and look at all of them."""
            number = positions.index(recorded.position)
            if number < 4:
                assert rows.find("kinds", b=1) == rows_of_a[:number]
                rows.put("kinds", **rows_of_a[number])
                assert rows.find("kinds", b=1) == rows_of_a[: number + 1]
                assert rows.find("kinds", b=2) == []
            elif number == 4:
                rows.delete("kinds", a="1", b=1)
                rows.delete("kinds", a="never", b=1)
                assert rows.get("kinds", a="1", b=1) is None
                found = rows.get("kinds", a="2", b=1)
                assert found is not None
                assert found == rows_of_a[2]
                # A dict of its own.
                found["whole"] = 7
                assert rows.get("kinds", a="2", b=1) == rows_of_a[2]

    for number in range(3):
        world.ledger.claim(OwnerRef("session", f"{number}"), f"agent {number}", "host")
    positions = [one.position for one in world.ledger.events()]
    for events_max in (1, 500):
        follower = world.ledger.follower(Many(lambda _: None), events_max=events_max)
        follower.reset()
        follower.catch_up()
        assert follower.parked() == []
        assert list(follower.rows("kinds")) == [rows_of_a[n] for n in (0, 2, 3)]


def test_rows_are_good_for_their_event_only(world: World) -> None:
    kept: list[ModelRows] = []
    run(world, kept.append)
    with pytest.raises(InvalidInput, match="inside handle only"):
        kept[0].put("alone", key="late")


TABLES: dict[str, Callable[[], object]] = {
    "a name with a space": lambda: ModelTable("my table", {"a": str}, "a"),
    "a name in capitals": lambda: ModelTable("Mine", {"a": str}, "a"),
    "the ledger's": lambda: ModelTable("stored_events", {"a": str}, "a"),
    "a projection's": lambda: ModelTable("recovery_owners", {"a": str}, "a"),
    "the followers'": lambda: ModelTable("parked_streams", {"a": str}, "a"),
    "SQLite's": lambda: ModelTable("sqlite_mine", {"a": str}, "a"),
    "no column": lambda: ModelTable("mine", {}, "a"),
    "no key": lambda: ModelTable("mine", {"a": str}, ()),
    "a key that is none": lambda: ModelTable("mine", {"a": str}, "b"),
    "a key twice": lambda: ModelTable("mine", {"a": str}, ("a", "a")),
    "a column's name": lambda: ModelTable("mine", {"a b": str}, "a b"),
    "a column's type": lambda: ModelTable("mine", {"a": bool}, "a"),
    "columns in a list": lambda: ModelTable("mine", ["a"], "a"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("declare", TABLES.values(), ids=TABLES.keys())
def test_a_table_that_cannot_be_is_refused(declare: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput):
        declare()


class Waits(Counts):
    """Its method is a coroutine: nobody would wait for it."""

    async def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Do nothing."""


class Nameless(Counts):
    name = ""


class Tableless(Counts):
    tables = ()  # type: ignore[assignment]


class Doubled(Counts):
    tables = (KINDS, KINDS)  # type: ignore[assignment]


@pytest.mark.parametrize(
    "model", [Waits(), Nameless(), Tableless(), Doubled(), object()]
)
def test_a_model_that_cannot_be_is_refused_when_it_is_given(
    world: World,
    model: Any,  # noqa: ANN401  what no type checker has seen
) -> None:
    with pytest.raises(InvalidInput):
        world.ledger.follower(model)


def test_a_follower_reads_and_writes_nothing_before_its_first_use(
    tmp_path: Path,
) -> None:
    world = World("sqlite", tmp_path)
    world.ledger.follower(Counts())
    assert not (tmp_path / "relay.db").exists()
    world.close()


def test_any_client_can_read_the_tables(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    follower, _ = run(world, lambda rows: rows.put("kinds", **FULL))
    with closing(sqlite3.connect(tmp_path / "relay.db")) as db:
        assert db.execute("SELECT * FROM kinds").fetchall() == [tuple(FULL.values())]
        query = "SELECT name, position FROM followers"
        assert db.execute(query).fetchall() == [("runs", follower.position)]
        info = db.execute("PRAGMA table_info(kinds)").fetchall()
        assert [(name, kind, null, key) for _, name, kind, null, _, key in info] == [
            ("a", "TEXT", 1, 2),
            ("b", "INTEGER", 1, 1),
            ("text", "TEXT", 0, 0),
            ("whole", "INTEGER", 0, 0),
            ("real", "REAL", 0, 0),
            ("data", "BLOB", 0, 0),
        ]
    world.close()
