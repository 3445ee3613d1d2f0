"""What the gate asks of a message, whatever its shape."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from tenure_ledger.errors import InvalidInput

__all__ = [
    "SPOKE",
    "SYSTEM",
    "Human",
    "Message",
    "MessageReader",
    "Role",
    "Said",
    "check_reader",
]

Message: TypeAlias = Any
"""A host's message: whatever its reader reads."""

Role = Literal["system", "user", "assistant", "tool"]
"""``tool``: the message answers calls and says nothing else."""

Said: TypeAlias = tuple[
    Role, str | None, bool, str | None, Sequence[str], Sequence[str]
]
"""What a reader says of one message: role, id, human, parent, calls, results.

Of a request the id and whether a person sent it, of an answer parent and calls. A bare
tuple: one is made for every message of every call.
"""

SYSTEM: Said = ("system", None, False, None, (), ())
SPOKE: Said = ("assistant", None, False, None, (), ())
"""An answer of nothing but text."""

Human = Callable[[Message], bool]
"""How a host vouches: says whether a person sent this message."""


class MessageReader(Protocol):
    """Reads one host's messages, and makes copies of them; it changes none.

    Every method raises `InvalidInput` for a message of a wrong shape; the index in the
    list is added by the caller. What a reader does not know of a message passes as it
    is. A reader of one's own has these methods; there is nothing to inherit from.
    """

    def role(self, message: Message) -> Role:
        """Say what the message is; checks the shape of the whole message."""
        ...

    def id(self, message: Message) -> str | None:
        """Return the physical id that the host gave, or None."""
        ...

    def parent(self, message: Message) -> str | None:
        """Return the id of the message that an answer hangs on, where it says so.

        None: on the request that stands before it.
        """
        ...

    def calls(self, message: Message) -> Sequence[str]:
        """Return the ids of the tool calls that an answer makes."""
        ...

    def results(self, message: Message) -> Sequence[str]:
        """Return the ids of the calls that the message holds results of, in order."""
        ...

    def human(self, message: Message) -> bool:
        """Say whether the host vouches that a person sent this request."""
        ...

    def same(self, first: Message, second: Message) -> bool:
        """Say whether two requests say the same; marks of the host do not count."""
        ...

    def note(self, text: str, like: Message | None = None) -> Message:
        """Return a new message with this text, of the user's role.

        ``like`` is a message of the list, for what all of them have in common.
        """
        ...

    def replace(self, message: Message, text: str) -> Message:
        """Return a copy that says ``text``; the results that it holds stay."""
        ...

    def part(
        self, message: Message, results: Collection[int], *, rest: bool
    ) -> Message:
        """Return a copy with some of the results, and with the rest or without it.

        ``results`` are positions in what `results` returned.
        """
        ...


_METHODS = (
    "role",
    "id",
    "parent",
    "calls",
    "results",
    "human",
    "same",
    "note",
    "replace",
    "part",
)


def check_reader(reader: MessageReader) -> MessageReader:
    """Return the reader, or raise `InvalidInput` for what cannot be one."""
    if inspect.isclass(reader):
        name = getattr(reader, "__name__", "given")
        msg = f"reader must be an object, not the class {name}: make one"
        raise InvalidInput(msg)
    lacking = [name for name in _METHODS if not callable(getattr(reader, name, None))]
    if lacking:
        msg = f"reader must have the methods {', '.join(lacking)}"
        raise InvalidInput(msg)
    return reader
