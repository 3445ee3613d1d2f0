"""A proxy before a PostgreSQL server that cuts a connection after so many bytes.

Or that looks like a pooler: it tells its client of another process of the server.
"""

from __future__ import annotations

import re
import select
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Literal, Self

__all__ = ["Cutter", "Way"]

Way = Literal["up", "down"]
"""To the server, or from it."""
_PROCESS = re.compile(rb"K\x00\x00\x00\x0c.{4}", re.DOTALL)
"""What a server says once: which of its processes it is that speaks."""


class Cutter:
    """Hands on what is said; `cut_after` ends the connection in mid-sentence."""

    def __init__(self, folder: Path) -> None:
        self._server = str(folder / ".s.PGSQL.5432")
        self.folder = Path(tempfile.mkdtemp(prefix="cut"))
        self.bytes: dict[Way, int] = {"up": 0, "down": 0}
        """How much was said so far."""
        self.cuts = 0
        self.as_pooler = False
        self._left: tuple[Way, int] | None = None
        self._lock = Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / ".s.PGSQL.5432"))
        self._listening.listen(64)
        self._open: list[socket.socket] = []
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def url(self, url: str) -> str:
        """Return the URL that leads through here."""
        return url.replace(str(Path(self._server).parent), str(self.folder))

    def cut_after(self, way: Way, count: int) -> None:
        """Cut the connection that says the next bytes, once it has said so many."""
        with self._lock:
            self._left = (way, count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listening.close()
        with self._lock:
            for one in self._open:
                _end(one)
        for thread in self._threads:
            thread.join()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._open += [client, server]
            thread = Thread(target=self._hand_on, args=(client, server))
            self._threads.append(thread)
            thread.start()

    def _hand_on(self, client: socket.socket, server: socket.socket) -> None:
        ways: dict[socket.socket, tuple[Way, socket.socket]] = {
            client: ("up", server),
            server: ("down", client),
        }
        while True:
            ready, _, _ = select.select([client, server], [], [])
            for one in ready:
                way, other = ways[one]
                try:
                    data = one.recv(65536)
                    if self.as_pooler and way == "down":
                        data = _PROCESS.sub(b"K\x00\x00\x00\x0c\x00\x00\x00\x07", data)
                    part = self._part(way, data)
                    other.sendall(part)
                except OSError:
                    data = part = b""
                if not data or len(part) < len(data):
                    self._close(client, server)
                    return

    def _close(self, *sockets: socket.socket) -> None:
        with self._lock:
            for one in sockets:
                _end(one)
                one.close()
                self._open.remove(one)

    def _part(self, way: Way, data: bytes) -> bytes:
        """Return what is handed on: less than all of it means a cut."""
        with self._lock:
            self.bytes[way] += len(data)
            if self._left is None or self._left[0] != way or not data:
                return data
            left = self._left[1]
            if len(data) <= left:
                self._left = (way, left - len(data))
                return data
            self._left = None
            self.cuts += 1
            return data[:left]


def _end(one: socket.socket) -> None:
    # It may have been cut from the other side.
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
