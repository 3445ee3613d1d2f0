"""Two processes write, agents move between owners, and rebuilds go on meanwhile."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from processes import Other, other
from projected import right_tables, stored_tables
from tenure import Ledger, open_ledger
from tenure_ledger.events import GenerationAdvanced, OwnershipClaimed

RACER = """
    from racer import race
    store.close()
    say("ready")
    hear()
    race(url, {name!r}, {steps})
    say("done")
"""
STEPS = 250
SPOILT = {"recovery_owners", "chat_executions", "retirement_cuts"}


def start(stack: ExitStack, path: Path) -> list[Other]:
    """Start two writers that let each other no peace."""
    running = [
        stack.enter_context(other(RACER.format(name=f"r{number}", steps=STEPS), path))
        for number in range(2)
    ]
    assert [one.hear() for one in running] == ["ready", "ready"]
    for one in running:
        one.say()
    return running


def spoil(path: Path) -> None:
    """Make rows wrong where both write."""
    with closing(sqlite3.connect(path, timeout=30)) as db, db:
        db.execute("UPDATE recovery_owners SET generation = generation + 100")
        db.execute("DELETE FROM chat_executions WHERE rowid % 3 = 0")
        db.execute("UPDATE retirement_cuts SET outcome = 'x'")


def differing(ledger: Ledger, *, check: bool) -> dict[str, int]:
    """Rebuild everything; return how many rows of each table differed, if any did."""
    found = ledger.rebuild(check=check)
    return {one.table: one.differing for one in found if one.differing}


@pytest.mark.parametrize("spoilt", [False, True], ids=["sound", "damaged"])
def test_no_rebuild_takes_what_writers_do_for_a_difference(
    tmp_path: Path, *, spoilt: bool
) -> None:
    path = tmp_path / "relay.db"
    overlapped = 0
    with open_ledger(f"sqlite:///{path}") as ledger, ExitStack() as stack:
        ledger.setup()
        running = start(stack, path)
        while any(one.runs for one in running):
            before = ledger.head().position
            if spoilt:
                spoil(path)
                assert set(differing(ledger, check=False)) <= SPOILT
            assert differing(ledger, check=True) == {}
            overlapped += ledger.head().position > before
        for one in running:
            assert one.end()[-1] == "done"
        assert differing(ledger, check=True) == {}
        assert ledger.verify().ok
        store = ledger._shell.store  # pyright: ignore[reportPrivateUsage]
        assert stored_tables(store) == right_tables(store)
        moved = {
            (one.event.agent_id, one.stream)
            for one in ledger.events()
            if isinstance(one.event, OwnershipClaimed | GenerationAdvanced)
        }
    # Sometimes: a writer wrote during a rebuild, an agent had more than one owner.
    assert overlapped >= 3
    assert max(Counter(agent for agent, _ in moved if agent).values()) > 1
