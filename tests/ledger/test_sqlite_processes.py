"""One SQLite file and several processes: killed, forked, and started at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from processes import other
from stored import append, append_next, event
from tenure_ledger.rows import row_hash
from tenure_ledger.stores import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relay.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(path)) as opened:
        yield opened


def assert_sound(path: Path) -> None:
    """Nothing is damaged and every row is what its hash says."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with closing(SQLiteStore(path)) as store:
        rows = list(store.events(0))
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))
        assert all(row.hash == row_hash(*row[1:5]) for row in rows)


IN_A_UNIT = """
    append(store, event("a", 1))
    with store.write(10) as unit:
        unit.add([event("a", 2), event("a", 3, bytes(10_000_000))], None)
        say("added")
        hear()
"""


def test_a_writer_killed_in_a_unit_leaves_nothing_of_it(
    path: Path, store: SQLiteStore
) -> None:
    with other(IN_A_UNIT, path) as writer:
        assert writer.hear() == "added"
        writer.kill()
    assert append(store, event("a", 2)) == [2]
    assert_sound(path)


COMMITS = """
    while True:
        say(append_next(store, "a"))
"""


def test_what_was_acknowledged_outlives_a_killed_writer(
    path: Path, store: SQLiteStore
) -> None:
    with other(COMMITS, path) as writer:
        said = [writer.hear() for _ in range(20)] + writer.kill()
    acknowledged = [int(line) for line in said if line]
    assert acknowledged == list(range(1, len(acknowledged) + 1))
    assert len(store.tail("a", 1)) in (acknowledged[-1], acknowledged[-1] + 1)
    assert_sound(path)


CREATE = """
    say("ready")
    hear()
    say(append_next(store, "shared"), append(store, event(str(os.getpid()), 1)))
"""


def test_many_processes_may_create_the_same_ledger_at_once(path: Path) -> None:
    with ExitStack() as running:
        makers = [running.enter_context(other(CREATE, path)) for _ in range(6)]
        assert [maker.hear() for maker in makers] == ["ready"] * 6
        for maker in makers:
            maker.say()
        versions = sorted(int(maker.end()[0].split()[0]) for maker in makers)
    assert versions == [1, 2, 3, 4, 5, 6]
    assert_sound(path)
    with closing(SQLiteStore(path)) as store:
        assert store.head_position() == 12


FORK = """
    append(store, event("parent", 1))
    store.tail("parent", 1)
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        append_next(store, "child")
        store.tail("parent", 1)
        os.write(there, b"1")
        os.kill(os.getpid(), signal.SIGKILL)
    os.read(here, 1)
    append_next(store, "parent")
    os.waitpid(child, 0)
    say([row.stream for row in store.events(0)])
"""


def test_a_forked_child_uses_connections_of_its_own(path: Path) -> None:
    with other(FORK, path) as parent:
        assert parent.end() == ["['parent', 'child', 'parent']"]
    assert_sound(path)


FORK_AND_CLOSE = """
    append(store, event("parent", 1))
    here, there = os.pipe()
    go, closed = os.pipe()
    child = os.fork()
    if child == 0:
        append_next(store, "child")
        os.write(there, b"1")
        os.read(go, 1)
        append_next(store, "child")
        os.kill(os.getpid(), signal.SIGKILL)
    os.read(here, 1)
    append_next(store, "parent")
    store.close()
    say(os.path.exists(sys.argv[1] + "-wal"))
    os.write(closed, b"1")
    os.waitpid(child, 0)
    store = SQLiteStore(sys.argv[1])
    say([row.stream for row in store.events(0)])
"""


def test_the_log_stays_while_a_forked_child_writes_to_it(path: Path) -> None:
    # With inherited connections the parent removed it, and the child's commit with it.
    with other(FORK_AND_CLOSE, path) as parent:
        assert parent.end() == ["True", "['parent', 'child', 'parent', 'child']"]
    assert_sound(path)


FORK_IN_A_UNIT = """
    with store.write(10) as unit:
        unit.add([event("parent", 1)], None)
        child = os.fork()
        if child == 0:
            answers = []
            for use in (unit.commit, lambda: store.tail("parent", 1), store.setup):
                try:
                    use()
                except StoreUnavailable as fault:
                    answers.append(str(fault).split(" ")[2])
            sys.exit(answers != ["is", "was", "was"])
        _, status = os.waitpid(child, 0)
        unit.commit()
    say(status, len(store.tail("parent", 1)))
"""


def test_a_child_forked_inside_a_unit_is_refused(path: Path) -> None:
    with other(FORK_IN_A_UNIT, path) as parent:
        assert parent.end() == ["0 1"]
    assert_sound(path)


FORKS_AMONG_THREADS = """
    import threading, warnings
    warnings.simplefilter("ignore", DeprecationWarning)
    done = threading.Event()
    def work(name):
        while not done.is_set():
            append_next(store, name)
            store.tail(name, 1)
    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    statuses = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            append_next(store, "child")
            os._exit(0)
        statuses.append(os.waitpid(child, 0)[1])
    done.set()
    for thread in threads:
        thread.join()
    say(statuses, len(store.tail("child", 1)))
"""


def test_a_fork_waits_until_other_threads_have_ended_their_units(path: Path) -> None:
    with other(FORKS_AMONG_THREADS, path) as parent:
        assert parent.end() == [f"{[0] * 10} 10"]
    assert_sound(path)


def test_two_processes_write_by_turns(path: Path, store: SQLiteStore) -> None:
    with other(COMMITS, path) as writer:
        first = writer.hear()
        mine = [append_next(store, "mine") for _ in range(20)]
        writer.kill()
    assert first == "1"
    assert mine == list(range(1, 21))
    assert_sound(path)
