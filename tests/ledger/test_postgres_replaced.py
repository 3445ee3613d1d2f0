"""A program that was left running notices that another ledger stands in its place.

Whatever it does next, on whatever connection, is told; and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

import pytest

import postgres
from backups import back_up
from clients import Client, client
from following import Saw
from stored import OWNERS, command, event, owner
from tenure import (
    Authority,
    ChatExecutionKey,
    Evidence,
    FencedOut,
    First,
    Follower,
    Ledger,
    NarrativeTransform,
    OwnerRef,
    Recorded,
    SchemaMissing,
    SessionWideGuard,
    StoreUnavailable,
    open_ledger,
    recover,
)
from tenure_gate.cli import main
from tenure_ledger.stores.postgres import PostgresStore
from waiting import until

S = OwnerRef("session", "ses_1")
HELD = OwnerRef("session", "held")
TOLD = "dropped or replaced while it was open"
KINDS = ("made again", "moved away", "swapped", "dump in place", "dump, restored")


class Program(NamedTuple):
    """What was left running: all of it has been used."""

    ledger: Ledger
    authority: Authority
    seen: Evidence
    gate: NarrativeTransform
    follower: Follower
    following: Iterator[Recorded]


def verdicts(program: Program) -> list[str]:
    message = {"role": "user", "id": "m1", "content": "Go."}
    given = program.gate.apply("ses_1", [message], authority=program.authority)
    return [one.name for one in given.verdicts]


USES: dict[str, Callable[[Program], object]] = {
    "a command": lambda it: it.ledger.admit(it.authority, "m2", "human"),
    "one that asks first": lambda it: it.ledger.accept(S, "m2", "inbox"),
    "one with an id": lambda it: it.ledger.accept(S, "m2", "inbox", command_id="c2"),
    "one asked again": lambda it: it.ledger.accept(S, "m0", "inbox", command_id="c0"),
    "one that changes nothing": lambda it: it.ledger.start(it.authority, "m1"),
    "one that was refused": lambda it: it.ledger.claim(S, "b", "host"),
    "a takeover": lambda it: it.ledger.take_over(HELD, "b", "host", it.seen),
    "a new owner": lambda it: it.ledger.claim(OwnerRef("session", "x"), "b", "host"),
    "two owners": lambda it: it.ledger.spawn(
        it.authority, OwnerRef("subagent", "c"), "c", author="host"
    ),
    "an erasure": lambda it: it.ledger.delete_conversation(HELD, "host"),
    "a check": lambda it: it.ledger.check(it.authority),
    "a verdict": verdicts,
    "a batch": lambda it: it.follower.run_once(),
    "a model's rows": lambda it: list(it.follower.rows("saw")),
    "a reset": lambda it: it.follower.reset(),
    "what comes": lambda it: next(it.following),
    "a view": lambda it: it.ledger.owner(S),
    "a message": lambda it: it.ledger.execution(ChatExecutionKey("ses_1", "m1")),
    "a body": lambda it: it.ledger.body(S, "none"),
    "a history": lambda it: it.ledger.history(S),
    "the events": lambda it: list(it.ledger.events()),
    "the rows": lambda it: list(it.ledger.rows("recovery_owners")),
    "the past": lambda it: it.ledger.as_of(1),
    "a head": lambda it: it.ledger.head(),
    "a proof": lambda it: it.ledger.verify(),
    "recovery": lambda it: recover(it.ledger),
    "a look": lambda it: it.ledger.rebuild(check=True),
    "a rebuild": lambda it: it.ledger.rebuild(),
    "its tables": lambda it: it.ledger.setup(),
    "another model": lambda it: it.ledger.follower(Saw()).run_once(),
}


@pytest.fixture
def url() -> Iterator[str]:
    """Give a schema that is not there yet; all that came of it is dropped."""
    url = postgres.new_url()
    yield url
    with client(url) as by_hand:
        for name in (schema(url), f"{schema(url)}_old", f"{schema(url)}_new"):
            by_hand.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())


@pytest.fixture
def by_hand(url: str) -> Iterator[Client]:
    with client(url) as by_hand:
        yield by_hand


@pytest.fixture
def program(url: str) -> Iterator[Program]:
    with open_ledger(url, process="p1", deadline_seconds=20) as ledger:
        ledger.accept(S, "m0", "inbox", command_id="c0")
        one = ledger.claim(S, "a", "host", first=First("m1", "human"))
        ledger.claim(HELD, "h", "host")
        ledger.start(one, "m1")
        program = Program(
            ledger,
            one,
            Evidence.gone(ledger.owner(HELD)),
            NarrativeTransform(ledger, SessionWideGuard(lambda _: None)),
            ledger.follower(Saw()),
            ledger.follow(),
        )
        for _ in range(3):
            assert verdicts(program) == ["current"]
            program.follower.catch_up()
        for _ in ledger.events():
            next(program.following)
        yield program


def schema(url: str) -> str:
    return url.rpartition("=")[2]


def replacing(
    kind: str, url: str, by_hand: Client, tmp_path: Path
) -> Callable[[], None]:
    """Return what puts another ledger in the place of the one that is open."""
    name = schema(url)
    if kind.startswith("dump"):
        restore = back_up("dump in place", url, tmp_path)

        def put_back() -> None:
            restore()
            if kind == "dump, restored":
                assert main(["restored", "--ledger", url]) == 0

        return put_back

    def make(place: str) -> None:
        with open_ledger(url.replace(name, place)) as another:
            another.accept(S, "other", "inbox")
            another.follower(Saw()).run_once()

    def move(there: str, here: str) -> str:
        return f"ALTER SCHEMA {there} RENAME TO {here}; "

    def replace() -> None:
        if kind == "swapped":
            make(f"{name}_new")
            both = move(name, f"{name}_old") + move(f"{name}_new", name)
            by_hand.execute(f"BEGIN; {both} COMMIT".encode())
            return
        drop = f"DROP SCHEMA {name} CASCADE"
        gone = move(name, f"{name}_old") if kind == "moved away" else drop
        by_hand.execute(gone.encode())
        make(name)

    return replace


def content(by_hand: Client, name: str) -> list[tuple[str, list[str]]]:
    """Return every row of every table of a schema."""
    find = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1"
    found: list[tuple[str, list[str]]] = []
    for (table,) in by_hand.execute(find, (name,)).fetchall():
        rows = by_hand.execute(f'TABLE {name}."{table}"'.encode()).fetchall()
        found.append((str(table), sorted(map(repr, rows))))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_done_next_is_told_and_nothing_is_written(
    kind: str, url: str, by_hand: Client, program: Program, tmp_path: Path
) -> None:
    replacing(kind, url, by_hand, tmp_path)()
    before = content(by_hand, schema(url))
    old = content(by_hand, f"{schema(url)}_old")
    for _ in range(2):
        for name, use in USES.items():
            with pytest.raises(StoreUnavailable, match=TOLD):
                pytest.fail(f"{name}: {use(program)}")
        program = program._replace(following=program.ledger.follow())
    assert content(by_hand, schema(url)) == before
    assert content(by_hand, f"{schema(url)}_old") == old
    with open_ledger(url) as ledger:
        assert ledger.verify().ok


@pytest.mark.parametrize("use", USES)
def test_it_is_told_by_the_first_that_is_done(
    use: str, url: str, by_hand: Client, program: Program, tmp_path: Path
) -> None:
    # Not one connection is new then: each is told by the statement that it sends.
    replacing("swapped", url, by_hand, tmp_path)()
    with pytest.raises(StoreUnavailable, match=TOLD):
        USES[use](program)


def test_all_who_share_a_transaction_are_told(
    url: str, by_hand: Client, program: Program, tmp_path: Path
) -> None:
    replacing("made again", url, by_hand, tmp_path)()
    before = content(by_hand, schema(url))
    begin = Barrier(8)

    def ask(number: int) -> str:
        begin.wait()
        told = set[str]()
        for nth in range(5):
            try:
                program.ledger.accept(S, f"m{number}.{nth}", "inbox")
            except StoreUnavailable as fault:
                told.add("it is told" if TOLD in str(fault) else str(fault))
            else:
                told.add("it was accepted")
        return " and ".join(told)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {"it is told"}
    assert content(by_hand, schema(url)) == before


def test_a_follower_s_thread_says_so_as_long_as_it_runs(
    url: str, by_hand: Client, program: Program, tmp_path: Path
) -> None:
    program.follower.start()
    replacing("swapped", url, by_hand, tmp_path)()
    before = content(by_hand, schema(url))
    until(lambda: program.follower.fault is not None)
    assert TOLD in str(program.follower.fault)
    assert program.follower.running
    with pytest.raises(StoreUnavailable, match=TOLD):
        program.follower.close()
    assert content(by_hand, schema(url)) == before


def test_a_transaction_does_not_end_in_another_ledger_than_it_began(
    url: str, by_hand: Client
) -> None:
    name = schema(url)

    def replace() -> None:
        by_hand.execute(f"ALTER SCHEMA {name} RENAME TO {name}_old".encode())
        with closing(PostgresStore(url, tables=[OWNERS])) as another:
            another.setup()

    def write() -> None:
        with (
            closing(PostgresStore(url, tables=[OWNERS])) as store,
            store.write(20) as unit,
        ):
            # What was added is sent, since its position is asked for.
            assert unit.add([event("a", 1)], None)[0] > 0
            replace()
            unit.add([], command("a", "c1"), (), [owner("a", "x")])
            unit.commit()

    with pytest.raises(StoreUnavailable, match=TOLD):
        write()
    for place in (name, f"{name}_old"):
        rows = dict(content(by_hand, place))
        assert not rows["stored_events"] + rows["commands"] + rows["owners"]


def test_what_was_only_dropped_is_not_made_again_by_a_program_that_had_it_open(
    url: str, by_hand: Client, program: Program
) -> None:
    by_hand.execute(f"DROP SCHEMA {schema(url)} CASCADE".encode())
    for use in USES.values():
        with pytest.raises((SchemaMissing, StoreUnavailable), match="nothing was wr"):
            use(program)
    assert content(by_hand, schema(url)) == []


def test_a_restore_that_is_under_way_is_no_ledger_yet(
    url: str, by_hand: Client
) -> None:
    with open_ledger(url) as ledger:
        ledger.setup()
    # As pg_restore leaves it between the tables and their rows.
    by_hand.execute(b"DELETE FROM _tenure")
    with open_ledger(url) as ledger:
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="a restore that is under way"):
                ledger.accept(S, "m1", "inbox")


def test_what_was_moved_away_and_back_goes_on(
    url: str, by_hand: Client, program: Program
) -> None:
    name = schema(url)
    by_hand.execute(f"ALTER SCHEMA {name} RENAME TO {name}_old".encode())
    for use in ("a command", "a verdict", "a batch"):
        with pytest.raises((SchemaMissing, StoreUnavailable), match="nothing was wr"):
            USES[use](program)
    by_hand.execute(f"ALTER SCHEMA {name}_old RENAME TO {name}".encode())
    works_on(program)


def works_on(program: Program) -> None:
    for name in (
        "a command",
        "a verdict",
        "a batch",
        "what comes",
        "the past",
        "recovery",
    ):
        USES[name](program)
    for name in ("a look", "a proof"):
        assert USES[name](program)
    assert program.ledger.verify().ok


ORDINARY: dict[str, str] = {
    "vacuum": "VACUUM FULL stored_events",
    "cluster": "CLUSTER stored_events USING stored_events_pkey",
    "reindex": "REINDEX TABLE stored_events",
    "analyze": "ANALYZE",
    "statistics": "ALTER TABLE stored_events ALTER COLUMN topic SET STATISTICS 500",
    "a column of somebody's": "ALTER TABLE stored_events ADD COLUMN note text",
    "an index": "CREATE INDEX ON stored_events (topic)",
    "a fill factor": "ALTER TABLE stored_events SET (fillfactor = 90)",
    "grants": "GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO PUBLIC",
    "another schema": "CREATE SCHEMA {name}_old",
}


@pytest.mark.parametrize("what", ORDINARY)
def test_what_is_done_to_a_ledger_in_its_place_disturbs_nobody(
    what: str, url: str, by_hand: Client, program: Program
) -> None:
    by_hand.execute(ORDINARY[what].format(name=schema(url)).encode())
    works_on(program)


def test_new_tables_and_migrations_disturb_nobody(url: str, program: Program) -> None:
    assert main(["migrate", "--ledger", url]) == 0
    program.ledger.setup()
    with open_ledger(url) as another:
        another.follower(Saw()).run_once()
        another.rebuild()
    assert main(["restored", "--ledger", url]) == 0
    with pytest.raises(FencedOut):
        program.ledger.check(program.authority)
    assert program.follower.run_once() > 0
