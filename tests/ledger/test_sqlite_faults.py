"""SQLite when something is wrong: a typed fault, nothing half-written, and it goes on.

Everything here is real: other processes, full disks, killed writers. No mocks.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from privileges import NOBODY, without_privileges
from processes import other
from stored import OWNERS, append, command, event, owner
from table_rows import table_rows
from tenure_ledger.errors import (
    Contended,
    Corrupt,
    Fault,
    SchemaMissing,
    SchemaTooNew,
    StoreFull,
    StoreUnavailable,
)
from tenure_ledger.rows import BodyRow, RowRefused
from tenure_ledger.stores import SQLiteStore
from tenure_ledger.stores.sqlite_schema import APPLICATION_ID, SCHEMA_VERSION


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relay.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(path, tables=[OWNERS])) as opened:
        yield opened


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may reach: the folders above `tmp_path` are private."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def uses(store: SQLiteStore) -> list[Callable[[], object]]:
    return [lambda: store.tail("a", 1), lambda: append(store, event("a", 1))]


def content(path: Path) -> bytes:
    """Read by another process: closing a file here would drop SQLite's locks on it."""
    return subprocess.run(["cat", path], check=True, capture_output=True).stdout  # noqa: S607


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        found.name: b"a folder" if found.is_dir() else content(found)
        for found in folder.iterdir()
    }


def assert_refused(path: Path, kind: type[Fault], says: str) -> None:
    """Reading and writing are refused, and not a byte in the folder is changed."""
    before = snapshot(path.parent)
    with closing(SQLiteStore(path)) as store:
        for use in uses(store):
            with pytest.raises(kind, match=says):
                use()
    assert snapshot(path.parent) == before


# Files that are not ours, or not here


def test_a_folder_is_no_ledger(path: Path) -> None:
    path.mkdir()
    assert_refused(path, StoreUnavailable, "it is a folder")


def test_a_missing_folder_is_named_and_can_be_made(tmp_path: Path) -> None:
    with closing(SQLiteStore(tmp_path / "there" / "relay.db")) as store:
        for use in uses(store):
            with pytest.raises(StoreUnavailable, match=r"no folder .*there\. Make it"):
                use()
        (tmp_path / "there").mkdir()
        assert append(store, event("a", 1)) == [1]


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_a_database_of_another_application_is_left_alone(
    path: Path, journal_mode: str
) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {journal_mode}")
        db.execute("CREATE TABLE stored_events (a)")
    assert_refused(path, StoreUnavailable, "another application")


def test_the_log_of_another_application_is_not_merged(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = wal")
        db.execute("CREATE TABLE notes (a)")
        before = content(path)
        with closing(SQLiteStore(path)) as store, pytest.raises(StoreUnavailable):
            append(store, event("a", 1))
        assert content(path) == before
        assert db.execute("SELECT count(*) FROM notes").fetchone() == (0,)


def test_a_ledger_of_plain_eventsourcing_is_left_alone(path: Path) -> None:
    datastore = SQLiteDatastore(str(path))
    SQLiteApplicationRecorder(datastore).create_table()
    datastore.close()
    assert_refused(path, StoreUnavailable, "another application")


def test_an_application_id_of_another_is_enough(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 1196444487")
    assert_refused(path, StoreUnavailable, "0x47504b47")


def test_a_file_that_is_no_database_is_left_alone(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1000)
    assert_refused(path, Corrupt, "not a SQLite database")


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()
    with closing(SQLiteStore(path)) as store:
        assert append(store, event("a", 1)) == [1]


def test_a_newer_schema_is_left_alone(path: Path, store: SQLiteStore) -> None:
    append(store, event("a", 1))
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    assert_refused(path, SchemaTooNew, "upgrade tenure")


def test_an_older_schema_is_migrated(path: Path, store: SQLiteStore) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        assert db.execute("PRAGMA user_version").fetchone() == (0,)
    assert append(store, event("a", 1)) == [1]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


@pytest.mark.parametrize(
    "table", ["stored_events", "commands", "payloads", "kept_tables"]
)
def test_a_ledger_that_lost_a_table_is_corrupt(
    path: Path, store: SQLiteStore, table: str
) -> None:
    append(store, event("a", 1))
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"DROP TABLE {table}")
    assert_refused(path, Corrupt, rf"lost its tables \({table}\): restore a backup")


def test_a_table_dropped_under_an_open_store_is_corrupt(
    path: Path, store: SQLiteStore
) -> None:
    append(store, event("a", 1))
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE payloads")
    with pytest.raises(Corrupt, match="no such table: payloads"):
        store.body("a", "d1")
    with pytest.raises(Corrupt, match="nothing was written"), store.write(1.0) as unit:
        unit.add([event("a", 2)], None, [BodyRow("d1", "a", b"body")])
    assert append(store, event("a", 2)) == [2]


def test_a_row_that_its_table_refuses_ends_the_unit(store: SQLiteStore) -> None:
    with store.write(1.0) as unit:
        with pytest.raises(RowRefused, match="nothing was written"):
            unit.add(
                [event("a", 1)],
                None,
                (),
                [owner("one", "agent"), owner("two", "agent")],
            )
        with pytest.raises(RowRefused):
            unit.commit()
    assert store.head_position() == 0
    assert table_rows(store, "owners") == []


def test_a_table_is_added_to_a_ledger_that_lacks_it(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        append(store, event("a", 1))
    with closing(SQLiteStore(path, tables=[OWNERS])) as store:
        assert table_rows(store, "owners") == []
        assert store.head_position() == 1


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_is_moved_away_is_not_written_to(
    path: Path, store: SQLiteStore, *, replaced: bool
) -> None:
    append(store, event("a", 1))
    path.rename(path.with_name("moved.db"))
    if replaced:
        path.touch()
    for use in uses(store):
        with pytest.raises(StoreUnavailable, match="open the ledger again"):
            use()
    assert not path.exists() or content(path) == b""


# Permissions


def test_a_read_only_file_is_read(open_folder: Path) -> None:
    path = open_folder / "relay.db"
    with closing(SQLiteStore(path)) as store:
        append(store, event("a", 1))
    path.chmod(0o444)
    with closing(SQLiteStore(path)) as store:
        with without_privileges():
            assert store.head_position() == 1
            with pytest.raises(StoreUnavailable, match="is read-only"):
                append(store, event("a", 2))
        path.chmod(0o666)
        if os.geteuid() == 0:
            assert append(store, event("a", 2)) == [2]


def test_a_ledger_in_a_read_only_folder_is_read(open_folder: Path) -> None:
    path = open_folder / "relay.db"
    with closing(SQLiteStore(path)) as store:
        append(store, event("a", 1))
    path.chmod(0o444)
    open_folder.chmod(0o555)
    before = snapshot(open_folder)
    with closing(SQLiteStore(path)) as store, without_privileges():
        assert [row.version for row in store.events(0)] == [1]
        with pytest.raises(StoreUnavailable, match="is read-only"):
            append(store, event("a", 2))
        assert store.head_position() == 1
    assert snapshot(open_folder) == before
    open_folder.chmod(0o777)


def test_a_writer_that_comes_later_is_seen_from_a_read_only_folder(
    open_folder: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs a second user: run as root")
    path = open_folder / "relay.db"
    with closing(SQLiteStore(path)) as writer:
        append(writer, event("a", 1))
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with closing(SQLiteStore(path)) as reader:
        with without_privileges():
            assert reader.head_position() == 1
        with closing(SQLiteStore(path)) as writer:
            append(writer, event("a", 2))
            with without_privileges():
                assert reader.head_position() == 2
            append(writer, event("a", 3))
            with without_privileges():
                assert reader.head_position() == 3


def test_an_empty_file_that_cannot_be_written_is_no_ledger(open_folder: Path) -> None:
    path = open_folder / "relay.db"
    path.touch()
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with closing(SQLiteStore(path)) as store, without_privileges():
        for use in uses(store):
            with pytest.raises(SchemaMissing, match="is read-only"):
                use()
    assert path.read_bytes() == b""
    open_folder.chmod(0o777)


def test_a_ledger_that_lacks_a_table_and_cannot_be_written_says_so(
    open_folder: Path,
) -> None:
    path = open_folder / "relay.db"
    with closing(SQLiteStore(path)) as store:
        append(store, event("a", 1))
    path.chmod(0o444)
    with closing(SQLiteStore(path, tables=[OWNERS])) as store, without_privileges():
        for use in uses(store):
            with pytest.raises(SchemaMissing, match="lacks tables"):
                use()
    path.chmod(0o666)
    with closing(SQLiteStore(path, tables=[OWNERS])) as store:
        assert append(store, event("a", 2)) == [2]


def test_a_place_without_a_file_that_cannot_be_written_is_not_available(
    open_folder: Path,
) -> None:
    open_folder.chmod(0o555)
    path = open_folder / "relay.db"
    with closing(SQLiteStore(path)) as store, without_privileges():
        for use in uses(store):
            with pytest.raises(StoreUnavailable, match="needs permission"):
                use()
    open_folder.chmod(0o777)


def test_a_file_that_may_not_be_read_says_so(open_folder: Path) -> None:
    path = open_folder / "relay.db"
    path.touch(mode=stat.S_IWUSR)
    with closing(SQLiteStore(path)) as store, without_privileges():
        path_of_nobody = os.geteuid() == NOBODY
        if not path_of_nobody:
            path.chmod(0)
        for use in uses(store):
            with pytest.raises(StoreUnavailable, match="needs permission"):
                use()


# A full disk


def test_a_full_database_takes_nothing_and_goes_on_when_there_is_room(
    path: Path,
) -> None:
    pages = [100_000]

    def limit(db: sqlite3.Connection) -> None:
        db.execute(f"PRAGMA max_page_count = {pages[-1]}")

    with closing(SQLiteStore(path, tables=[OWNERS])) as store:
        append(store, event("a", 1))
    with closing(SQLiteStore(path, tables=[OWNERS], on_connect=limit)) as store:
        pages.append(12)
        with pytest.raises(StoreFull, match="Free some space"):
            fill_up(store)
        assert store.head_position() == 1
        assert table_rows(store, "owners") == []
        with pytest.raises(StoreFull):
            fill_up(store)
        pages.append(100_000)
        fill_up(store)
        assert store.head_position() == 2


def fill_up(store: SQLiteStore) -> None:
    with store.write(1.0) as unit:
        unit.add(
            [event("a", 2)],
            command("a", "c1", 2),
            [BodyRow("d1", "a", bytes(100_000))],
            [owner("one", "agent 1")],
        )
        unit.commit()


FILE_SIZE_LIMIT = """
    import resource
    append(store, event("a", 1))
    log = os.path.getsize(sys.argv[1] + "-wal")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log + 5000, most))
    try:
        append(store, event("a", 2, bytes(50_000)))
    except Doubtful as doubt:
        say("doubtful", "SQLITE_IOERR_WRITE" in str(doubt))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    say(append(store, event("a", 2)), len(store.tail("a", 1)))
"""


def test_an_error_of_the_disk_at_commit_is_doubtful(path: Path) -> None:
    with other(FILE_SIZE_LIMIT, path) as process:
        assert process.end() == ["doubtful True", "[2] 2"]


@pytest.mark.prove
def test_a_full_disk_takes_nothing_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", tmp_path],  # noqa: S607
        check=True,
    )
    try:
        ballast = tmp_path / "ballast"
        with closing(SQLiteStore(tmp_path / "relay.db")) as store:
            append(store, event("a", 1))
            ballast.write_bytes(bytes(200_000))
            with pytest.raises(StoreFull):
                append(store, event("a", 2, bytes(400_000)))
            assert store.head_position() == 1
            ballast.unlink()
            assert append(store, event("a", 2, bytes(40_000))) == [2]
    finally:
        subprocess.run(["umount", tmp_path], check=True)  # noqa: S607


# Rows that may not be


def test_a_row_that_a_table_refuses_ends_the_unit(store: SQLiteStore) -> None:
    with store.write(1.0) as unit:
        unit.add([event("a", 1)], None, changes=[owner("one", "agent 1")])
        unit.commit()
    with store.write(1.0) as unit:
        with pytest.raises(Corrupt, match=r"owners\.agent.*rebuild"):
            unit.add(
                [event("a", 2)],
                command("a", "c1"),
                changes=[owner("two", "agent 2"), owner("three", "agent 1")],
            )
        with pytest.raises(Corrupt):
            unit.commit()
    assert store.head_position() == 1
    assert table_rows(store, "owners") == [("session", "one", "agent 1", 1)]


@pytest.mark.parametrize("table", ["stored_events", "commands"])
@pytest.mark.parametrize("change", ["UPDATE {} SET rowid = 9", "DELETE FROM {}"])
def test_history_is_append_only_whoever_writes(
    path: Path, store: SQLiteStore, table: str, change: str
) -> None:
    with store.write(1.0) as unit:
        unit.add([event("a", 1)], command("a", "c1"))
        unit.commit()
    column = "topic" if table == "stored_events" else "outcome"
    statement = change.format(table).replace("rowid", column)
    with (
        closing(sqlite3.connect(path)) as db,
        pytest.raises(sqlite3.IntegrityError, match=f"{table} is append-only"),
    ):
        db.execute(statement)


def test_an_erased_body_is_in_no_file_any_more(path: Path, store: SQLiteStore) -> None:
    secret = b"my mother's maiden name " * 1000
    with store.write(1.0) as unit:
        unit.add([event("a", 1)], None, [BodyRow("d1", "a", secret)])
        unit.commit()
    assert any(b"maiden" in content for content in snapshot(path.parent).values())
    with store.write(1.0) as unit:
        unit.add([event("a", 2)], None, erase=["a"])
        unit.commit()
    assert not any(b"maiden" in content for content in snapshot(path.parent).values())


@pytest.mark.parametrize(("durability", "level"), [("full", 2), ("normal", 1)])
def test_a_commit_is_as_durable_as_the_url_says(
    path: Path, durability: str, level: int
) -> None:
    opened: list[sqlite3.Connection] = []
    assert durability in ("full", "normal")
    store = SQLiteStore(
        path,
        durability="full" if durability == "full" else "normal",
        on_connect=opened.append,
    )
    with closing(store):
        append(store, event("a", 1))
        writer = opened[-1]
        assert writer.execute("PRAGMA synchronous").fetchone() == (level,)
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_positions_survive_vacuum_and_a_dump(path: Path, store: SQLiteStore) -> None:
    append(store, event("a", 1), event("b", 1), event("a", 2))
    with closing(sqlite3.connect(path)) as db:
        db.execute("VACUUM")
        dump = "\n".join(db.iterdump())
    rows = list(store.events(0))
    assert [row.position for row in rows] == [1, 2, 3]
    with closing(sqlite3.connect(":memory:")) as copy:
        copy.executescript(dump)
        copied = copy.execute("SELECT * FROM stored_events ORDER BY position")
        assert copied.fetchall() == [tuple(row) for row in rows]


# A lock of somebody else


HOLD = """
    with store.write(10) as unit:
        unit.add([event("other", 1)], None)
        say("held")
        hear()
        unit.commit()
    say("committed")
"""


def test_a_lock_of_another_process_is_contended_at_the_deadline(
    path: Path, store: SQLiteStore
) -> None:
    append(store, event("a", 1))
    with other(HOLD, path) as holder:
        assert holder.hear() == "held"
        with pytest.raises(Contended, match="until the deadline"):
            append_within(store, 0.1)
        assert store.head_position() == 1
        holder.say()
        assert holder.end() == ["committed"]
    append_within(store, 0.0)
    assert [row.stream for row in store.events(0)] == ["a", "other", "mine"]


def append_within(store: SQLiteStore, seconds: float) -> None:
    with store.write(seconds) as unit:
        unit.add([event("mine", 1)], None)
        unit.commit()


WAIT = """
    store.tail("a", 1)
    try:
        say("ready")
        say(append(store, event("mine", 1)))
    except KeyboardInterrupt:
        say("interrupted")
    hear()
    say(append(store, event("mine", 1)))
"""


def test_a_wait_for_another_process_can_be_interrupted(
    path: Path, store: SQLiteStore
) -> None:
    with store.write(10.0) as unit, other(WAIT, path) as waiter:
        unit.add([event("a", 1)], None)
        assert waiter.hear() == "ready"
        os.kill(waiter.pid, signal.SIGINT)
        assert waiter.hear() == "interrupted"
        unit.commit()
        waiter.say()
        assert waiter.end() == ["[2]"]
