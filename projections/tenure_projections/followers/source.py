"""The ledger's events for a follower: whole commands, read ahead of the transaction."""

from __future__ import annotations

from collections.abc import Iterator

from tenure_ledger.rows import Store
from tenure_ledger.tailing import settled
from tenure_projections.followers.batch import Command, commands

__all__ = ["Source"]


class Source:
    """Commands that are read and decoded, and kept until they are handled."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._after = -1
        self._reading: Iterator[Command] = iter(())
        self._ready: list[Command] = []
        self._ended = False

    def take(self, after: int, events_max: int) -> list[Command]:
        """Return the commands above a position: at least one, if there is one."""
        if after != self._after or self._ended:
            # A reading goes on over several batches; another finds what has come since.
            self._after, self._ready, self._ended = after, [], False
            self._reading = commands(settled(self._store, after))
        events = sum(map(len, self._ready))
        while events < events_max:
            command = next(self._reading, None)
            if command is None:
                self._ended = True
                break
            self._ready.append(command)
            events += len(command)
        return list(self._ready)

    def passed(self, position: int) -> None:
        """Forget what is handled, up to a position."""
        self._after = position
        self._ready = [one for one in self._ready if one[-1].position > position]
