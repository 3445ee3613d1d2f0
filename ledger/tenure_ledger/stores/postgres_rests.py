"""What a unit's decisions rest on, and the calls that have it checked."""

from __future__ import annotations

from tenure_ledger.rows import Conflict
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_locks import ALONE, Locks
from tenure_ledger.stores.postgres_pending import Pending
from tenure_ledger.stores.postgres_seen import Head, Seen
from tenure_ledger.stores.postgres_wire import Call

__all__ = ["Rests"]

_CHECK_HEAD = sql("check_head")
_CHECK_VERSION = sql("check_version")


class Rests:
    """The heads that a unit has read, or has taken from what the process saw last."""

    def __init__(self, seen: Seen, pending: Pending) -> None:
        self._seen = seen
        self._pending = pending
        self.heads: dict[str, Head] = {}
        """Of streams, as the unit has them."""
        self.assumed: set[str] = set()
        """Those of them that were not asked for."""
        self.versions: dict[str, int] = {}
        """Of the streams that were named to it, its own apart."""
        self.unsafe: set[str] = set()
        """Streams that were read and that the standbys may not have to their end."""

    def assume(self, stream: str) -> tuple[Head] | None:
        """Return the head as the process saw it last, in a tuple; None: it did not."""
        known = self._seen.head(stream)
        if known is not None:
            self.assumed.add(stream)
            self.heads[stream] = known[0]
        return known

    def saw(self, stream: str, head: Head, *, synchronous: bool) -> bool:
        """Take in what was asked for; return whether it is as the unit has it."""
        self._seen.saw(stream, head)
        if self.heads.get(stream, head) != head:
            return False
        self.heads[stream] = head
        self.assumed.discard(stream)
        if synchronous and not self._seen.is_safe(stream, head):
            self.unsafe.add(stream)
        return True

    def expect(self, stream: str, version: int) -> bool:
        """Rest on this version too; return False where the unit knows another."""
        own = self._pending.heads.get(stream)
        if own is None:
            self.versions[stream] = version
            if stream not in self.heads:
                return True
        head = own or self.heads[stream]
        return version == (0 if head is None else head[0])

    def holds(self, locks: Locks) -> list[Call]:
        """Return the calls that keep it as it is.

        A writer of one stream needs none. One that also reads what it does not write
        takes locks against others of its kind: two could else each rest on what the
        other changes. One that puts rows and no events keeps every writer out.
        """
        written = self._pending.heads
        resting = self.versions.keys() - written.keys()
        if not resting or not (written or self._pending.calls):
            return []
        if not written and not self._pending.commands:
            return [ALONE]
        return locks.of_streams({*resting, *written})

    def checks(self) -> list[Call]:
        """Return the calls that end the transaction if something has moved."""
        calls: list[Call] = []
        written = self._pending.heads
        for stream, version in self.versions.items():
            if stream not in self.heads and stream not in written:
                values: list[bytes | None] = [stream.encode(), b"%d" % version]
                calls.append(Call(_CHECK_VERSION, values, (1, 0)))
        for stream, head in self.heads.items():
            following = 1 if head is None else head[0] + 1
            first = self._pending.first.get(stream)
            # The row that comes next is its own check (`Pending.take`).
            if stream not in written or first not in (None, following):
                values = [stream.encode(), None if head is None else head[1]]
                calls.append(Call(_CHECK_HEAD, values, (1, 1)))
        return calls

    def committed(self) -> None:
        """Let the process know the heads that the unit has written."""
        for stream, head in self._pending.heads.items():
            known = self.heads.get(stream)
            if stream in self.heads and (known is None or known[0] < head[0]):
                self._seen.saw(stream, head)
            else:
                self._seen.forget([stream])
            self._seen.won(stream)

    def made_safe(self) -> None:
        """Note that the standbys have what was read."""
        for stream in self.unsafe:
            self._seen.made_safe(stream, self.heads.get(stream))

    def failed(self, failure: BaseException) -> None:
        """Let the process ask anew for all that the unit rests on."""
        streams = {*self.heads, *self.versions, *self._pending.heads}
        if isinstance(failure, Conflict):
            self._seen.lost(streams)
        else:
            self._seen.forget(streams)
