"""Two servers that take writes at once, and a standby that confirms nothing.

Real servers: a primary, and a copy of it that streams and is promoted. The old primary
goes on, as one does whose keeper hangs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from socket import AF_UNIX, socket
from threading import Thread

import pytest

import tenure_ledger.stores.postgres as postgres_store
import tenure_ledger.stores.postgres_word as word_module
from clients import client
from gate_writer import Willing
from gates import user
from postgres import Server
from standby import Pair, new_data, pair
from tenure import (
    Authority,
    Fault,
    First,
    Ledger,
    NarrativeTransform,
    OwnerRef,
    StoreUnavailable,
    TermRetired,
    open_ledger,
)
from tenure_ledger.stores import postgres_connect
from tenure_ledger.stores.postgres import PostgresStore
from tenure_ledger.stores.postgres_wire import Call, Result, Wire
from waiting import until

S = OwnerRef("session", "ses_1")
FIRST = First("m1", "human")
COUNT = "SELECT count(*) FROM agent.stored_events WHERE topic LIKE 'submission%'"


@pytest.fixture(scope="module")
def template() -> Iterator[Server]:
    with new_data() as template:
        yield template


@pytest.fixture
def servers(template: Server) -> Iterator[Pair]:
    with pair(template) as servers:
        yield servers


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the writes that only confirm."""
    seen: list[int] = []
    run = Wire.run

    def counted(wire: Wire, calls: list[Call], deadline: float) -> list[Result]:
        seen.extend(1 for call in calls if call is word_module.WORD)
        return run(wire, calls, deadline)

    monkeypatch.setattr(Wire, "run", counted)
    return seen


def begun(servers: Pair) -> Authority:
    """Begin a term on the primary, which the standby knows."""
    with open_ledger(servers.url) as ledger:
        held = ledger.claim(S, "a", "host", first=FIRST)
    servers.catch_up()
    return held


def accepted(servers: Pair) -> tuple[int, int]:
    """Return how many messages the old and the new primary have taken in."""
    return (
        servers.value(servers.primary, COUNT),
        servers.value(servers.standby, COUNT),
    )


def test_of_two_that_take_writes_the_promoted_one_is_taken_and_never_the_old_again(
    servers: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So long a reader waits for a primary to come back.
    monkeypatch.setattr(postgres_store, "READ_SECONDS", 1.0)
    begun(servers)
    servers.promote()
    # The old one is named first, and takes what it is given.
    with open_ledger(servers.url, deadline_seconds=1) as ledger:
        ledger.accept(S, "m2", "inbox")
        assert accepted(servers) == (1, 2)
        servers.standby.stop()
        with pytest.raises(StoreUnavailable, match="on timeline 1, and 2 was seen"):
            ledger.accept(S, "m3", "inbox")
        with pytest.raises(StoreUnavailable, match="on timeline 1, and 2 was seen"):
            ledger.owner(S)
        assert servers.value(servers.primary, COUNT) == 1
        servers.standby.start(os.getpid())
        assert ledger.accept(S, "m3", "inbox")
    assert accepted(servers) == (1, 3)


def test_a_commit_that_the_old_one_cannot_confirm_goes_to_the_promoted_one(
    servers: Pair,
) -> None:
    servers.must_confirm(must=True)
    begun(servers)
    with open_ledger(servers.url) as ledger:
        ledger.accept(S, "m2", "inbox")
        servers.promote()
        # Its connection leads to the old one, where this waits for ever.
        ledger.accept(S, "m3", "inbox")
        assert servers.value(servers.standby, COUNT) == 3
        assert ledger.verify().ok


def test_what_was_opened_to_the_old_one_is_not_used_once_the_promoted_one_was_seen(
    servers: Pair,
) -> None:
    begun(servers)
    store = PostgresStore(servers.url)
    with store.snapshot() as old, store.snapshot():
        # Two connections, both to the old one, in use while another is opened.
        servers.promote()
        with open_ledger(servers.url) as other:
            other.accept(S, "m2", "inbox")
        new = store.head_position()
        assert new > old.position
    with store.snapshot() as one, store.snapshot() as two, store.snapshot() as three:
        assert [one.position, two.position, three.position] == [new] * 3
    store.close()


def test_the_old_one_gives_nobody_leave_to_act_after_a_cut_on_the_promoted_one(
    servers: Pair,
) -> None:
    servers.must_confirm(must=True)
    held = begun(servers)
    with open_ledger(servers.url) as ledger, open_ledger(servers.url) as other:
        gate = NarrativeTransform(ledger, Willing())
        assert gate.apply(S, [user("m1")], authority=held).verdicts
        servers.promote()
        other.retire(held, "continue", "go on")

        # A moment ago the old one was the primary; then it has to prove it.
        def is_told() -> bool:
            try:
                gate.apply(S, [user("m1")], authority=held)
            except TermRetired:
                return True
            return False

        until(is_told)
        with pytest.raises(TermRetired):
            ledger.check(held)


def test_a_host_that_is_silent_holds_nobody_up(
    servers: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It may take as long as it likes.
    monkeypatch.setattr(postgres_connect, "_HOST_SECONDS_MAX", 3600.0)
    with socket(AF_UNIX) as silent:
        silent.bind(f"{tmp_path}/.s.PGSQL.5432")
        silent.listen()
        hosts = f"{tmp_path},{servers.primary.folder}"
        url = f"postgresql:///postgres?host={hosts}&user=postgres"
        with open_ledger(url, deadline_seconds=20) as ledger:
            assert ledger.accept(S, "m1", "inbox") == 1


def doubtful(servers: Pair, ledger: Ledger) -> Thread:
    """Leave a message that everybody can read and the standby does not have."""
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' LIMIT 1"

    def accept() -> None:
        with pytest.raises(Fault):
            ledger.accept(S, "m2", "inbox")

    thread = Thread(target=accept)
    thread.start()
    until(lambda: servers.value(servers.primary, waiting))
    with client(f"{servers.primary.url}&schema=agent") as by_hand:

        def is_shown() -> bool:
            ((pid,),) = by_hand.execute(waiting).fetchall() or [(None,)]
            if pid is not None:
                by_hand.execute("SELECT pg_cancel_backend(%s)", (pid,))
            return bool(servers.value(servers.primary, COUNT) == 2)

        until(is_shown)
    return thread


def test_no_verdict_rests_on_a_tail_that_the_standby_has_not(
    servers: Pair, words: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.must_confirm(must=True)
    held = begun(servers)
    with (
        open_ledger(servers.url, deadline_seconds=1) as writer,
        open_ledger(servers.url) as reader,
    ):
        gate = NarrativeTransform(reader, Willing())
        assert gate.apply(S, [user("m1")], authority=held).verdicts
        writer.check(held)
        # What follows is not about how long ago the server proved itself.
        monkeypatch.setattr(word_module, "_MOMENT_SECONDS", 3600.0)
        servers.pause()
        doubtful(servers, writer).join()
        assert servers.value(servers.primary, COUNT) == 2
        for ask in (
            lambda: gate.apply(S, [user("m1")], authority=held),
            lambda: reader.owner(S),
            lambda: reader.check(held),
        ):
            with pytest.raises(Fault):
                ask()
        servers.go_on()
        words.clear()
        view = gate.apply(S, [user("m1"), user("m2")], authority=held)
        # What was in doubt stands, and the gate has admitted it.
        assert [verdict.journal.version for verdict in view.verdicts] == [6, 6]
        # One confirming write for the new tail (and one for a new connection), and
        # none for the same again.
        assert len(words) in {1, 2}
        words.clear()
        reader.check(held)
        assert gate.apply(S, [user("m1"), user("m2")], authority=held) == view
        assert words == []
