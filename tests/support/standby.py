"""A standby beside a real server: it streams, stands still, and is promoted."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from postgres import Server
from waiting import until

__all__ = ["Pair", "new_data", "pair"]


class Pair:
    """A primary, and a standby that may take its place."""

    def __init__(self, primary: Server, standby: Server) -> None:
        self.primary = primary
        self.standby = standby

    @property
    def url(self) -> str:
        """The URL that names both."""
        hosts = f"{self.primary.folder},{self.standby.folder}"
        return f"postgresql:///postgres?host={hosts}&user=postgres"

    def value(self, server: Server, query: str) -> Any:  # noqa: ANN401  any
        """Ask one of the two."""
        with psycopg.connect(server.url, autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        return None if row is None else row[0]

    def must_confirm(self, *, must: bool) -> None:
        """Have every commit wait until the standby has replayed it; or for none."""
        names, level = ("*", "remote_apply") if must else ("", "on")
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            for setting in (
                f"synchronous_standby_names = '{names}'",
                f"synchronous_commit = '{level}'",
            ):
                connection.execute(f"ALTER SYSTEM SET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
        query = "SELECT current_setting('synchronous_standby_names')"
        until(lambda: self.value(self.primary, query) == names)

    def catch_up(self) -> None:
        """Wait until the standby has replayed what the primary has written."""
        written = self.value(self.primary, "SELECT pg_current_wal_lsn()::text")
        query = f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn"
        until(lambda: self.value(self.standby, query))

    def promote(self) -> None:
        """Make the standby a primary, while the old one goes on."""
        assert self.value(self.standby, "SELECT pg_promote()")

    def pause(self) -> None:
        """Have the standby confirm nothing more, until it goes on."""
        self.value(self.standby, "SELECT pg_wal_replay_pause()")
        query = "SELECT pg_get_wal_replay_pause_state()"
        until(lambda: self.value(self.standby, query) == "paused")

    def go_on(self) -> None:
        """Let it go on."""
        self.value(self.standby, "SELECT pg_wal_replay_resume()")


@contextmanager
def new_data() -> Generator[Server]:
    """Make the data of a new server, of which pairs are copies."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        template = Server(Path(folder))
        template.make()
        yield template


@contextmanager
def pair(template: Server) -> Generator[Pair]:
    """Start a primary and a standby that streams from it."""
    with (
        tempfile.TemporaryDirectory(prefix="pg") as one,
        tempfile.TemporaryDirectory(prefix="pg") as two,
    ):
        both = Pair(Server(Path(one)), Server(Path(two)))
        for server in (both.primary, both.standby):
            server.make(template)
        from_primary = f"primary_conninfo = 'host={one} user=postgres'\n"
        with (both.standby.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(from_primary)
        (both.standby.data / "standby.signal").touch()
        both.primary.start(os.getpid())
        both.standby.start(os.getpid())
        try:
            senders = "SELECT count(*) FROM pg_stat_replication"
            until(lambda: both.value(both.primary, senders) == 1)
            yield both
        finally:
            both.standby.stop(signal.SIGQUIT)
            both.primary.stop(signal.SIGQUIT)
