"""A server that is restarted, killed, or waits for a standby that does not come."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from clients import client
from postgres import Server
from tenure import (
    Fault,
    Ledger,
    OutcomeUnknown,
    OwnerRef,
    StoreUnavailable,
    open_ledger,
)
from waiting import until

S = OwnerRef("session", "ses_1")
WAITING = """
SELECT pid, xact_start FROM pg_stat_activity
WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = Server(Path(folder))
        server.start(os.getpid())
        yield server
        server.stop()


@pytest.fixture
def url(server: Server, request: pytest.FixtureRequest) -> str:
    return f"{server.url}&schema=t{abs(hash(request.node.name))}"


def waits_for_standby(server: Server, *, waits: bool) -> None:
    """Let every commit wait for a standby that there is not, or for none."""
    standbys = "nobody" if waits else ""
    with client(f"{server.url}&schema=public") as by_hand:
        by_hand.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standbys}'")
        by_hand.execute("SELECT pg_reload_conf()")

        def shown() -> bool:
            ((now,),) = by_hand.execute("SHOW synchronous_standby_names").fetchall()
            return bool(now == standbys)

        until(shown)


def next_to_wait(server: Server, seen: set[object]) -> int:
    """Wait until a transaction waits that was not seen; return its process."""
    found: list[tuple[int, object]] = []

    def waits() -> bool:
        rows = by_hand.execute(WAITING).fetchall()
        found[:] = [(pid, since) for pid, since in rows if since not in seen]
        return bool(found)

    with client(f"{server.url}&schema=public") as by_hand:
        until(waits)
    ((pid, since),) = found
    seen.add(since)
    return pid


@pytest.fixture
def lonely(server: Server) -> Iterator[Server]:
    """Give the server; in the end it waits for nobody again."""
    yield server
    waits_for_standby(server, waits=False)


def with_setting(url: str, setting: str) -> str:
    """Return the URL with something set for its sessions, as for a role."""
    option = f"&options=-c%20{setting.replace('=', '%3D')}"
    return url.replace("&schema=", f"{option}&schema=")


def stored(url: str) -> int:
    """Return how many events anybody can read."""
    with client(url) as by_hand:
        ((count,),) = by_hand.execute("SELECT count(*) FROM stored_events").fetchall()
    return int(count)


@pytest.mark.parametrize("level", ["on", "local", "off", "remote_apply"])
def test_our_own_deadline_ends_a_commit_that_nothing_else_bounds(
    lonely: Server, url: str, level: str
) -> None:
    set_by_role = with_setting(url, f"synchronous_commit={level}")
    with open_ledger(set_by_role, deadline_seconds=1) as ledger:
        ledger.accept(S, "m1", "inbox")
        waits_for_standby(lonely, waits=True)
        with pytest.raises(OutcomeUnknown) as unknown:
            ledger.accept(S, "m2", "inbox", command_id="second")
        assert unknown.value.command_id == "second"
        waits_for_standby(lonely, waits=False)
        assert ledger.accept(S, "m2", "inbox", command_id="second") == 2
        assert stored(url) == 2


def test_what_is_in_doubt_is_acknowledged_to_nobody(lonely: Server, url: str) -> None:
    with open_ledger(url, deadline_seconds=1) as ledger:
        ledger.accept(S, "m1", "inbox")
    waits_for_standby(lonely, waits=True)
    with (
        open_ledger(url, deadline_seconds=1) as one,
        open_ledger(url, deadline_seconds=1) as two,
    ):
        for ledger in (one, two):
            # The second finds the row, and writes a word that must be confirmed.
            with pytest.raises(Fault):
                ledger.accept(S, "m2", "inbox", command_id="second")
        waits_for_standby(lonely, waits=False)
        assert [one.accept(S, "m2", "inbox", command_id="second") for one in (one, two)]
    assert stored(url) == 2


@pytest.mark.parametrize("level", ["error", "notice", "debug5"])
def test_a_cancelled_wait_is_no_acknowledgement(
    lonely: Server, url: str, level: str
) -> None:
    done: list[int] = []
    with open_ledger(with_setting(url, f"client_min_messages={level}")) as ledger:
        ledger.accept(S, "m1", "inbox")
        waits_for_standby(lonely, waits=True)
        thread = Thread(target=lambda: done.append(ledger.accept(S, "m2", "inbox")))
        thread.start()
        seen: set[object] = set()
        pid = next_to_wait(lonely, seen)
        for _ in range(2):
            with client(url) as by_hand:
                by_hand.execute("SELECT pg_cancel_backend(%s)", (pid,))
            # The commit returns, with a warning; the library asks again.
            pid = next_to_wait(lonely, seen)
            assert not done
        waits_for_standby(lonely, waits=False)
        thread.join()
        assert done == [2]
    assert stored(url) == 2


def load(ledgers: list[Ledger], writes: Callable[[], bool]) -> list[list[str]]:
    """Write from a thread for each ledger, as long as it says; return what was told."""
    told: list[list[str]] = [[] for _ in ledgers]
    faults: list[BaseException] = []

    def work(nth: int, ledger: Ledger) -> None:
        owner = OwnerRef("session", f"ses_{nth}")
        try:
            while writes():
                name = f"m{len(told[nth])}"
                ledger.accept(owner, name, "inbox")
                told[nth].append(name)
        except BaseException as fault:  # noqa: BLE001  told by the assertion below
            faults.append(fault)

    threads = [
        Thread(target=work, args=(nth, ledger)) for nth, ledger in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    return told


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_is_restarted_under_load_loses_and_doubles_nothing(
    server: Server, url: str, how: signal.Signals
) -> None:
    # SIGQUIT is the crash: no checkpoint, the log is recovered.
    ledgers = [open_ledger(url, process=f"p{nth}") for nth in range(3)]
    restarts = 0

    def fifty_more() -> None:
        before = stored(url)
        until(lambda: stored(url) > before + 50)

    def restart() -> None:
        nonlocal restarts
        for _ in range(2):
            fifty_more()
            server.stop(how)
            server.start(os.getpid())
            restarts += 1
        fifty_more()

    ledgers[0].setup()
    thread = Thread(target=restart)
    thread.start()
    told = load(ledgers, thread.is_alive)
    thread.join()
    assert restarts == 2
    for nth, names in enumerate(told):
        history = ledgers[nth].history(OwnerRef("session", f"ses_{nth}"))
        assert [getattr(one.event, "key", None) for one in history] == names
    # How they shared it out between them is the machine's business.
    assert sum(map(len, told)) > 3 * 50
    assert ledgers[0].verify().ok
    for ledger in ledgers:
        ledger.close()


def test_a_server_that_was_restarted_while_nobody_asked_is_asked_again(
    server: Server, url: str
) -> None:
    with open_ledger(url) as ledger:
        ledger.accept(S, "m1", "inbox")
        server.stop()
        server.start(os.getpid())
        assert ledger.accept(S, "m2", "inbox") == 2
        server.stop()
        server.start(os.getpid())
        assert ledger.head().count == 2


def test_a_server_that_is_not_there_says_so_at_once_and_comes_later(
    server: Server, url: str
) -> None:
    with open_ledger(url) as ledger:
        server.stop()
        with pytest.raises(StoreUnavailable, match="nothing was written"):
            ledger.accept(S, "m1", "inbox")
        server.start(os.getpid())
        assert ledger.accept(S, "m1", "inbox") == 1
