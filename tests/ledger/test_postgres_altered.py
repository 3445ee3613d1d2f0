"""Tables that somebody altered: what follows from the events is made anew, no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import postgres
from clients import Client, client
from tenure import Corrupt, Ledger, OwnerRef, StoreUnavailable, open_ledger

OWNERS = "recovery_owners"
COUNT = 3
DAMAGE = {
    "no primary key": "ALTER TABLE recovery_owners DROP CONSTRAINT "
    "recovery_owners_pkey",
    "another primary key": "ALTER TABLE recovery_owners DROP CONSTRAINT "
    "recovery_owners_pkey, ADD PRIMARY KEY (owner_id)",
    "an agent may be twice": "ALTER TABLE recovery_owners DROP CONSTRAINT "
    "recovery_owners_agent_id_key",
    "unique at the commit only": "ALTER TABLE recovery_owners DROP CONSTRAINT "
    "recovery_owners_agent_id_key, ADD UNIQUE (agent_id) DEFERRABLE",
    "what is unique besides": "ALTER TABLE recovery_owners ADD UNIQUE (message_id)",
    "a time without its zone": "ALTER TABLE recovery_owners ALTER active_at TYPE "
    "timestamp",
    "another number": "ALTER TABLE recovery_owners ALTER generation TYPE numeric",
    "another order of text": "ALTER TABLE recovery_owners ALTER owner_id TYPE text "
    'COLLATE "default"',
    "what may be nothing": "ALTER TABLE recovery_owners ALTER generation DROP NOT NULL",
    "another name": "ALTER TABLE recovery_owners RENAME agent_id TO agent",
    "a column more": "ALTER TABLE recovery_owners ADD mine text",
    "no table": "DROP TABLE recovery_owners",
    "a view": "ALTER TABLE recovery_owners RENAME TO old; "
    "CREATE VIEW recovery_owners AS SELECT * FROM old",
    "a kept view": "ALTER TABLE recovery_owners RENAME TO old; "
    "CREATE MATERIALIZED VIEW recovery_owners AS SELECT * FROM old",
    "an index": "DROP TABLE recovery_owners; "
    "CREATE INDEX recovery_owners ON payloads (key_id)",
    "a sequence": "DROP TABLE recovery_owners; CREATE SEQUENCE recovery_owners",
    "a type": "DROP TABLE recovery_owners; CREATE TYPE recovery_owners AS (a text)",
}
LEFT_ALONE = {
    "an index": "CREATE INDEX mine ON recovery_owners (message_id)",
    "a unique index": "CREATE UNIQUE INDEX mine ON recovery_owners (message_id)",
    "a comment": "COMMENT ON TABLE recovery_owners IS 'mine'",
    "a default": "ALTER TABLE recovery_owners ALTER generation SET DEFAULT 7",
    "a key of another name": "ALTER TABLE recovery_owners RENAME CONSTRAINT "
    "recovery_owners_pkey TO mine",
    "a check": "ALTER TABLE recovery_owners ADD CHECK (generation > 0)",
    "a view on it": "CREATE VIEW mine AS SELECT * FROM recovery_owners",
}
OWN = {
    "DROP CONSTRAINT stored_events_pkey": r"stored_events has no PRIMARY KEY \(pos",
    "DROP CONSTRAINT stored_events_originator_id_originator_version_key": (
        r"no UNIQUE \(originator_id, originator_version\)"
    ),
    "ALTER originator_version TYPE text": r"stored_events\.originator_version is not",
    "ALTER position TYPE numeric": r"stored_events\.position is not as it was made",
    "RENAME hash TO sum": r"stored_events\.hash is not as it was made",
    'ALTER originator_id TYPE text COLLATE "default"': r"stored_events\.originator_id",
}


@pytest.fixture
def url() -> Iterator[str]:
    """Give a schema of its own, with some owners in it; it is dropped in the end."""
    url = postgres.new_url()
    with open_ledger(url) as ledger:
        for number in range(COUNT):
            ledger.claim(owner(number), f"a{number}", "host")
    yield url
    with client(url) as by_hand:
        name = url.rpartition("=")[2]
        by_hand.execute(f"DROP SCHEMA {name} CASCADE".encode())


@pytest.fixture
def by_hand(url: str) -> Iterator[Client]:
    with client(url) as by_hand:
        yield by_hand


def owner(number: int) -> OwnerRef:
    return OwnerRef("session", f"s{number}")


def identity(by_hand: Client) -> int:
    """Return what tells the table from one that was made in its place."""
    found = by_hand.execute("SELECT 'recovery_owners'::regclass::oid::bigint")
    ((oid,),) = found.fetchall()
    return int(oid)


USES: dict[str, Callable[[Ledger], object]] = {
    "write": lambda ledger: ledger.claim(owner(COUNT), "a", "host"),
    "read": lambda ledger: list(ledger.rows(OWNERS)),
}


def works(ledger: Ledger, number: int) -> None:
    """Write one more owner; then the rows are what follows from the events."""
    ledger.claim(owner(number), f"a{number}", "host")
    assert [one.differing for one in ledger.rebuild(check=True)] == [0] * 10


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_table_that_was_altered_is_made_anew_by_opening(
    url: str, by_hand: Client, damage: str
) -> None:
    with open_ledger(url) as ledger:
        rows = list(ledger.rows(OWNERS))
    before = identity(by_hand)
    by_hand.execute(damage.encode())
    with open_ledger(url) as ledger:
        assert list(ledger.rows(OWNERS)) == rows
        works(ledger, COUNT)
    made = identity(by_hand)
    assert made != before
    with open_ledger(url) as ledger:
        works(ledger, COUNT + 1)
        ledger.setup()
    assert identity(by_hand) == made, "it was made again though it is right"


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_table_that_was_altered_is_made_anew_by_a_rebuild(
    url: str, by_hand: Client, damage: str
) -> None:
    with open_ledger(url) as ledger:
        rows, before = list(ledger.rows(OWNERS)), identity(by_hand)
        by_hand.execute(damage.encode())
        ledger.rebuild(OWNERS)
        assert identity(by_hand) != before
        assert list(ledger.rows(OWNERS)) == rows
        works(ledger, COUNT)


@pytest.mark.parametrize("change", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_the_rows_do_not_rest_on_is_left_alone(
    url: str, by_hand: Client, change: str
) -> None:
    before = identity(by_hand)
    by_hand.execute(change.encode())
    with open_ledger(url) as ledger:
        ledger.rebuild()
        works(ledger, COUNT)
    assert identity(by_hand) == before


def test_a_view_on_a_table_that_must_be_made_anew_is_to_be_dropped(
    url: str, by_hand: Client
) -> None:
    by_hand.execute("CREATE VIEW mine AS SELECT owner_id FROM recovery_owners")
    by_hand.execute(DAMAGE["an agent may be twice"].encode())
    with open_ledger(url) as ledger:
        with pytest.raises(StoreUnavailable, match=r"(?s)mine.*Drop that"):
            ledger.setup()
        by_hand.execute("DROP VIEW mine")
        works(ledger, COUNT)


@pytest.mark.parametrize(
    ("damage", "use"),
    [("no primary key", "write"), ("a time without its zone", "read")],
)
def test_what_was_altered_under_a_running_program_is_a_fault_that_says_so(
    url: str, by_hand: Client, damage: str, use: str
) -> None:
    with open_ledger(url) as ledger:
        assert len(list(ledger.rows(OWNERS))) == COUNT
        by_hand.execute(DAMAGE[damage].encode())
        with pytest.raises(Corrupt, match=r"not as it was made.*tenure rebuild"):
            USES[use](ledger)
        ledger.rebuild(OWNERS)
        works(ledger, COUNT)


@pytest.mark.parametrize(("change", "told"), OWN.items())
def test_the_ledgers_own_tables_are_never_made_anew(
    url: str, by_hand: Client, change: str, told: str
) -> None:
    by_hand.execute(f"ALTER TABLE stored_events {change}".encode())
    with open_ledger(url) as ledger:
        for use in (ledger.setup, ledger.head, ledger.rebuild):
            with pytest.raises(Corrupt, match=f"{told}.*restore a backup"):
                use()
    found = by_hand.execute("SELECT count(*) FROM stored_events").fetchall()
    assert found == [(2 * COUNT,)]


@pytest.mark.parametrize("table", ["commands", "payloads", "kept_tables"])
def test_a_key_of_the_other_tables_of_the_ledger_is_missed_too(
    url: str, by_hand: Client, table: str
) -> None:
    by_hand.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey".encode())
    with (
        open_ledger(url) as ledger,
        pytest.raises(Corrupt, match=f"{table} has no PRIMARY KEY"),
    ):
        ledger.setup()


def test_a_column_that_somebody_added_to_the_events_is_left_alone(
    url: str, by_hand: Client
) -> None:
    by_hand.execute("ALTER TABLE stored_events ADD mine text")
    with open_ledger(url) as ledger:
        works(ledger, COUNT)
