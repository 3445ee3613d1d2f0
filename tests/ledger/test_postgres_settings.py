"""What an administrator sets for a role breaks no promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import postgres
from clients import Client, client
from tenure import First, OwnerRef, StoreUnavailable, open_ledger
from waiting import until

S = OwnerRef("session", "ses_1")
TEXT = "é \\ ' \N{LINE SEPARATOR} \N{GRINNING FACE}"


@pytest.fixture
def by_hand() -> Iterator[Client]:
    with client(postgres.new_url()) as opened:
        yield opened


@pytest.fixture
def place(by_hand: Client) -> Iterator[tuple[str, Callable[[str], object]]]:
    """Give a ledger's URL, and what sets something for the role that it names."""
    url = postgres.new_url()
    name = url.rpartition("=")[2]
    by_hand.execute(f"CREATE ROLE {name} LOGIN".encode())
    by_hand.execute(f"CREATE SCHEMA {name} AUTHORIZATION {name}".encode())
    yield (
        url.replace("user=postgres", f"user={name}"),
        lambda setting: by_hand.execute(f"ALTER ROLE {name} SET {setting}".encode()),
    )
    by_hand.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'serializable'",
        "default_transaction_deferrable = on",
        "search_path = 'elsewhere', public",
        "client_encoding = 'LATIN1'",
        "standard_conforming_strings = off",
        "bytea_output = 'escape'",
        "\"DateStyle\" = 'SQL, DMY'",
        "\"TimeZone\" = 'Asia/Kathmandu'",
        "enable_indexscan = off",
        "lock_timeout = '1ms'",
        "synchronous_commit = off",
    ],
)
def test_a_ledger_is_the_same_whatever_is_set(
    place: tuple[str, Callable[[str], object]], setting: str
) -> None:
    url, set_for_role = place
    set_for_role(setting)
    with open_ledger(url) as ledger:
        one = ledger.claim(S, "a", "host", first=First("m1", "human"))
        ledger.begin_tool_call(one, "m1", "c1", "tool", {"text": TEXT})
        ledger.retire(one, "continue", TEXT)
        cut = ledger.owner(S).cut
        assert cut is not None
        assert cut.handover is not None
        assert ledger.body(S, cut.handover) == TEXT
        assert ledger.verify().ok
        assert all(not one.differing for one in ledger.rebuild(check=True))


@pytest.mark.parametrize(
    ("setting", "release"),
    [
        ("idle_in_transaction_session_timeout", 15),
        ("transaction_timeout", 17),
    ],
)
def test_who_reads_at_leisure_is_not_cut_off(
    place: tuple[str, Callable[[str], object]],
    by_hand: Client,
    setting: str,
    release: int,
) -> None:
    url, set_for_role = place
    if by_hand.info.server_version >= release * 10000:
        set_for_role(f"{setting} = '50ms'")
    user = url.rpartition("=")[2]

    def idle_for_long() -> object:
        return by_hand.execute(
            "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' "
            "AND state_change < clock_timestamp() - interval '300ms' AND usename = %s",
            [user],
        ).fetchone()

    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
        seen = 0
        for row in ledger.rows("recovery_owners"):
            until(idle_for_long)
            seen += row["agent_id"] == "a"
        assert seen == 1


def test_a_role_that_is_set_to_read_only_reads_and_is_told_why_it_writes_nothing(
    place: tuple[str, Callable[[str], object]],
) -> None:
    url, set_for_role = place
    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
    set_for_role("default_transaction_read_only = on")
    with open_ledger(url) as ledger:
        assert ledger.owner(S).agent_id == "a"
        assert ledger.verify().ok
        with pytest.raises(StoreUnavailable, match="default_transaction_read_only"):
            ledger.accept(S, "m1", "inbox")
        assert ledger.head().count == 2


def test_rows_that_a_policy_hides_are_not_taken_for_none(
    place: tuple[str, Callable[[str], object]], by_hand: Client
) -> None:
    url, _ = place
    with open_ledger(url) as ledger:
        ledger.claim(S, "a", "host")
        table = f"{url.rpartition('=')[2]}.stored_events"
        by_hand.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
        by_hand.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY".encode())
        for ask in (lambda: ledger.owner(S), ledger.head, ledger.verify):
            with pytest.raises(StoreUnavailable, match="row-level security"):
                ask()
        by_hand.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
        assert ledger.owner(S).agent_id == "a"
