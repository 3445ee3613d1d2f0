"""Backups as people make and restore them: copies of a file, dumps of a server."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path

import postgres
from clients import client
from privileges import NOBODY
from tenure_gate.cli import main

__all__ = ["BACKUPS", "TOLD", "back_up", "dump", "new_place", "second"]

BACKUPS = ("tenure backup", "file copy", "dump elsewhere", "dump in place")
TOLD = ("tenure backup", "dump elsewhere", "dump in place")
"""Those of which the restored ledger knows that it is one."""

_BURN = """
DO $$ BEGIN
    FOR i IN 1..3000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP;
END $$
"""

Restore = Callable[[], str]
"""Puts the backup in place and returns the URL of what is there then."""


def new_place(kind: str, folder: Path) -> str:
    """Return the URL of a ledger that is not there yet, of the kind's store.

    A server has seen more transactions by then than a new one.
    """
    if kind in ("tenure backup", "file copy"):
        return f"sqlite:///{folder}/relay.db"
    url = postgres.new_url()
    with client(url) as by_hand:
        by_hand.execute(_BURN)
    return url


def back_up(kind: str, url: str, folder: Path) -> Restore:
    """Make a backup now, while the ledger is open."""
    if kind == "base backup":
        made = _base_backup(url)
        return lambda: _started(url, made)
    if kind.startswith("dump"):
        made = dump(url, folder / "relay.dump")
        return lambda: _undump(kind, url, made)
    live, made = Path(url.removeprefix("sqlite:///")), folder / "backup.db"
    if kind == "tenure backup":
        assert main(["backup", str(made), "--ledger", url]) == 0
    else:
        with closing(sqlite3.connect(live)) as db, closing(sqlite3.connect(made)) as to:
            db.backup(to)
    return lambda: _put_back(live, made)


def dump(url: str, to: Path) -> Path:
    """Dump a ledger's schema as its server's own tool does."""
    place, _, schema = url.partition("&schema=")
    _run("pg_dump", "--format=custom", f"--schema={schema}", f"--file={to}", place)
    return to


@cache
def second() -> postgres.Server:
    """Return a server of this process's own, whose transactions begin low."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-second-"))
    server = postgres.Server(folder)
    server.start(os.getpid())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)
    return server


def _base_backup(url: str) -> Path:
    """Copy the whole server while it runs, its log included."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-base-"))
    place = url.partition("&schema=")[0]
    _run(
        "pg_basebackup", f"--pgdata={folder}/data", f"--dbname={place}", "-cfast", "-N"
    )
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    return folder


def _started(url: str, folder: Path) -> str:
    server = postgres.Server(folder)
    server.start(os.getpid())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)
    return f"{server.url}&schema={url.partition('&schema=')[2]}"


def _put_back(live: Path, made: Path) -> str:
    for end in ("", "-wal", "-shm"):
        Path(f"{live}{end}").unlink(missing_ok=True)
    shutil.copyfile(made, live)
    return f"sqlite:///{live}"


def _undump(kind: str, url: str, made: Path) -> str:
    place, _, schema = url.partition("&schema=")
    if kind == "dump elsewhere":
        place = second().url
        url = f"{place}&schema={schema}"
    with client(url) as by_hand:
        by_hand.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
    _run("pg_restore", f"--dbname={place}", "--exit-on-error", str(made))
    return url


def _run(tool: str, *arguments: str) -> None:
    command = [str(postgres.binaries() / tool), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
