"""Three nodes: etcd, Patroni, PostgreSQL on each, on this machine's own address only.

All lies in one folder that goes with the run. A node that is a process here stands for
a machine: what kills, freezes and cuts off machines does that to its processes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from keeper import end_all, is_there
from privileges import NOBODY, as_nobody
from tools import Tools
from waiting import until

__all__ = ["SUPPORT", "Cluster", "Node", "children"]

KEEPER = Path(__file__).with_name("keeper.py")
SUPPORT = Path(__file__).parents[1] / "support"
COUNT = 3

LEASE = {"ttl": 20, "loop_wait": 2, "retry_timeout": 8}
"""Seconds: the least that Patroni takes, and as tolerant of a busy machine as it may
be (loop_wait + 2 * retry_timeout <= ttl)."""

SERVER = {
    "max_connections": 100,
    "shared_buffers": "32MB",
    "max_wal_size": "512MB",
    "wal_keep_size": "256MB",
    "synchronous_commit": "on",
    "wal_log_hints": "on",
    "wal_sender_timeout": "5s",
    "wal_receiver_timeout": "5s",
    "client_connection_check_interval": "1s",
}


class Node(NamedTuple):
    """One machine: its number and its ports."""

    number: int
    port: int
    rest: int
    etcd: int
    peer: int

    @property
    def name(self) -> str:
        """What Patroni calls it."""
        return f"n{self.number}"


class Cluster:
    """The nodes of one run."""

    def __init__(self, tools: Tools, lock: int) -> None:
        self._tools = tools
        self.folder = Path(tempfile.mkdtemp(prefix="tenure-cluster-"))
        self.folder.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        ports = _free_ports(4 * COUNT)
        self.nodes = [Node(at + 1, *ports[4 * at : 4 * at + 4]) for at in range(COUNT)]
        keeper = [sys.executable, str(KEEPER), str(os.getpid()), str(self.folder)]
        with (self.folder / "keeper.log").open("ab") as log:
            subprocess.run(
                # By way of a shell that ends, so that it is nobody's child.
                ["/bin/sh", "-c", '"$@" &', "sh", *keeper],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[lock],
                env={**os.environ, "PYTHONPATH": str(SUPPORT)},
            )

    @property
    def urls(self) -> dict[str, str]:
        """The URL of each node alone."""
        return {
            node.name: f"postgresql://postgres@127.0.0.1:{node.port}/postgres"
            for node in self.nodes
        }

    @property
    def url(self) -> str:
        """The URL that names them all."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://postgres@{hosts}/postgres"

    def start(self) -> None:
        """Start every node; returns before they are ready."""
        peers = ",".join(f"e{n.number}=http://127.0.0.1:{n.peer}" for n in self.nodes)
        for node in self.nodes:
            client = f"http://127.0.0.1:{node.etcd}"
            peer = f"http://127.0.0.1:{node.peer}"
            options = {
                "name": f"e{node.number}",
                "data-dir": str(self.folder / f"etcd{node.number}"),
                "listen-client-urls": client,
                "advertise-client-urls": client,
                "listen-peer-urls": peer,
                "initial-advertise-peer-urls": peer,
                "initial-cluster": peers,
                "initial-cluster-state": "new",
                "heartbeat-interval": "250",
                "election-timeout": "2500",
                "logger": "zap",
                "log-level": "error",
            }
            given = [f"--{name}={value}" for name, value in options.items()]
            self._run(f"etcd{node.number}", [self._tools.etcd, *given])
        for node in self.nodes:
            settings = self.folder / f"{node.name}.yml"
            # JSON is YAML.
            settings.write_text(json.dumps(self._settings(node), indent=1))
            self.revive(node)

    def _settings(self, node: Node) -> dict[str, Any]:
        rest = f"127.0.0.1:{node.rest}"
        where = f"127.0.0.1:{node.port}"
        trust = ["local all all trust", "host all all 127.0.0.1/32 trust"]
        trust.append("host replication all 127.0.0.1/32 trust")
        return {
            "scope": "tenure",
            "name": node.name,
            "restapi": {"listen": rest, "connect_address": rest},
            "etcd3": {"hosts": [f"127.0.0.1:{one.etcd}" for one in self.nodes]},
            "bootstrap": {
                "dcs": {
                    **LEASE,
                    # Behind by more than this is no candidate: none is, here.
                    "maximum_lag_on_failover": 2**30,
                    "primary_start_timeout": 0,
                    "synchronous_mode": False,
                    "synchronous_mode_strict": False,
                    "postgresql": {
                        "use_pg_rewind": True,
                        "use_slots": True,
                        "parameters": SERVER,
                    },
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": where,
                "connect_address": where,
                "data_dir": str(self.folder / f"data{node.number}"),
                "bin_dir": str(self._tools.postgres),
                "pgpass": str(self.folder / f"pgpass{node.number}"),
                "parameters": {"unix_socket_directories": str(self.folder)},
                "pg_hba": trust,
                "authentication": {
                    "superuser": {"username": "postgres", "password": "none"},
                    "replication": {"username": "standby", "password": "none"},
                },
            },
            "watchdog": {"mode": "off"},
        }

    def _run(self, name: str, command: list[str]) -> None:
        """Start a server; its file says which process it is."""
        with (self.folder / f"{name}.log").open("ab") as log:
            started = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
                env={
                    **os.environ,
                    "HOME": str(self.folder),
                    "PYTHONPATH": self._tools.packages,
                },
                **as_nobody(),
            )
        (self.folder / f"{name}.pid").write_text(str(started.pid))
        _started.append(started)

    def pid(self, name: str) -> int:
        """Return the process of `etcd1` or `n1`."""
        return int((self.folder / f"{name}.pid").read_text())

    def server(self, node: Node) -> int:
        """Return the process of the node's PostgreSQL."""
        file = self.folder / f"data{node.number}" / "postmaster.pid"
        return int(file.read_text().split()[0])

    def revive(self, node: Node) -> None:
        """Start a node's Patroni, which starts all else."""
        file = str(self.folder / f"{node.name}.yml")
        self._run(node.name, [self._tools.python, "-m", "patroni", file])

    def kill_server(self, node: Node) -> None:
        """Kill -9 PostgreSQL with all its processes; Patroni stays."""
        server = self.server(node)
        for pid in [server, *children(server)]:
            _kill(pid)

    def kill_machine(self, node: Node) -> None:
        """Kill -9 all that runs on a node but etcd, which is its own machine."""
        _kill(self.pid(node.name))
        self.kill_server(node)

    def stop(self) -> None:
        """End everything and remove it."""
        end_all(self.folder)
        for one in _started:
            one.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


_started: list[subprocess.Popen[Any]] = []


def children(parent: int) -> list[int]:
    """Return the processes that this one has started."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    until(lambda: not is_there(pid))


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
