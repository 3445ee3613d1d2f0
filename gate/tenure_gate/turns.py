"""A host's list as requests, each with all that hangs on it (design section 6).

A turn is a user message with its answers, their tool calls and the results of these.
What stands before the first request, and system messages, are no part of a turn.

- A result belongs to the turn whose call it answers, wherever it stands in the list.
  So does what a host says beside one, in a user message without an id, unless it
  vouches that a person said it.
- An answer belongs to the request that it names as its parent. Without a parent it
  belongs to the last request before it; but while the ledger says that a request of the
  list is being worked on, what nobody started after it (a message that waits, a
  leftover) has no answer, so the answer belongs to the request at work.
- Of two messages with one id the second is a copy: what stands behind it hangs on the
  one request. With other content it is refused.
- The *place* of a request is counted among the requests, the *index* of a message in
  the host's list; both from 0.

Nothing of the host's is changed; everything here is an index into its list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tenure_gate.journal import JournalSnapshot
from tenure_gate.pairing import Answer
from tenure_gate.readers import Message, MessageReader
from tenure_gate.reading import Reading
from tenure_gate.verdicts import RequestFacts

__all__ = ["Split", "Turn", "split"]


class Turn(RequestFacts, frozen=True, gc=False):
    """A request of the list; what hangs on it, the list's ``homes`` say."""

    index: int
    """Of its message."""


class Split(NamedTuple):
    """The list, taken apart."""

    requests: tuple[Turn, ...]
    keys: tuple[str | None, ...]
    """Of the requests."""
    homes: Sequence[int]
    """For each message: the place in ``requests`` of the turn that it belongs to with
    all but its results; or `reading.PREFIX`, `SYSTEM`, `LOOSE`, `COPY`, `NOTHING`."""
    answers: Mapping[int, tuple[Answer, ...]]
    """By message: the results in it whose calls stand elsewhere, in order."""
    parents: Mapping[int, str]
    """Of loose answers: the request that they name."""
    unanswered: tuple[tuple[int, str], ...]
    """Calls without a result in the list: index of the message, and id of the call."""
    beside: Mapping[int, int]
    """Messages that are said beside results: the message whose call they go with."""
    orderly: bool
    """Results stand right behind their calls, and every turn in one piece."""


def split(
    messages: Sequence[Message],
    reader: MessageReader,
    journal: JournalSnapshot | None = None,
    *,
    instruction: int | None = None,
) -> Split:
    """Take the list apart; ``journal`` says which of its requests were started.

    ``instruction``: index of the host's own message, which goes with no call. Raises
    `InvalidInput` with the ``index`` of a message that the reader cannot read, and
    `KeyReused` for two requests with one id and different content.
    """
    reading = Reading(messages, reader, journal, instruction)
    reading.read()
    homes = reading.homes
    answered = {homes[index] for index in reading.spoken}
    heads = zip(reading.keys, reading.humans, reading.indices, strict=True)
    return Split(
        tuple(
            Turn(key, place in answered, human, place, False, index)  # noqa: FBT003
            for place, (key, human, index) in enumerate(heads)
        ),
        tuple(reading.keys),
        homes,
        reading.pairing.answers,
        reading.parents,
        reading.pairing.unanswered,
        reading.beside,
        reading.orderly,
    )
