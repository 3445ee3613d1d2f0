"""The roles of docs/deploy.md, as it says them, on a real server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg
import pytest

import pages
import postgres
from clients import client
from following import Counts
from tenure import (
    First,
    OwnerRef,
    SchemaMissing,
    StoreUnavailable,
    open_ledger,
    recover,
)
from tenure_gate.cli import main

S = OwnerRef("session", "ses_1")
PAGE = (pages.ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
ROLES, GRANTS = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NAMES = ("owner", "writer", "reader")


@dataclass
class Place:
    """A schema with roles of its own."""

    schema: str

    def run(self, script: str) -> None:
        """Run what the page says, with names of this test's own."""
        script = script.replace('"agent"', self.schema).replace("agent", self.schema)
        for name in NAMES:
            script = re.sub(rf"\b{name}\b", f"{self.schema}_{name}", script)
        with client(self.url("postgres")) as by_hand:
            by_hand.execute(script.encode())

    def url(self, role: str) -> str:
        """Return the URL for a role of the page, or of the server."""
        user = f"{self.schema}_{role}" if role in NAMES else role
        place = postgres.server().url.replace("user=postgres", f"user={user}")
        return f"{place}&schema={self.schema}"


@pytest.fixture
def place() -> Iterator[Place]:
    """Give the roles and the schema; in the end all of it is dropped."""
    place = Place(postgres.new_url().rpartition("=")[2])
    place.run(ROLES)
    yield place
    with client(place.url("postgres")) as by_hand:
        by_hand.execute(f"DROP SCHEMA {place.schema} CASCADE".encode())
        for name in NAMES:
            role = f"{place.schema}_{name}"
            by_hand.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


@pytest.fixture
def granted(place: Place) -> Place:
    """Give the place as the page leaves it."""
    assert main(["migrate", "--ledger", place.url("owner")]) == 0
    place.run(GRANTS)
    return place


def test_the_page_has_the_grants_that_migrate_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TENURE_SCHEMA", raising=False)
    assert main(["migrate", "--print-sql", "--ledger", postgres.server().url]) == 0
    printed = capsys.readouterr().out
    grants = [line[3:] for line in printed.splitlines() if line.startswith("-- GRANT")]
    only_to_rebuild = 'GRANT UPDATE ON "agent".stored_events TO writer;'
    assert [one for one in grants if one != only_to_rebuild] == GRANTS.splitlines()


def test_nobody_but_the_owner_can_make_the_tables(place: Place) -> None:
    place.run("GRANT USAGE ON SCHEMA agent TO writer")
    with (
        open_ledger(place.url("writer")) as ledger,
        pytest.raises(SchemaMissing, match="tenure migrate --ledger URL"),
    ):
        ledger.setup()
    assert main(["migrate", "--ledger", place.url("owner")]) == 0
    assert main(["migrate", "--check", "--ledger", place.url("owner")]) == 0


def test_the_writer_does_all_that_programs_do(granted: Place) -> None:
    url = granted.url("writer")
    with open_ledger(url) as ledger:
        one = ledger.claim(S, "a", "host", first=First("m1", "human"))
        ledger.start(one, "m1")
        ledger.settle(one, "m1", "completed")
        ledger.retire(one, "continue", "go on")
        ledger.succeed(S, "b", "host")
        recover(ledger)
        ledger.delete_conversation(S, "host")
        assert ledger.verify(ledger.head()).ok
        assert all(not one.differing for one in ledger.rebuild(check=True))
        now = ledger.as_of(ledger.head().position)
        assert now.owner(S).status == "deleted"


@pytest.mark.parametrize(
    "right",
    [
        "USAGE ON SCHEMA agent",
        "EXECUTE ON ALL FUNCTIONS IN SCHEMA agent",
        "SELECT ON agent._tenure",
        "SELECT ON agent.kept_tables",
        "SELECT ON agent.stored_events",
        "INSERT ON agent.stored_events",
        "INSERT ON agent.commands",
        "INSERT ON agent.recovery_owners",
        "UPDATE ON agent.recovery_owners",
    ],
)
def test_a_writer_that_lacks_a_right_writes_nothing_and_is_told_of_the_grants(
    granted: Place, right: str
) -> None:
    with open_ledger(granted.url("owner")) as ledger:
        one = ledger.claim(S, "a", "host")
        kept = ledger.head()
        granted.run(f"REVOKE {right} FROM writer, PUBLIC")
        with (
            open_ledger(granted.url("writer")) as writers,
            pytest.raises(StoreUnavailable, match=r"role may not do this.*--print-sql"),
        ):
            writers.advance(one, "lease_renewal")
        assert ledger.head() == kept
        assert all(not one.differing for one in ledger.rebuild(check=True))


@pytest.mark.parametrize("use", ["a command", "a look", "rows"])
def test_a_schema_that_is_hidden_from_a_running_program_is_a_right_that_is_missing(
    granted: Place, use: str
) -> None:
    with open_ledger(granted.url("writer")) as ledger:
        one = ledger.claim(S, "a", "host")
        uses: dict[str, Callable[[], object]] = {
            "a command": lambda: ledger.advance(one, "lease_renewal"),
            "a look": ledger.head,
            "rows": lambda: list(ledger.rows("recovery_owners")),
        }
        granted.run("REVOKE USAGE ON SCHEMA agent FROM writer")
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=r"may not do this.*no USAGE"):
                uses[use]()
        granted.run("GRANT USAGE ON SCHEMA agent TO writer")
        assert ledger.advance(one, "lease_renewal").generation == 2


def test_the_grants_are_enough_where_functions_are_not_everybodys(place: Place) -> None:
    closed = "ALTER DEFAULT PRIVILEGES FOR ROLE owner REVOKE {} FROM PUBLIC"
    place.run(closed.format("EXECUTE ON FUNCTIONS"))
    assert main(["migrate", "--ledger", place.url("owner")]) == 0
    place.run(GRANTS)
    with open_ledger(place.url("writer")) as ledger:
        assert ledger.claim(S, "a", "host").generation == 1
    with open_ledger(place.url("reader")) as ledger:
        assert ledger.owner(S).agent_id == "a"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (id int)",
        "ALTER TABLE stored_events ADD COLUMN mine int",
        "ALTER TABLE stored_events DISABLE TRIGGER ALL",
        "DROP TRIGGER stored_events_are_append_only ON stored_events",
        "SET session_replication_role = replica",
        "DROP TABLE stored_events",
        "UPDATE stored_events SET topic = 'x'",
        "DELETE FROM stored_events",
        "TRUNCATE stored_events",
        "UPDATE commands SET digest = 'x'",
        "DELETE FROM commands",
        "UPDATE payloads SET body = 'x'",
        "UPDATE _tenure SET base = 0",
        "DELETE FROM kept_tables",
    ],
)
def test_the_writer_makes_and_changes_nothing_else(
    granted: Place, statement: str
) -> None:
    user = f"{granted.schema}_writer"
    with (
        client(granted.url("postgres"), user=user) as by_hand,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        by_hand.execute(statement.encode())


def test_the_reader_reads_everything_and_writes_nothing(granted: Place) -> None:
    with open_ledger(granted.url("writer")) as ledger:
        one = ledger.claim(S, "a", "host")
        kept = ledger.head()
    with open_ledger(granted.url("reader")) as ledger:
        assert ledger.owner(S).generation == 1
        ledger.check(one)
        assert ledger.head(since=kept) == kept
        assert ledger.verify(against=kept).ok
        assert [row["agent_id"] for row in ledger.rows("recovery_owners")] == ["a"]
        assert ledger.as_of(kept.position).owner(S).agent_id == "a"
        assert list(ledger.rows("stream_states")) == []
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="nothing was written"):
                ledger.accept(S, "m1", "inbox")
    assert main(["recover", "--dry-run", "--ledger", granted.url("reader")]) == 0


def test_a_read_model_runs_after_the_owner_made_its_tables(granted: Place) -> None:
    with open_ledger(granted.url("writer")) as ledger:
        ledger.claim(S, "a", "host")
        with pytest.raises(SchemaMissing, match=r"(?s)of a read model.*run_once\(\)"):
            ledger.follower(Counts()).run_once()
    with open_ledger(granted.url("owner")) as ledger:
        ledger.follower(Counts()).run_once()
    tables = ", ".join(
        f"agent.{name}"
        for name in ("followers", "parked_streams", *(t.name for t in Counts.tables))
    )
    granted.run(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO writer")
    with open_ledger(granted.url("writer")) as ledger:
        ledger.accept(S, "m1", "inbox")
        assert ledger.follower(Counts()).catch_up() == 1


def test_only_the_owner_makes_a_copy_the_ledger(
    granted: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_ledger(granted.url("writer")) as ledger:
        ledger.claim(S, "a", "host")
    # As a dump leaves it that was made elsewhere.
    with client(granted.url("postgres")) as by_hand:
        by_hand.execute("UPDATE _tenure SET origin = 'elsewhere'")
    assert main(["restored", "--ledger", granted.url("writer")]) == 2
    assert "Only a role that owns the tables" in capsys.readouterr().err
    with open_ledger(granted.url("writer")) as ledger:
        assert ledger.head().count == 2
        with pytest.raises(StoreUnavailable, match="a copy"):
            ledger.accept(S, "m1", "inbox")
    assert main(["restored", "--ledger", granted.url("owner")]) == 0
    with open_ledger(granted.url("writer")) as ledger:
        assert ledger.accept(S, "m1", "inbox") > 1


def test_a_copy_from_a_cluster_with_higher_ids_is_read_by_all_and_goes_on_above(
    granted: Place,
) -> None:
    with open_ledger(granted.url("writer")) as ledger:
        ledger.claim(S, "a", "host")
        count = ledger.head().count
    # As pg_restore leaves it: positions of a cluster that had seen more.
    with client(granted.url("postgres")) as by_hand:
        by_hand.execute(
            "SET session_replication_role = replica; "
            "UPDATE _tenure SET origin = 'elsewhere'; "
            "UPDATE stored_events SET position = position + (10^9)::bigint * 65536"
        )
    with (
        open_ledger(granted.url("reader")) as reader,
        open_ledger(granted.url("writer")) as writer,
    ):
        for ledger in (reader, writer):
            assert ledger.head().count == count
            assert [one.version for one in ledger.events()] == [1, 1]
            assert ledger.verify().ok
            assert ledger.as_of(ledger.head().position).owner(S).agent_id == "a"
        with pytest.raises(StoreUnavailable, match="a copy"):
            writer.accept(S, "m1", "inbox")
        kept = reader.head()
        assert main(["restored", "--ledger", granted.url("owner")]) == 0
        writer.accept(S, "m1", "inbox")
        for ledger in (reader, writer):
            assert next(one.version for one in ledger.events(kept.position)) == 1
            assert ledger.verify(against=kept).ok
            assert ledger.head(since=kept) == ledger.head()
            assert ledger.head().count > count + 2
