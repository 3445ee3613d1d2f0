"""Schemas: made, found, migrated by hand, and never somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

import postgres
import schemas
from clients import Client, client
from stored import OWNERS, append, event
from tenure import (
    Authority,
    First,
    InvalidInput,
    Ledger,
    OwnerRef,
    SchemaMissing,
    SchemaTooNew,
    StoreUnavailable,
    open_ledger,
)
from tenure_gate.cli import main
from tenure_ledger.stores.postgres import PostgresStore
from tenure_projections.tables import TABLES

S = OwnerRef("session", "ses_1")

# Verbatim from seed 000 section 1, with our generation of checkpoints.
SEED = {
    "recovery_owners": [
        ("recovery_class", "text", "NO", None),
        ("owner_id", "text", "NO", None),
        ("generation", "bigint", "NO", "1"),
        ("agent_id", "text", "YES", None),
        ("message_id", "text", "YES", None),
        ("active_at", "timestamp with time zone", "NO", "now()"),
        ("terminal_at", "timestamp with time zone", "YES", None),
        ("terminal_status", "text", "YES", None),
    ],
    "runtime_restart_checkpoints": [
        ("agent_id", "text", "NO", None),
        ("mode", "text", "NO", None),
        ("payload_json", "text", "YES", None),
        ("created_at", "bigint", "NO", None),
        ("updated_at", "bigint", "NO", None),
        ("recovery_class", "text", "YES", None),
        ("recovery_owner_id", "text", "YES", None),
        ("execution_config_json", "text", "YES", None),
        ("generation", "bigint", "NO", None),
    ],
    "recovery_owner_terminal_events": [
        ("recovery_class", "text", "NO", None),
        ("owner_id", "text", "NO", None),
        ("generation", "bigint", "NO", None),
        ("event_type", "text", "NO", None),
        ("created_at", "timestamp with time zone", "NO", "now()"),
        ("payload_json", "text", "YES", None),
    ],
}
COLUMNS = """
SELECT column_name, data_type, is_nullable, column_default
FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = %s
ORDER BY ordinal_position
"""
KEYS = """
SELECT contype::text, array_agg(attname::text ORDER BY array_position(conkey, attnum))
FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
WHERE conrelid = %s::regclass AND contype IN ('p', 'u')
GROUP BY oid, contype ORDER BY contype
"""


@pytest.fixture
def url() -> Iterator[str]:
    """Give a schema that is not there yet; it is dropped in the end."""
    url = postgres.new_url()
    yield url
    with client(url) as by_hand:
        name = url.rpartition("=")[2]
        by_hand.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())


@pytest.fixture
def by_hand(url: str) -> Iterator[Client]:
    with client(url) as by_hand:
        yield by_hand


def test_every_tables_statement_is_its_spec_and_the_seeds(
    url: str, by_hand: Client
) -> None:
    with open_ledger(url) as ledger:
        ledger.setup()
    for spec in (one.spec for one in TABLES):
        columns = by_hand.execute(COLUMNS, (spec.name,)).fetchall()
        assert tuple(name for name, *_ in columns) == spec.columns
        assert columns == SEED.get(spec.name, columns)
        keys = by_hand.execute(KEYS, (spec.name,)).fetchall()
        assert keys[0] == ("p", list(spec.key))
        unique = [] if spec.unique is None else [("u", [spec.unique])]
        assert keys[1:] == unique


def test_several_ledgers_in_one_database_are_several_schemas(url: str) -> None:
    other = schemas.lend([table.spec for table in TABLES])
    with open_ledger(url) as one, open_ledger(other) as two:
        one.claim(S, "a", "host")
        assert two.owner(S).status == "absent"
        two.claim(S, "a", "host")
        assert (one.head().count, two.head().count) == (2, 2)
        assert one.verify(two.head()).problem is not None
    schemas.give_back(other)


def test_names_are_never_cut_or_folded_into_one(by_hand: Client) -> None:
    place = postgres.server().url
    names = [f"t{'x' * 61}{end}" for end in "ab"]
    try:
        for name in names:
            with open_ledger(f"{place}&schema={name}") as ledger:
                ledger.claim(S, "a", "host")
                assert ledger.head().count == 2
        owned = ("pg_t", "information_schema")
        for wrong in (f"{names[0]}c", "T1", "t-1", *owned, "t 1", '"t"', "täter"):
            with pytest.raises(InvalidInput, match="must match"):
                open_ledger(f"{place}&schema={wrong}")
    finally:
        for name in names:
            by_hand.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())


def test_the_environment_names_the_schema_unless_the_url_does(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, _, schema = url.partition("&schema=")
    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
    monkeypatch.setenv("TENURE_SCHEMA", schema)
    with open_ledger(place) as ledger:
        assert ledger.owner(S).status == "live"
    monkeypatch.setenv("TENURE_SCHEMA", "another")
    with open_ledger(url) as ledger:
        assert ledger.owner(S).status == "live"


def test_many_processes_may_set_up_at_once(url: str) -> None:
    stores = [PostgresStore(url, tables=[OWNERS]) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(PostgresStore.setup, stores))
    for nth, store in enumerate(stores):
        append(store, event(f"s{nth}", 1))
    assert len(list(stores[0].events(0))) == 8
    for store in stores:
        store.close()


def test_migrate_makes_what_is_missing_and_says_what_it_would(
    url: str, by_hand: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrate", "--check", "--ledger", url]) == 1
    capsys.readouterr()
    assert main(["migrate", "--print-sql", "--ledger", url]) == 0
    script = capsys.readouterr().out
    assert by_hand.execute(COLUMNS, ("stored_events",)).fetchall() == []
    # Whoever may runs it with a client of their own.
    by_hand.execute(script.encode())
    assert main(["migrate", "--check", "--ledger", url]) == 0
    capsys.readouterr()
    assert main(["migrate", "--print-sql", "--ledger", url]) == 0
    again = capsys.readouterr().out
    grants = script.partition("\nCOMMIT;\n")[2]
    assert "GRANT" in grants
    assert again == f"-- nothing is missing\n{grants}"
    assert main(["migrate", "--ledger", url]) == 0
    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
        assert [one.differing for one in ledger.rebuild()] == [0] * len(TABLES)


@pytest.fixture
def role(by_hand: Client) -> Iterator[str]:
    """Give a role that may connect, and no more."""
    role = f"writer_{abs(hash(by_hand)) % 10**6}"
    by_hand.execute(f"CREATE ROLE {role} LOGIN".encode())
    yield role
    by_hand.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_a_role_that_may_make_nothing_is_told_what_to_type(
    url: str, role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = url.replace("user=postgres", f"user={role}")
    with (
        open_ledger(theirs) as ledger,
        pytest.raises(SchemaMissing, match="tenure migrate --ledger URL"),
    ):
        ledger.claim(S, "a", "host")
    nowhere = f"{theirs}&host=127.0.0.1,127.0.0.2&port=1"
    for one in (theirs, nowhere):
        assert main(["migrate", "--ledger", one]) == 2
        told = capsys.readouterr().err
        # One line, though a server quotes statements and libpq gives advice.
        assert told.startswith("tenure: ")
        assert told.count("\n") == 1


def test_the_printed_grants_are_all_that_a_writer_needs(
    url: str, by_hand: Client, role: str
) -> None:
    with closing(PostgresStore(url, tables=[t.spec for t in TABLES])) as store:
        assert store.missing()
        store.setup()
        script = store.grants()
    grants = [line[3:] for line in script.splitlines() if line.startswith("-- GRANT")]
    for grant in grants:
        if "TO reader" in grant or "UPDATE ON" in grant:
            continue
        by_hand.execute(grant.replace("TO writer", f"TO {role}").encode())
    theirs = url.replace("user=postgres", f"user={role}")
    with open_ledger(theirs) as ledger:
        one = ledger.claim(S, "a", "host")
        ledger.retire(one, "continue", "go on")
        ledger.delete_conversation(S, "host")
        assert ledger.verify().ok
        assert all(not one.differing for one in ledger.rebuild(check=True))


def test_tables_of_another_application_are_left_alone(
    url: str, by_hand: Client
) -> None:
    by_hand.execute(f"CREATE SCHEMA {url.rpartition('=')[2]}".encode())
    by_hand.execute("CREATE TABLE agents (id text)")
    by_hand.execute("CREATE TABLE recovery_owners (id text)")
    with (
        open_ledger(url) as ledger,
        pytest.raises(StoreUnavailable, match=r"recovery_owners.*TENURE_SCHEMA"),
    ):
        ledger.setup()
    by_hand.execute("DROP TABLE recovery_owners")
    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
    assert by_hand.execute("SELECT * FROM agents").fetchall() == []


def test_a_schema_of_a_newer_version_is_left_alone(url: str, by_hand: Client) -> None:
    with open_ledger(url) as ledger:
        ledger.setup()
    by_hand.execute("UPDATE _tenure SET schema_version = 99")
    with open_ledger(url) as ledger, pytest.raises(SchemaTooNew, match="upgrade"):
        ledger.claim(S, "a", "host")


def test_events_and_commands_are_never_changed_whoever_asks(
    url: str, by_hand: Client
) -> None:
    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
    for change in (
        "UPDATE stored_events SET topic = 'x'",
        "DELETE FROM stored_events",
        "TRUNCATE stored_events",
        "UPDATE commands SET digest = 'x'",
        "DELETE FROM commands",
        "UPDATE payloads SET body = 'x'",
    ):
        with pytest.raises(psycopg.Error, match="ever changed"):
            by_hand.execute(change.encode())


def test_a_dump_in_a_cluster_with_lower_transaction_ids_goes_on_above(
    url: str, by_hand: Client
) -> None:
    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
    # As pg_restore leaves it: positions of a cluster that had seen more.
    by_hand.execute("SET session_replication_role = replica")
    by_hand.execute(
        "UPDATE stored_events SET position = position + (10^9)::bigint * 65536"
    )
    with open_ledger(url) as ledger:
        before = ledger.head()
        ledger.accept(S, "m1", "inbox")
        assert [one.position for one in ledger.events(before.position)] != []
        assert ledger.head().count == before.count + 1
        assert ledger.verify(before).ok
        store = ledger._shell.store  # pyright: ignore[reportPrivateUsage]
        assert store.horizon() == ledger.head().position


def test_what_somebody_adds_to_our_tables_is_no_other_writer_that_was_faster(
    url: str, by_hand: Client
) -> None:
    with open_ledger(url, deadline_seconds=20) as ledger:
        ledger.accept(S, "m1", "inbox")
        for table in ("stored_events", "commands", "payloads"):
            by_hand.execute(f"ALTER TABLE {table} ADD CHECK (false) NOT VALID".encode())
            with pytest.raises(StoreUnavailable, match=f"23514.*{table}.*nothing was"):
                held(ledger)
            drop = f"ALTER TABLE {table} DROP CONSTRAINT {table}_check"
            by_hand.execute(drop.encode())
        assert held(ledger).generation == 1


def held(ledger: Ledger) -> Authority:
    """Write events, a command and a body."""
    one = ledger.claim(S, "a", "host", first=First("m2", "human"), command_id="c1")
    ledger.begin_tool_call(one, "m2", "t1", "shell", {"do": "it"})
    return one
