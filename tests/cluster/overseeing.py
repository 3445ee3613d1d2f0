"""What Patroni says of the cluster, and what is asked of it."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import psycopg

from nodes import Cluster, Node
from waiting import until

__all__ = ["await_whole", "leader", "set_mode", "timeline", "value"]

_TIMELINE = """
SELECT CASE WHEN pg_is_in_recovery() THEN 0
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END
"""
_SYNCHRONOUS = {"sync_standby", "quorum_standby"}


def value(node: Node, query: str) -> Any:  # noqa: ANN401  whatever is asked for
    """Ask a node's server. Raises psycopg.Error."""
    with psycopg.connect(
        f"host=127.0.0.1 port={node.port} user=postgres dbname=postgres "
        "connect_timeout=2",
        autocommit=True,
    ) as connection:
        row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]


def timeline(node: Node) -> int:
    """Return the timeline that the node writes on; 0: it does not write."""
    try:
        return int(value(node, _TIMELINE))
    except psycopg.Error:
        return 0


def leader(cluster: Cluster) -> Node | None:
    """Return the node that has the lease and writes."""
    for node in cluster.nodes:
        if _ask(node, "/leader") is not None and timeline(node):
            return node
    return None


def whole(cluster: Cluster, *, synchronous: bool) -> Node | None:
    """Return the leader if all nodes stream, and one of them as synchronous standby.

    That the server shows one is not enough: only whom Patroni has on record may be
    promoted.
    """
    found = leader(cluster)
    told = None if found is None else _ask(found, "/cluster")
    if told is None:
        return None
    members = json.loads(told)["members"]
    streaming = [one for one in members if one["state"] == "streaming"]
    kept = any(one["role"] in _SYNCHRONOUS for one in members)
    if len(streaming) < len(cluster.nodes) - 1 or kept != synchronous:
        return None
    return found


def await_whole(cluster: Cluster, *, synchronous: bool) -> Node:
    """Wait until nothing is missing, and return the leader."""
    found: list[Node] = []

    def is_whole() -> bool:
        one = whole(cluster, synchronous=synchronous)
        found[:] = [] if one is None else [one]
        return one is not None

    until(is_whole)
    return found[0]


def set_mode(cluster: Cluster, *, synchronous: bool) -> None:
    """Have every commit wait for a standby, strictly; or none."""
    found = leader(cluster)
    assert found is not None
    wanted = {
        "synchronous_mode": synchronous,
        "synchronous_mode_strict": synchronous,
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{found.rest}/config",
        data=json.dumps(wanted).encode(),
        method="PATCH",
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def _ask(node: Node, path: str) -> bytes | None:
    """Return the answer of a node's Patroni; None: it says no, or nothing."""
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{node.rest}{path}", timeout=2
        ) as answer:
            return bytes(answer.read())
    except OSError:
        return None
