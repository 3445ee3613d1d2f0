"""The messages of a view, made of those that were chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

from tenure_gate.choosing import Choice
from tenure_gate.readers import Message, MessageReader
from tenure_gate.reading import NOTHING, Answer
from tenure_gate.turns import Split

__all__ = ["show"]


def show(
    messages: Sequence[Message],
    split: Split,
    reader: MessageReader,
    choice: Choice,
    notes: Mapping[int, Sequence[Message]],
) -> tuple[list[Message], list[int | None]]:
    """Return the messages of the view, and of each its index; None: a note.

    ``notes`` go before the message of that index. The host's own object is shown where
    all of it is, a copy where a part is.
    """
    whole = list(choice.kept)
    partly = {*choice.texts, *notes}
    for index, answers in split.answers.items():
        with_calls = [one.call is not None and choice.kept[one.call] for one in answers]
        rest = with_calls[0] if split.homes[index] == NOTHING else whole[index]
        if with_calls.count(rest) == len(answers):
            whole[index] = rest
        else:
            partly.add(index)
    shown: list[Message] = []
    sources: list[int | None] = []
    start = 0
    for index in [*sorted(partly), len(messages)]:
        shown += compress(messages[start:index], whole[start:index])
        sources += compress(range(start, index), whole[start:index])
        if index < len(messages):
            before = notes.get(index, ())
            message = messages[index]
            for one, source in _pieces(index, message, split, reader, choice, before):
                shown.append(one)
                sources.append(source)
        start = index + 1
    return shown, sources


def _pieces(
    index: int,
    message: Message,
    split: Split,
    reader: MessageReader,
    choice: Choice,
    notes: Sequence[Message],
) -> Iterator[tuple[Message, int | None]]:
    """Yield what is shown of one message, with the notes before what it says."""
    kept = choice.kept
    rest = kept[index]
    answers = split.answers.get(index, ())
    results = {one.result for one in answers if one.call is not None and kept[one.call]}
    if notes and results:
        # No provider takes a note between a call and its result.
        yield reader.part(message, results, rest=False), index
        results.clear()
    for note in notes:
        yield note, None
    if rest or results:
        whole = len(results) == len(answers)
        if not whole or not (rest or split.homes[index] == NOTHING):
            own = _own(reader, message, answers) if rest else set[int]()
            message = reader.part(message, results | own, rest=rest)
        text = choice.texts.get(index) if rest else None
        yield message if text is None else reader.replace(message, text), index


def _own(
    reader: MessageReader, message: Message, answers: Sequence[Answer]
) -> set[int]:
    """Return the results that stand in the message of their call."""
    results = set(range(len(reader.results(message))))
    return results - {one.result for one in answers}
