"""Tables in the events' own transaction: both are stored, or neither is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import reduce
from operator import itemgetter

import pytest

from stopping import SEEN, SeenTable
from table_rows import table_rows
from tenure import (
    AlreadyDecided,
    Corrupt,
    Evidence,
    FencedOut,
    First,
    InvalidInput,
    Ledger,
    OwnerRef,
    Recorded,
    StoreUnavailable,
)
from tenure_ledger.events import ToolCallIntended
from tenure_ledger.folds.stream import State, evolve
from tenure_ledger.hook import Change
from tenure_ledger.rows import Column, RowChange, TableSpec
from tenure_ledger.shell import Shell
from tenure_ledger.stores import open_store
from worlds import World

BARE = True
"""The world's ledger has no tables before it is used."""
S = OwnerRef("session", "ses_1")
Bodies = Callable[[str, str], bytes | None]


class Watched(SeenTable):
    """The table `SEEN`; a test can look at each change, and spoil it."""

    def __init__(self) -> None:
        self.changed: list[list[Change]] = []
        self.spoil: Callable[[], RowChange | None] = lambda: None
        self.bodies: list[bytes | None] = []

    def changes(self, changes: Sequence[Change], body: Bodies) -> Iterator[RowChange]:
        """Return the rows, then what the test adds."""
        self.changed.append(list(changes))
        return self._rows(changes, body)

    def _rows(self, changes: Sequence[Change], body: Bodies) -> Iterator[RowChange]:
        self.bodies = [
            body(one.stream, one.event.arguments)
            for one in (one for change in changes for one in change.events)
            if isinstance(one.event, ToolCallIntended)
        ]
        yield from super().changes(changes, body)
        extra = self.spoil()
        if extra is not None:
            yield extra


class Desk:
    """A ledger with the table, and the store beneath both."""

    def __init__(self, url: str, specs: Sequence[TableSpec] = (SEEN,)) -> None:
        self.tables = Watched()
        store = open_store(url, specs, self.tables.fill)
        self.store = store
        shell = Shell(
            store,
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            process=lambda: "host",
            deadline_seconds=30.0,
            tables=self.tables,
        )
        self.ledger = Ledger(shell)

    def rows(self) -> list[tuple[Column, ...]]:
        """Return what is in the table."""
        return table_rows(self.store, "seen")

    def expected(self) -> list[tuple[Column, ...]]:
        """Return what must be in it: a row for each event."""
        return sorted(
            (one.stream, one.version, one.event.topic) for one in self.ledger.events()
        )

    def everything(self) -> tuple[object, ...]:
        """Return all that the store holds."""
        with self.store.write(10.0) as unit:
            command = unit.command(S.stream, "c1")
        return self.ledger.head(), self.rows(), command


@pytest.fixture
def desk(world: World) -> Iterator[Desk]:
    opened = Desk(world.url)
    yield opened
    opened.ledger.close()


def test_every_command_changes_its_rows_with_its_events(desk: Desk) -> None:
    ledger = desk.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"))
    assert desk.rows() == desk.expected()
    ledger.start(one, "m1")
    ledger.begin_tool_call(one, "m1", "c1", "shell", {"run": "x"})
    ledger.retire(one, "continue", "go on")
    assert len(desk.rows()) == ledger.head().count
    assert desk.rows() == desk.expected()
    ledger.delete_conversation(S, "host")
    assert desk.rows() == desk.expected()


def test_a_refused_or_repeated_command_changes_no_row(desk: Desk) -> None:
    ledger = desk.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"), command_id="c1")
    ledger.settle(one, "m1", "completed")
    desk.tables.changed.clear()
    assert ledger.claim(
        S, "t1", "host", first=First("m1", "human"), command_id="c1"
    ) == (one)
    ledger.settle(one, "m1", "completed")
    with pytest.raises(AlreadyDecided):
        ledger.settle(one, "m1", "failed")
    # This one is stored for its command id alone: it has no event, and no row.
    ledger.settle(one, "m1", "completed", command_id="c2")
    assert desk.tables.changed == []
    assert desk.rows() == desk.expected()


def test_the_refusal_that_stores_a_late_fact_changes_its_row_too(desk: Desk) -> None:
    ledger = desk.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    ledger.take_over(S, "t2", "host", Evidence.gone(ledger.owner(S)))
    with pytest.raises(FencedOut) as late:
        ledger.settle(one, "m1", "completed")
    assert (S.stream, late.value.late, "late-result.v1") in desk.rows()
    assert desk.rows() == desk.expected()


def test_the_hook_sees_each_command_between_the_states_around_it(desk: Desk) -> None:
    one = desk.ledger.claim(S, "t1", "host", first=First("m1", "human"))
    desk.ledger.retire(one, "continue", "go on")
    streams: dict[str, State] = {}
    seen: list[Recorded] = []
    for changes in desk.tables.changed:
        assert len({change.after.stream for change in changes}) == len(changes)
        for change in changes:
            stream = change.after.stream
            before = streams.get(stream, State(stream))
            assert change.before == before
            assert change.after == reduce(evolve, change.events, before)
            streams[stream] = change.after
            seen.extend(change.events)
    kept = [(at.stream, at.version, at.hash, at.event) for at in desk.ledger.events()]
    assert sorted(kept, key=itemgetter(0, 1)) == sorted(
        ((at.stream, at.version, at.hash, at.event) for at in seen),
        key=itemgetter(0, 1),
    )


def test_the_hook_can_read_the_bodies_of_its_own_command(desk: Desk) -> None:
    one = desk.ledger.claim(S, "t1", "host", first=First("m1", "human"))
    desk.ledger.start(one, "m1")
    desk.ledger.begin_tool_call(one, "m1", "c1", "shell", {"run": "x"})
    assert desk.tables.bodies == [b'{"run":"x"}']


def unknown_table() -> RowChange | None:
    return RowChange("nowhere", ("a",), ("a",))


def broken_row() -> RowChange | None:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [(unknown_table, InvalidInput), (broken_row, ZeroDivisionError)],
)
def test_a_hook_that_fails_leaves_nothing_and_the_command_can_be_asked_again(
    desk: Desk,
    spoil: Callable[[], RowChange | None],
    problem: type[Exception],
) -> None:
    ledger = desk.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    before = desk.everything()
    desk.tables.spoil = spoil
    arguments = {"text": "what a person wrote"}
    for _ in range(2):
        with pytest.raises(problem):
            ledger.begin_tool_call(one, "m1", "c1", "shell", arguments, command_id="c1")
        assert desk.everything() == before
        assert ledger.tool_call(S, "m1", "c1") is None
    desk.tables.spoil = lambda: None
    call = ledger.begin_tool_call(one, "m1", "c1", "shell", arguments, command_id="c1")
    assert call.state == "fresh"
    (intended,) = [
        at.event for at in ledger.history(S) if isinstance(at.event, ToolCallIntended)
    ]
    assert ledger.body(S, intended.arguments) == arguments
    assert desk.rows() == desk.expected()
    assert ledger.verify().ok


def test_no_body_of_a_command_that_failed_is_left(desk: Desk) -> None:
    ledger = desk.ledger
    one = ledger.claim(S, "t1", "host")
    desk.tables.spoil = broken_row
    with pytest.raises(ZeroDivisionError):
        ledger.retire(one, "continue", "a secret")
    (changes,) = desk.tables.changed[-1:]
    digests = [
        getattr(one.event, "handover", None)
        for change in changes
        for one in change.events
    ]
    (digest,) = [digest for digest in digests if digest]
    assert ledger.body(S, digest) is None
    ledger.check(one)


def test_rows_are_put_replaced_and_deleted_in_the_order_given(desk: Desk) -> None:
    key = ("x", 1)
    desk.tables.spoil = lambda: RowChange("seen", key, (*key, "one"))
    desk.ledger.accept(S, "m1", "inbox")
    desk.tables.spoil = lambda: RowChange("seen", key, (*key, "two"))
    desk.ledger.accept(S, "m2", "inbox")
    assert (*key, "two") in desk.rows()
    desk.tables.spoil = lambda: RowChange("seen", key, None)
    desk.ledger.accept(S, "m3", "inbox")
    assert desk.rows() == desk.expected()


UNIQUE = SEEN._replace(
    create={
        "sqlite": "CREATE TABLE IF NOT EXISTS seen (stream TEXT, version INTEGER, "
        "topic TEXT UNIQUE, PRIMARY KEY (stream, version))",
        "postgres": "CREATE TABLE IF NOT EXISTS seen (stream text, version bigint, "
        "topic text UNIQUE, PRIMARY KEY (stream, version))",
    }
)


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_row_that_the_table_refuses_is_a_fault_and_leaves_nothing(
    world: World,
) -> None:
    desk = Desk(world.url, (UNIQUE,))
    with desk.ledger as ledger:
        ledger.accept(S, "m1", "inbox")
        before = desk.everything()
        with pytest.raises(Corrupt, match="rebuild"):
            ledger.accept(S, "m2", "inbox", command_id="c1")
        assert desk.everything() == before


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_a_table_that_is_new_in_a_ledger_is_filled_with_what_is_there(
    world: World,
) -> None:
    one = world.plain().claim(S, "t1", "host", first=First("m1", "human"))
    desk = Desk(world.url)
    with desk.ledger as ledger:
        ledger.settle(one, "m1", "completed")
        assert desk.rows() == desk.expected()


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_who_does_not_know_the_tables_may_not_write(world: World) -> None:
    with Desk(world.url).ledger as ledger:
        ledger.accept(S, "m1", "inbox")
        head = ledger.head()
    with pytest.raises(StoreUnavailable, match=r"tables .*\(seen\)"):
        world.plain().accept(S, "m2", "inbox")
    with Desk(world.url).ledger as ledger:
        assert ledger.head() == head
