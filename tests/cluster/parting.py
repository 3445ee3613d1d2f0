"""In the end: three servers, each of which has what a standby would have had alone."""

from __future__ import annotations

import os
import signal
from functools import partial

import psycopg

from keeper import is_there
from nodes import Cluster, Node
from overseeing import await_whole, timeline, value
from waiting import until

__all__ = ["part"]


def part(cluster: Cluster) -> None:
    """Let the standbys catch up, end Patroni, and have each node write for itself."""
    first = await_whole(cluster, synchronous=True)
    written = value(first, "SELECT pg_current_wal_lsn()::text")
    others = [node for node in cluster.nodes if node != first]
    caught_up = f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn"
    for node in others:
        until(partial(value, node, caught_up))
    for node in cluster.nodes:
        pid = cluster.pid(node.name)
        os.kill(pid, signal.SIGKILL)
        until(partial(_is_gone, pid))
    for node in cluster.nodes:
        _wait_for_none(node)
    for node in others:
        value(node, "SELECT pg_promote(wait => false)")
        until(partial(timeline, node))


def _is_gone(pid: int) -> bool:
    return not is_there(pid)


def _wait_for_none(node: Node) -> None:
    """Have commits wait for no standby: there will be none."""
    with psycopg.connect(
        f"host=127.0.0.1 port={node.port} user=postgres dbname=postgres",
        autocommit=True,
    ) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        connection.execute("SELECT pg_reload_conf()")
