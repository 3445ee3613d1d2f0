"""Which call each result of a host's list answers, found in one pass."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

__all__ = ["Answer", "Pairing"]


class Answer(Struct, frozen=True, gc=False):
    """A tool result that stands in another message than its call."""

    result: int
    """Which of the results of its message it is, from 0."""
    call_id: str
    call: int | None
    """Index of the message that made the call; None: no message of the list did."""


class Pairing:
    """The calls and results so far; `finish` makes it whole."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[int]] = {}
        """Calls without a result yet: indices of their messages, by id."""
        self.answers: dict[int, tuple[Answer, ...]] = {}
        """By message: the results in it whose calls stand elsewhere, in order."""
        self.scattered = False
        """A result stands elsewhere than right behind its call."""
        self._chain = (-1, -1)
        """Last message of an unbroken row of results, and the call before the row."""
        self._answered: dict[str, int] = {}
        self._early: list[int] = []
        """Messages with a result that stands before its call."""

    def pair(self, index: int, results: Sequence[str], *, alone: bool) -> None:
        """Find the call of each result: the nearest before it without a result.

        Hosts and providers use call ids again, so an id alone does not say it.
        ``alone``: the message holds nothing else.
        """
        last, caller = self._chain
        if last != index - 1:
            caller = index - 1
        answers: list[Answer] = []
        for result, call_id in enumerate(results):
            waiting = self.waiting.get(call_id)
            if waiting:
                self._answered[call_id] = waiting.pop()
            call = self._answered.get(call_id)
            if call is None:
                self._early.append(index)
            if call != index:
                answers.append(Answer(result, call_id, call))
                if call != caller:
                    self.scattered = True
        if answers:
            self.answers[index] = tuple(answers)
            if alone:
                self._chain = (index, caller)

    def finish(self) -> None:
        """Give results that stand before their calls to the first such call."""
        for index in dict.fromkeys(self._early):
            self.answers[index] = tuple(
                answer if answer.call is not None else self._later(answer)
                for answer in self.answers[index]
            )

    def call_of(self, index: int) -> int | None:
        """Return the first call that a message answers; None: it answers none."""
        answers = self.answers.get(index, ())
        return next((one.call for one in answers if one.call is not None), None)

    @property
    def unanswered(self) -> tuple[tuple[int, str], ...]:
        """Calls without a result: index of the message, and id."""
        return tuple(
            sorted(
                (index, call_id)
                for call_id, indices in self.waiting.items()
                for index in indices
            )
        )

    def _later(self, answer: Answer) -> Answer:
        waiting = self.waiting.get(answer.call_id)
        if waiting:
            self._answered[answer.call_id] = waiting.pop(0)
        return replace(answer, call=self._answered.get(answer.call_id))
