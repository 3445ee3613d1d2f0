"""A unit's connection: what is sent within its deadline, and what comes of it."""

from __future__ import annotations

import math
from time import monotonic

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.rows import Doubtful
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_faults import at_write
from tenure_ledger.stores.postgres_place import Place
from tenure_ledger.stores.postgres_pool import Pool
from tenure_ledger.stores.postgres_wire import (
    Call,
    ConnectionLost,
    Result,
    ServerError,
    Wire,
)
from tenure_ledger.stores.postgres_word import WORD, heard, is_word_due

__all__ = ["BEGIN", "COMMIT", "Exchange"]

BEGIN = Call("BEGIN")
COMMIT = Call("COMMIT")
_ROLLBACK = Call("ROLLBACK")
_LOCK_TIMEOUT = sql("lock_timeout")

_GRACE_SECONDS = 0.5
"""How long past the deadline an answer is waited for: the server ends lock waits."""


class Exchange:
    """Borrows a connection, and gives it back without a transaction."""

    _wire: Wire | None = None
    _until = 0.0
    was_replaced = False
    """What was asked for was not asked of one server."""

    def __init__(self, pool: Pool, place: Place) -> None:
        self._pool = pool
        self._place = place

    def begin(self, deadline_seconds: float) -> None:
        """Take a connection. Raises StoreUnavailable and other faults."""
        self._until = monotonic() + deadline_seconds
        self._wire = self._pool.take(self._until)

    @property
    def in_transaction(self) -> bool:
        """Say whether an explicit transaction is open."""
        return self._wire is not None and self._wire.in_transaction

    @property
    def synchronous(self) -> bool:
        """Say whether the server waits for standbys before it confirms a commit."""
        return self._wire is not None and self._wire.synchronous

    @property
    def is_word_due(self) -> bool:
        """Say whether the server must prove itself before one answers from it."""
        return self._wire is not None and is_word_due(self._wire)

    @property
    def unconfirmed(self) -> bool:
        """Say whether what was sent last ended without the standby's word."""
        return self._wire is not None and self._wire.doubtful

    def ask(self, call: Call) -> list[Result]:
        """Send a call that only reads; a connection that was cut is replaced."""
        while True:
            try:
                return self.send([call])
            except StoreUnavailable:
                wire = self._wire
                lost = wire is not None and wire.broken and not wire.in_transaction
                if not lost or monotonic() >= self._until:
                    raise
                self.end()
                self._wire = self._pool.take(self._until)
                self.was_replaced = True

    def send(self, calls: list[Call], *, committing: bool = False) -> list[Result]:
        """Send the calls in one go, and return one result for each.

        Raises what it means that the server refused one (`at_write`).
        """
        wire = self._wire
        assert wire is not None  # noqa: S101  the unit is begun
        timeout = self._timeout(wire)
        begins = calls[0] is BEGIN
        sent = monotonic()
        try:
            until = max(self._until, sent) + _GRACE_SECONDS
            results = wire.run(timeout + calls, until)
        except (ServerError, ConnectionLost) as error:
            wire.lock_timeout_ms = -1
            wire.in_transaction = wire.in_transaction or begins
            raise at_write(error, self._place.name, committing=committing) from error
        if begins:
            wire.in_transaction = True
        if calls[-1] is COMMIT:
            wire.in_transaction = False
        if committing and wire.doubtful:
            msg = f"A commit on {self._place.name} did not wait for a standby."
            raise Doubtful(msg)
        if calls[-1] is WORD:
            heard(wire, results[-1], sent)
        elif committing:
            wire.heard_at = sent
        return results[len(timeout) :]

    def _timeout(self, wire: Wire) -> list[Call]:
        """Return what sets how long the server waits for locks, if that is due."""
        left = max((self._until - monotonic()) * 1000, 1)
        if wire.lock_timeout_ms <= left < 1.25 * wire.lock_timeout_ms:
            return []
        # In steps, so that it is rarely set.
        milliseconds = int(1.25 ** math.floor(math.log(left, 1.25))) or 1
        if wire.lock_timeout_ms == milliseconds:
            return []
        wire.lock_timeout_ms = milliseconds
        return [Call(_LOCK_TIMEOUT, [b"%d" % milliseconds], [0])]

    def roll_back(self) -> None:
        """Undo what is not committed; the connection stays."""
        self.send([_ROLLBACK])
        wire = self._wire
        assert wire is not None  # noqa: S101  the unit is begun
        wire.in_transaction = False
        # What was set in it is undone too.
        wire.lock_timeout_ms = -1

    def end(self) -> None:
        """Undo what is not committed, and give the connection back."""
        wire, self._wire = self._wire, None
        if wire is None:
            return
        if wire.in_transaction and not wire.broken:
            try:
                wire.run([_ROLLBACK], monotonic() + _GRACE_SECONDS)
                wire.in_transaction = False
                # What was set in it is undone too.
                wire.lock_timeout_ms = -1
            except (ServerError, ConnectionLost):
                wire.close()
        self._pool.give(wire)

    def abandon(self) -> None:
        """Close the connection, which undoes what is not committed."""
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()
