"""One pass over a host's list: requests, answers, calls and results as they come.

What `turns.split` is made of; its module says the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message, MessageReader
from tenure_ledger.errors import InvalidInput, KeyReused
from tenure_ledger.values import check_id

__all__ = [
    "COPY",
    "LOOSE",
    "NOTHING",
    "PREFIX",
    "Answer",
    "Head",
    "Reading",
]

PREFIX = -1
"""Stands before the first request and hangs on none."""
LOOSE = -2
"""A system message, or an answer to a request that is not in the list."""
COPY = -3
"""The second message with one id."""
NOTHING = -4
"""Results and nothing else."""


class Answer(Struct, frozen=True, gc=False):
    """A tool result that stands in another message than its call."""

    place: int
    """Which of the results of its message it is."""
    call_id: str
    call: int | None
    """Index of the message that made the call; None: no message of the list did."""


class Head(Struct, frozen=True, gc=False):
    """A request's own message."""

    key: str | None
    at: int
    copies: list[int]
    human: bool


class Reading:
    """What is known of the list so far; `read` makes it whole."""

    def __init__(
        self,
        messages: Sequence[Message],
        reader: MessageReader,
        journal: JournalSnapshot | None,
    ) -> None:
        self._messages = messages
        self._reader = reader
        self._journal = journal
        self.heads: list[Head] = []
        self.homes: list[int] = []
        """By message: the request that it belongs to, or one of the four above."""
        self.spoken: list[int] = []
        """Indices of the answers."""
        self.answers: dict[int, tuple[Answer, ...]] = {}
        self.parents: dict[int, str] = {}
        """Of answers to what is not in the list: the message that they name."""
        self._by_key: dict[str, int] = {}
        self._home = PREFIX
        """What an answer without a parent belongs to."""
        self._at_work = False
        """The ledger says that a request before this point is being worked on."""
        self._claims: dict[int, str] = {}
        """Answers that name a parent."""
        self._unanswered: dict[str, list[int]] = {}
        self._answered: dict[str, int] = {}
        self._early: list[int] = []
        """Messages with a result that stands before its call."""

    def read(self) -> None:
        """Read the list once, then settle what pointed forward."""
        index = 0
        role_of, results_of = self._reader.role, self._reader.results
        try:
            for index, message in enumerate(self._messages):
                role = role_of(message)
                if role == "assistant":
                    self._answer(index, message)
                elif role == "user":
                    self._request(index, message)
                elif role == "tool":
                    self.homes.append(NOTHING)
                elif role == "system":
                    self.homes.append(LOOSE)
                    continue
                else:
                    _refuse(f"the reader says that it is {role!r}, which is no role")
                results = results_of(message)
                if results:
                    self._pair(index, results)
                elif role == "tool":
                    _refuse("the reader says that it is a tool's, and finds no result")
        except InvalidInput as wrong:
            msg = f"message {index}: {wrong.text}"
            raise InvalidInput(msg, **{**wrong.evidence, "index": index}) from None
        self._pair_early()
        if self._claims:
            self._follow_parents()

    @property
    def unanswered(self) -> tuple[tuple[int, str], ...]:
        """Calls without a result: index of the message, and id."""
        return tuple(
            sorted(
                (index, call_id)
                for call_id, indices in self._unanswered.items()
                for index in indices
            )
        )

    def _answer(self, index: int, message: Message) -> None:
        self.homes.append(self._home)
        self.spoken.append(index)
        parent = self._reader.parent(message)
        if parent is not None:
            self._claims[index] = parent
        for call_id in self._reader.calls(message):
            self._unanswered.setdefault(call_id, []).append(index)

    def _request(self, index: int, message: Message) -> None:
        key = self._reader.id(message)
        place = len(self.heads)
        if key is not None:
            key = check_id("id", key)
            place = self._by_key.setdefault(key, place)
        if place < len(self.heads):
            first = self.heads[place]
            if not self._same(first.at, index):
                msg = (
                    f"messages {first.at} and {index} have one id and different "
                    "content: give the new content a new id"
                )
                raise KeyReused(msg, key=key, indices=(first.at, index))
            first.copies.append(index)
            if self._reader.human(message):
                self.heads[place] = replace(first, human=True)
            self.homes.append(COPY)
        else:
            self.heads.append(Head(key, index, [], self._reader.human(message)))
            self.homes.append(place)
        self._turn_to(place, key)

    def _same(self, first: int, second: int) -> bool:
        try:
            return self._reader.same(self._messages[first], self._messages[second])
        except RecursionError:
            msg = f"messages {first} and {second} are nested too deeply to be compared"
            raise InvalidInput(msg, index=second) from None

    def _turn_to(self, place: int, key: str | None) -> None:
        """Let the next answers belong to this request, if it can have any."""
        execution = None
        if self._journal is not None and key is not None:
            execution = self._journal.execution(key)
        if execution is not None and execution.started:
            self._home = place
            self._at_work = self._at_work or not execution.settled
        elif not self._at_work:
            self._home = place

    def _pair(self, index: int, results: Sequence[str]) -> None:
        """Find the call of each result: the nearest before it without a result.

        Hosts and providers use call ids again, so an id alone does not say it.
        """
        answers: list[Answer] = []
        for place, call_id in enumerate(results):
            waiting = self._unanswered.get(call_id)
            if waiting:
                self._answered[call_id] = waiting.pop()
            call = self._answered.get(call_id)
            if call is None:
                self._early.append(index)
            if call != index:
                answers.append(Answer(place, call_id, call))
        if answers:
            self.answers[index] = tuple(answers)

    def _pair_early(self) -> None:
        """Give results that stand before their calls to the first such call."""
        for index in dict.fromkeys(self._early):
            self.answers[index] = tuple(
                answer if answer.call is not None else self._later(answer)
                for answer in self.answers[index]
            )

    def _later(self, answer: Answer) -> Answer:
        waiting = self._unanswered.get(answer.call_id)
        if waiting:
            self._answered[answer.call_id] = waiting.pop(0)
        return replace(answer, call=self._answered.get(answer.call_id))

    def _follow_parents(self) -> None:
        """Give each answer to the request that its parents lead to."""
        by_id: dict[str, int] = {}
        settled: set[int] = set()
        for index in self._claims:
            path: dict[int, None] = {}
            at, lost = index, None
            while at in self._claims and at not in settled and at not in path:
                path[at] = None
                parent = self._claims[at]
                place = self._by_key.get(parent)
                if place is not None:
                    at = self.heads[place].at
                    break
                by_id = by_id or self._ids()
                if parent not in by_id:
                    lost = parent
                    break
                at = self._speaker(by_id[parent])
            # Parents in a circle say nothing: what stands before decides, as without.
            home = self.homes[at] if lost is None else LOOSE
            home = LOOSE if home == NOTHING else home
            lost = lost or self.parents.get(at)
            for one in path:
                self.homes[one] = home
                if lost is not None:
                    self.parents[one] = lost
            settled.update(path)

    def _speaker(self, at: int) -> int:
        """Return the message itself; for a tool's, the one that made the call."""
        if self.homes[at] != NOTHING:
            return at
        call = self.answers[at][0].call if at in self.answers else None
        return at if call is None else call

    def _ids(self) -> dict[str, int]:
        ids: dict[str, int] = {}
        for index, message in enumerate(self._messages):
            name = self._reader.id(message)
            if name is not None:
                ids.setdefault(name, index)
        return ids


def _refuse(text: str) -> NoReturn:
    raise InvalidInput(text)
