"""A host's list as requests, each with all that hangs on it (design section 6).

A turn is a user message with its answers, their tool calls and the results of these.
What stands before the first request, and system messages, are no part of a turn.

- A result belongs to the turn whose call it answers, wherever it stands in the list.
- An answer belongs to the request that it names as its parent. Without a parent it
  belongs to the last request before it; but while the ledger says that a request of the
  list is being worked on, what nobody started after it (a message that waits, a
  leftover) has no answer, so the answer belongs to the request at work.
- Of two messages with one id the second is a copy: what stands behind it hangs on the
  one request. With other content it is refused.

Nothing of the host's is changed; everything here is an index into its list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message, MessageReader
from tenure_gate.reading import COPY, LOOSE, NOTHING, PREFIX, Answer, Reading
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import kind_of

__all__ = [
    "COPY",
    "LOOSE",
    "NOTHING",
    "PREFIX",
    "Answer",
    "Split",
    "Turn",
    "split",
]


class Turn(Struct, frozen=True, gc=False):
    """A request with all that hangs on it."""

    place: int
    """Its place among the requests of the list."""
    key: str | None
    at: int
    """Index of its message."""
    messages: tuple[int, ...]
    """Indices of all messages that belong to it, be it with a part of what they hold;
    the request's own among them."""
    copies: tuple[int, ...]
    """Indices of further messages with its id."""
    answered: bool
    """An answer hangs on it."""
    human: bool
    """The host vouches that a person sent it."""


class Split(NamedTuple):
    """The list, taken apart."""

    prefix: tuple[int, ...]
    """Indices of what stands before the first request and hangs on none."""
    requests: tuple[Turn, ...]
    loose: tuple[int, ...]
    """Indices of system messages, and of answers to requests that are not here."""
    homes: Sequence[int]
    """For each message: the place in ``requests`` of the turn that it belongs to with
    all but its results; or `PREFIX`, `LOOSE`, `COPY`, `NOTHING`."""
    answers: Mapping[int, tuple[Answer, ...]]
    """By message: the results in it whose calls stand elsewhere, in order."""
    parents: Mapping[int, str]
    """Of loose answers: the request that they name."""
    unanswered: tuple[tuple[int, str], ...]
    """Calls without a result in the list: index of the message, and id of the call."""

    @property
    def keys(self) -> list[str | None]:
        """The keys of the requests, in the order of the list."""
        return [turn.key for turn in self.requests]

    @property
    def orphans(self) -> tuple[int, ...]:
        """Indices of messages with a result whose call is nowhere in the list."""
        return tuple(
            at
            for at, answers in self.answers.items()
            if any(answer.call is None for answer in answers)
        )


def split(
    messages: Sequence[Message],
    reader: MessageReader,
    journal: JournalSnapshot | None = None,
) -> Split:
    """Take the list apart; ``journal`` says which of its requests were started.

    Raises `InvalidInput` with the ``index`` of a message that the reader cannot read,
    and `KeyReused` for two requests with one id and different content.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        msg = f"messages must be a list, not {kind_of(messages)}"
        raise InvalidInput(msg)
    reading = Reading(messages, reader, journal)
    reading.read()
    return _taken_apart(reading)


def _taken_apart(reading: Reading) -> Split:
    """Hand every message to what it belongs to."""
    homes, answers = reading.homes, reading.answers
    belonging: list[list[int]] = [[*head.copies] for head in reading.heads]
    outside: dict[int, list[int]] = {PREFIX: [], LOOSE: []}
    for index, home in enumerate(homes):
        if home >= 0:
            belonging[home].append(index)
        elif home in outside:
            outside[home].append(index)
        for answer in answers.get(index, ()):
            if answer.call is not None:
                place = homes[answer.call]
                (belonging[place] if place >= 0 else outside[place]).append(index)
    answered = {homes[index] for index in reading.spoken}
    requests = tuple(
        Turn(
            place,
            head.key,
            head.at,
            _once(belonging[place]),
            tuple(head.copies),
            place in answered,
            head.human,
        )
        for place, head in enumerate(reading.heads)
    )
    return Split(
        _once(outside[PREFIX]),
        requests,
        _once(outside[LOOSE]),
        homes,
        answers,
        reading.parents,
        reading.unanswered,
    )


def _once(indices: list[int]) -> tuple[int, ...]:
    return tuple(sorted({*indices}))
