"""Rows or events that were taken from a follower are missed, and it begins again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from threading import Barrier
from time import monotonic

import pytest

from clients import client
from following import Counts, Saw, forgot_nothing, kept
from odd_stores import ledger_on
from processes import other
from tenure import (
    Contended,
    Corrupt,
    Fault,
    Ledger,
    OwnerRef,
    StoreUnavailable,
    open_ledger,
)
from tenure_ledger.rows import SETUP_SECONDS, TableSpec
from tenure_ledger.stores import SQLiteStore
from waiting import until
from worlds import World

ON_DISK = pytest.mark.parametrize("world", ["sqlite", "postgres"], indirect=True)
"""Where another program can take something away."""
BEYOND = "UPDATE followers SET position = position + 1000000000000"
"""More than either store gives as a position while a test runs."""

Run = Callable[[str], object]


@pytest.fixture
def run(world: World) -> Run:
    """Give what runs a statement on the database, as another program does."""

    def run(statement: str) -> None:
        if world.kind == "sqlite":
            with closing(sqlite3.connect(file(world))) as db, db:
                db.execute(statement)
        else:
            with client(world.url.removesuffix("&durability=normal")) as server:
                server.execute(statement.encode())

    return run


@pytest.fixture
def ledger(world: World) -> Ledger:
    """Give a ledger with some events, all of which `Saw` has handled."""
    for number in range(3):
        write(world.ledger, number)
    with world.open("p2") as another:
        another.follower(Saw()).catch_up()
    return world.ledger


def write(ledger: Ledger, number: int) -> None:
    ledger.claim(OwnerRef("session", f"s{number}"), f"a{number}", "host")


def file(world: World) -> str:
    return world.url.removeprefix("sqlite:///")


@ON_DISK
def test_a_position_that_the_ledger_does_not_reach_is_a_fault_until_reset(
    ledger: Ledger, run: Run
) -> None:
    run(BEYOND)
    follower = ledger.follower(Saw())
    for use in (follower.catch_up, follower.run_once, follower.start):
        with pytest.raises(Corrupt, match=r"ledger ends at .*reset\(\)"):
            use()
    write(ledger, 3)
    follower.reset()
    assert follower.catch_up() == forgot_nothing(ledger) == ledger.head().count


@ON_DISK
def test_a_thread_ends_where_the_ledger_does_not_reach_its_position(
    ledger: Ledger, run: Run
) -> None:
    follower = ledger.follower(Saw()).start()
    run(BEYOND)
    until(lambda: not follower.running)
    with pytest.raises(Corrupt, match=r"reset\(\)"):
        follower.close()


@ON_DISK
@pytest.mark.parametrize("tables", [["saw"], ["seen"], ["saw", "seen"]])
def test_a_table_that_was_dropped_is_filled_from_the_first_event(
    ledger: Ledger, world: World, run: Run, tables: list[str]
) -> None:
    for table in tables:
        run(f"DROP TABLE {table}")
    follower = world.open("p3").follower(Saw())
    assert follower.position == 0
    assert follower.catch_up() == forgot_nothing(ledger) == ledger.head().count


@ON_DISK
def test_what_was_parked_is_handled_with_the_rest_when_a_table_was_dropped(
    ledger: Ledger, world: World, run: Run
) -> None:
    careless = ledger.follower(Counts(lambda one: one.stream.endswith("s1")))
    careless.catch_up()
    assert len(careless.parked()) == 1
    run("DROP TABLE counts")
    follower = world.open("p3").follower(Counts())
    follower.catch_up()
    assert follower.parked() == []
    assert sum(kept(follower).values()) == ledger.head().count


@ON_DISK
def test_a_table_that_is_dropped_under_a_thread_is_filled_again_by_it(
    ledger: Ledger, run: Run
) -> None:
    with ledger.follower(Saw()) as follower:
        run("DROP TABLE seen")
        write(ledger, 3)
        until(lambda: handled(ledger))
        assert follower.running
    assert forgot_nothing(ledger) == ledger.head().count


def handled(ledger: Ledger) -> bool:
    """Say whether all is on record as handled, without making what is gone."""
    with suppress(Fault):
        return position(ledger) == ledger.head().position
    return False


def position(ledger: Ledger) -> int:
    store = ledger._shell.store  # pyright: ignore[reportPrivateUsage]
    with store.snapshot() as snapshot:
        ((_, found, _),) = snapshot.rows("followers")
        assert isinstance(found, int)
        return found


@ON_DISK
def test_nobody_but_its_follower_makes_a_dropped_table_again(
    ledger: Ledger, world: World, run: Run
) -> None:
    ledger.follower(Saw()).catch_up()
    run("DROP TABLE seen")
    ledger.rebuild()
    ledger.setup()
    world.open("p3").follower(Saw()).catch_up()
    assert forgot_nothing(ledger) == ledger.head().count


@ON_DISK
def test_of_several_that_miss_a_table_at_once_one_begins_again(
    ledger: Ledger, world: World, run: Run
) -> None:
    run("DROP TABLE seen")
    followers = [world.open(f"p{nth}").follower(Saw()) for nth in range(3, 7)]
    together = Barrier(len(followers))

    def catch_up(nth: int) -> int:
        together.wait()
        return followers[nth].catch_up()

    with ThreadPoolExecutor(len(followers)) as pool:
        list(pool.map(catch_up, range(len(followers))))
    assert forgot_nothing(ledger) == ledger.head().count


class StopsStore(SQLiteStore):
    """Ends where the tables of a model would be made."""

    def define(
        self, specs: Sequence[TableSpec], deadline_seconds: float = SETUP_SECONDS
    ) -> None:
        """Stop at the last table."""
        if any(spec.name == "seen" for spec in specs):
            raise KeyboardInterrupt
        super().define(specs, deadline_seconds)


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_who_is_killed_before_the_table_is_there_again_has_begun_again(
    ledger: Ledger, world: World, run: Run
) -> None:
    run("DROP TABLE seen")
    with closing(StopsStore(file(world))) as store:
        with pytest.raises(KeyboardInterrupt):
            ledger_on(store).follower(Saw()).catch_up()
        assert position(ledger_on(store)) == 0
    assert ledger.follower(Saw()).catch_up() == ledger.head().count
    forgot_nothing(ledger)


@pytest.mark.parametrize("world", ["sqlite"], indirect=True)
def test_tables_are_waited_for_as_long_as_the_ledgers_deadline(world: World) -> None:
    world.ledger.setup()
    script = """
        with store.write(10.0) as unit:
            say("locked")
            hear()
    """
    with (
        open_ledger(world.url, deadline_seconds=0.2) as hasty,
        other(script, file(world)) as holder,
    ):
        assert holder.hear() == "locked"
        begun = monotonic()
        with pytest.raises(Contended):
            hasty.follower(Counts()).catch_up()
        assert monotonic() - begun < SETUP_SECONDS / 2
        holder.kill()


@pytest.mark.parametrize("world", ["postgres"], indirect=True)
def test_a_thread_waits_out_that_all_tables_are_gone_and_tells_of_another_ledger(
    ledger: Ledger, world: World, run: Run
) -> None:
    follower = ledger.follower(Saw()).start()
    run(f"DROP SCHEMA {world.url.rpartition('schema=')[2].partition('&')[0]} CASCADE")
    until(lambda: follower.fault is not None)
    assert follower.running
    with world.open("p3") as another:
        another.setup()
    until(lambda: "replaced" in str(follower.fault))
    with pytest.raises(StoreUnavailable, match="dropped or replaced"):
        follower.close()
