"""The ways in which a leader is lost, and how what was lost comes back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from nodes import Cluster, Node, children
from waiting import until

__all__ = ["FAILURES", "Failure"]

LAG_SECONDS = 1.5


class Failure(NamedTuple):
    """One way: what is done to the leader, and what heals it."""

    name: str
    strike: Callable[[Cluster, Node], None]
    heal: Callable[[Cluster, Node], None]
    two_leaders: bool = False
    """The old leader goes on writing for a while beside the new one."""


def _process(cluster: Cluster, node: Node) -> None:
    cluster.kill_server(node)


def _machine(cluster: Cluster, node: Node) -> None:
    cluster.kill_machine(node)


def _lagging(cluster: Cluster, node: Node) -> None:
    """Let nothing leave the leader for a while, then kill the machine.

    Its senders are stopped: what a stopped receiver has not read would reach it later.
    """
    for pid in children(cluster.server(node)):
        if b"walsender" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGSTOP)
    end = monotonic() + LAG_SECONDS
    until(lambda: monotonic() >= end)
    cluster.kill_machine(node)


def _frozen(cluster: Cluster, node: Node) -> None:
    """Stop its Patroni alone: nobody tells the server that its lease has run out."""
    os.kill(cluster.pid(node.name), signal.SIGSTOP)


def _thaw(cluster: Cluster, node: Node) -> None:
    os.kill(cluster.pid(node.name), signal.SIGCONT)


def _nothing(_cluster: Cluster, _node: Node) -> None:
    """Patroni is there and does it itself."""


FAILURES = {
    one.name: one
    for one in (
        Failure("process", _process, _nothing),
        Failure("machine", _machine, Cluster.revive),
        Failure("lagging", _lagging, Cluster.revive),
        Failure("frozen", _frozen, _thaw, two_leaders=True),
    )
}
