"""The messages of a view, made of those that were chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

from tenure_gate.arranging import HANDOVER, NOTICES, Piece, arrange, in_order
from tenure_gate.choosing import Choice
from tenure_gate.pairing import Answer
from tenure_gate.readers import Message, MessageReader
from tenure_gate.reading import NOTHING
from tenure_gate.turns import Split

__all__ = ["Notes", "show"]


class Notes(NamedTuple):
    """What the gate says itself."""

    handover: Message | None
    """Stands where the requests of the view begin."""
    notices: Message | None
    """Stands right before the acting request."""


def show(
    messages: Sequence[Message],
    split: Split,
    reader: MessageReader,
    choice: Choice,
    acting: int | None,
    notes: Notes,
) -> tuple[list[Message], list[int | None]]:
    """Return the messages of the view, and of each its index; None: a note.

    ``acting`` is the place of the acting request, where it is shown. The host's own
    object is shown where all of it is, a copy where a part is.
    """
    told = None
    if acting is not None and notes.notices is not None:
        told = split.requests[acting].index
    told_by = {HANDOVER.at: notes.handover, NOTICES.at: notes.notices}

    def made(piece: Piece) -> tuple[Message, int | None]:
        if piece.at < 0:
            return told_by[piece.at], None
        return _made(piece, messages, split, reader, choice), piece.at

    if not in_order(split, choice, acting):
        moved = [made(piece) for piece in arrange(split, choice, acting, told)]
        return [message for message, _ in moved], [source for _, source in moved]
    whole, partly = _parted(split, choice)
    partly |= {*choice.texts, *(at for at in (choice.replaced, told) if at is not None)}
    shown: list[Message] = []
    sources: list[int | None] = []
    start = 0
    for index in [*sorted(partly), len(messages)]:
        shown += compress(messages[start:index], whole[start:index])
        sources += compress(range(start, index), whole[start:index])
        if index < len(messages):
            for piece in _pieces(index, split, choice, told):
                message, source = made(piece)
                shown.append(message)
                sources.append(source)
        start = index + 1
    return shown, sources


def _parted(split: Split, choice: Choice) -> tuple[list[bool], set[int]]:
    """Say which messages are shown whole, and which of the others only in part."""
    whole, partly = list(choice.kept), set[int]()
    for index, answers in split.answers.items():
        with_calls = [one.call is not None and choice.kept[one.call] for one in answers]
        rest = with_calls[0] if split.homes[index] == NOTHING else whole[index]
        if with_calls.count(rest) == len(answers):
            whole[index] = rest
        else:
            partly.add(index)
    return whole, partly


def _pieces(
    index: int, split: Split, choice: Choice, told: int | None
) -> Iterator[Piece]:
    """Yield what is shown of one message, with the notes before what it says."""
    kept = choice.kept
    answers = split.answers.get(index, ())
    results = frozenset(
        one.result for one in answers if one.call is not None and kept[one.call]
    )
    notes = [HANDOVER] * (index == choice.replaced) + [NOTICES] * (index == told)
    if notes and results:
        # No provider takes a note between a call and its result.
        yield Piece(index, results)
        results = frozenset[int]()
    yield from notes
    if kept[index] or results:
        yield Piece(index, results, kept[index])


def _made(
    piece: Piece,
    messages: Sequence[Message],
    split: Split,
    reader: MessageReader,
    choice: Choice,
) -> Message:
    index, results, rest = piece
    message = messages[index]
    answers = split.answers.get(index, ())
    whole = len(results) == len(answers)
    if not whole or not (rest or split.homes[index] == NOTHING):
        own = _own(reader, message, answers) if rest else frozenset[int]()
        message = reader.part(message, results | own, rest=rest)
    text = choice.texts.get(index) if rest else None
    return message if text is None else reader.replace(message, text)


def _own(
    reader: MessageReader, message: Message, answers: Sequence[Answer]
) -> frozenset[int]:
    """Return the results that stand in the message of their call."""
    own = frozenset(range(len(reader.results(message))))
    return own - {one.result for one in answers}
