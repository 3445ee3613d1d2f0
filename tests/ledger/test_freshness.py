"""What is known to be fresh: never older than the durable head, and read once."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure import First, Ledger, OwnerRef, StoreUnavailable, open_ledger
from tenure_ledger.rows import EventRow
from tenure_ledger.shell import Shell
from tenure_ledger.stores import SQLiteStore
from worlds import World

S = OwnerRef("session", "ses_1")


def test_what_another_process_wrote_is_seen_at_once(world: World) -> None:
    one, other = world.ledger, world.open("p2")
    held = one.claim(S, "a", "host", first=First("m0", "human"))
    for number in range(1, 30):
        other.accept(S, f"m{number}", "inbox")
        assert one.fresh_state(S).version == other.owner(S).version
        assert f"m{number}" in one.fresh_state(S).executions.by_key
    one.start(held, "m0")
    assert one.fresh_state(S).executions.by_key["m0"].started
    assert other.fresh_state(S) == one.fresh_state(S)


class Counting(SQLiteStore):
    """A real store that counts how often a stream is read."""

    reads = 0

    def tail(self, stream: str, version: int) -> Sequence[EventRow]:
        """Count, then read."""
        self.reads += 1
        return super().tail(stream, version)


def test_nothing_is_read_while_nobody_commits(tmp_path: Path) -> None:
    store = Counting(tmp_path / "relay.db")
    shell = Shell(
        store,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        process=lambda: "host",
        deadline_seconds=30.0,
    )
    with Ledger(shell) as ledger:
        ledger.accept(S, "m1", "inbox")
        first = ledger.fresh_state(S)
        reads = store.reads
        assert all(ledger.fresh_state(S) is first for _ in range(100))
        assert store.reads == reads
        ledger.accept(S, "m2", "inbox")
        assert ledger.fresh_state(S).version == 2
        assert store.reads > reads


def test_threads_never_see_less_than_was_committed_before_they_looked(
    world: World,
) -> None:
    ledger, other = world.ledger, world.open("p2")
    ledger.accept(S, "m0", "inbox")
    committed = 1
    done = threading.Event()
    wrong: list[tuple[int, int]] = []

    def look() -> None:
        while not done.is_set():
            least = committed
            seen = ledger.fresh_state(S).version
            if seen < least:
                wrong.append((seen, least))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 150):
        other.accept(S, f"m{number}", "inbox")
        committed = number + 1
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger:
        ledger.accept(S, "m1", "inbox")
        assert ledger.fresh_state(S).version == 1
        shutil.copyfile(path, tmp_path / "copy.db")
        (tmp_path / "copy.db").replace(path)
        with pytest.raises(StoreUnavailable):
            look_for_ever(ledger)


def look_for_ever(ledger: Ledger) -> None:
    while True:
        ledger.fresh_state(S)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_looks_for_itself(tmp_path: Path) -> None:
    with open_ledger(f"sqlite:///{tmp_path}/relay.db") as ledger:
        ledger.accept(S, "m1", "inbox")
        assert ledger.fresh_state(S).version == 1
        child = os.fork()
        if not child:
            try:
                ledger.accept(S, "m2", "inbox")
                os._exit(0 if ledger.fresh_state(S).version == 2 else 1)
            except BaseException:  # noqa: BLE001  the parent hears of it
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ledger.fresh_state(S).version == 2


def test_a_closed_ledger_says_so(world: World) -> None:
    world.ledger.accept(S, "m1", "inbox")
    world.ledger.fresh_state(S)
    world.ledger.close()
    with pytest.raises(StoreUnavailable):
        world.ledger.fresh_state(S)
