"""What is on record: read from the durable head, never from memory alone."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from threading import Event

from tenure_ledger.bodies import Json
from tenure_ledger.codec import decode
from tenure_ledger.decisions.fence import fence
from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import Recorded
from tenure_ledger.folds.effects import Approval
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.notices import Notice
from tenure_ledger.methods.base import Methods
from tenure_ledger.tailing import follow, settled
from tenure_ledger.values import (
    Authority,
    ChatExecutionKey,
    OwnerRef,
    check_authority,
    check_id,
    check_integer,
    check_owner,
)
from tenure_ledger.verification import Head, Verification, head_after, verify
from tenure_ledger.views import OwnerView, ToolCall, owner_view

__all__ = ["ReadMethods"]


class ReadMethods(Methods):
    """Reads; none of them writes."""

    def check(self, authority: Authority) -> None:
        """Return if the authority may act now, else raise its refusal.

        Ask it before each dispatch of a tool. Raises `FencedOut`, `TermRetired`,
        `OwnerEnded`, `Deleted`, `Quarantined`, `TooNew`.
        """
        state = self._shell.state(check_authority(authority).owner.stream)
        refusal = fence(state, authority)
        if refusal is not None:
            raise refusal.error()

    def owner(self, ref: OwnerRef) -> OwnerView:
        """Return who holds the owner now; status ``absent`` if nothing is on record."""
        return owner_view(ref, self._shell.state(check_owner(ref).stream))

    def execution(
        self, key: ChatExecutionKey, recovery_class: str = "session"
    ) -> Execution | None:
        """Return what became of a message; None if the ledger does not know it."""
        if not isinstance(key, ChatExecutionKey):
            msg = f"key must be a ChatExecutionKey, not {type(key).__name__}"
            raise InvalidInput(msg)
        owner = OwnerRef(recovery_class, key.session_id)
        state = self._shell.state(owner.stream)
        return state.executions.by_key.get(key.physical_user_message_id)

    def tool_call(
        self, owner: OwnerRef, message_id: str, call_id: str
    ) -> ToolCall | None:
        """Return a call as it stands; None if the ledger does not know it."""
        at = (check_id("message_id", message_id), check_id("call_id", call_id))
        call = self._shell.state(check_owner(owner).stream).effects.calls.get(at)
        return None if call is None else self._call_view(owner, call, fresh=False)

    def approval(self, owner: OwnerRef, request_id: str) -> Approval | None:
        """Return an approval request; None if the ledger does not know it."""
        state = self._shell.state(check_owner(owner).stream)
        return state.effects.approvals.get(check_id("request_id", request_id))

    def pending_notices(self, owner: OwnerRef) -> list[Notice]:
        """Return the notices that nobody has taken up to the end, oldest first."""
        return self._shell.state(check_owner(owner).stream).notices.listed()

    def body(self, owner: OwnerRef, digest: str) -> Json:
        """Return a stored body: a hand-over, arguments, a result, a snapshot.

        None when it was erased or never stored (or is itself null). Raises `Corrupt`
        when it is not what was stored.
        """
        return self._body(check_owner(owner), check_id("digest", digest))

    def history(self, ref: OwnerRef) -> list[Recorded]:
        """Return every event of the owner's stream, in order."""
        rows = self._shell.store.tail(check_owner(ref).stream, 0)
        return [decode(row) for row in rows]

    def events(self, after: int = 0) -> Iterator[Recorded]:
        """Yield every event of the ledger above the position ``after``, in order.

        It ends where others may still commit something below: who goes on from the last
        position that it was given misses nothing.
        """
        check_integer("after", after, 0)
        return map(decode, settled(self._shell.store, after))

    def follow(
        self, after: int = 0, *, stop: Event | None = None
    ) -> Generator[Recorded]:
        """Yield every event above the position ``after``, in order, and wait for more.

        It ends when ``stop`` (a `threading.Event`) is set, when the ledger is closed,
        or when the iterator is: before the next event, or after a fiftieth of a second
        where it waits. It holds no lock and no connection while you work or it waits.
        """
        check_integer("after", after, 0)
        if stop is not None and not isinstance(stop, Event):
            msg = f"stop must be a threading.Event, not {type(stop).__name__}"
            raise InvalidInput(msg)
        shell, ended = self._shell, stop or Event()
        rows = follow(shell.store, after, ended, lambda: shell.closed)
        return (decode(row) for row in rows)

    def head(self, since: Head | None = None) -> Head:
        """Return the ledger's head: keep it outside the store, to verify against.

        ``since`` is an earlier head of this ledger; only what came after is read.
        """
        return head_after(self._shell.store, _check_head("since", since))

    def verify(self, against: Head | None = None) -> Verification:
        """Check every chain, every command, and the ledger against an earlier head.

        Source: design section 10, I14.
        """
        return verify(self._shell.store, _check_head("against", against))


def _check_head(what: str, head: object) -> Head | None:
    if head is not None and not isinstance(head, Head):
        msg = f"{what} must be a Head, not {type(head).__name__}: see Head.from_json"
        raise InvalidInput(msg)
    return head
