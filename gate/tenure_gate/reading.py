"""One pass over a host's list: requests, answers, calls and results as they come.

What `turns.split` is made of; its module says the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message, MessageReader, hear, ids
from tenure_ledger.errors import InvalidInput, KeyReused
from tenure_ledger.folds.executions import Execution

__all__ = [
    "COPY",
    "LOOSE",
    "NOTHING",
    "PREFIX",
    "SYSTEM",
    "Answer",
    "Reading",
]

PREFIX = -1
"""An answer that stands before the first request and hangs on none."""
SYSTEM = -2
"""A system message."""
LOOSE = -3
"""An answer to a request that is not in the list."""
COPY = -4
"""The second message with one id."""
NOTHING = -5
"""Results and nothing else."""


class Answer(Struct, frozen=True, gc=False):
    """A tool result that stands in another message than its call."""

    result: int
    """Which of the results of its message it is, from 0."""
    call_id: str
    call: int | None
    """Index of the message that made the call; None: no message of the list did."""


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
        self._executions: Mapping[str, Execution] = {}
        if journal is not None:
            self._executions = journal.executions
        self.keys: list[str | None] = []
        """Of the requests; so are the next two."""
        self.indices: list[int] = []
        """Of their messages."""
        self.humans: list[bool] = []
        self.homes: list[int] = []
        """By message: the place of the request that it belongs to, or one of the five
        above."""
        self.spoken: list[int] = []
        """Indices of the answers."""
        self.answers: dict[int, tuple[Answer, ...]] = {}
        self.parents: dict[int, str] = {}
        """Of answers to what is not in the list: the message that they name."""
        self._by_key: dict[str, int] = {}
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
        heard = hear(self._messages, self._reader)
        homes, spoken, unanswered = self.homes, self.spoken, self._unanswered
        home = PREFIX
        for index, (role, key, human, parent, calls, results) in enumerate(heard):
            if role == "assistant":
                homes.append(home)
                spoken.append(index)
                if parent is not None:
                    self._claims[index] = parent
                for call_id in calls:
                    unanswered.setdefault(call_id, []).append(index)
            elif role == "user":
                home = self._request(index, key, home, human=human)
            else:
                homes.append(NOTHING if role == "tool" else SYSTEM)
            if results:
                self._pair(index, results)
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

    def _request(self, index: int, key: str | None, home: int, *, human: bool) -> int:
        """Take in a request; return what the next answers belong to.

        ``home`` is what those before it did.
        """
        place = len(self.keys)
        first = place if key is None else self._by_key.setdefault(key, place)
        if first < place:
            self._copy(first, index, human=human)
        else:
            self.keys.append(key)
            self.indices.append(index)
            self.humans.append(human)
            self.homes.append(place)
        known = None if key is None else self._executions.get(key)
        if known is not None and known.started:
            self._at_work = self._at_work or not known.settled
            return first
        return home if self._at_work else first

    def _copy(self, first: int, index: int, *, human: bool) -> None:
        """Take in the second message with the id of that request."""
        at = self.indices[first]
        try:
            same = self._reader.same(self._messages[at], self._messages[index])
        except RecursionError:
            msg = f"messages {at} and {index} are nested too deeply to be compared"
            raise InvalidInput(msg, index=index) from None
        if not same:
            msg = (
                f"messages {at} and {index} have one id and different content: give "
                "the new content a new id"
            )
            raise KeyReused(msg, key=self.keys[first], indices=(at, index))
        self.humans[first] = self.humans[first] or human
        self.homes.append(COPY)

    def _pair(self, index: int, results: Sequence[str]) -> None:
        """Find the call of each result: the nearest before it without a result.

        Hosts and providers use call ids again, so an id alone does not say it.
        """
        answers: list[Answer] = []
        for result, call_id in enumerate(results):
            waiting = self._unanswered.get(call_id)
            if waiting:
                self._answered[call_id] = waiting.pop()
            call = self._answered.get(call_id)
            if call is None:
                self._early.append(index)
            if call != index:
                answers.append(Answer(result, call_id, call))
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
                    at = self.indices[place]
                    break
                by_id = by_id or self._ids()
                if parent not in by_id:
                    lost = parent
                    break
                at = self._speaker(by_id[parent])
            # Parents in a circle say nothing: what stands before decides, as without.
            home = self.homes[at] if lost is None else LOOSE
            home = LOOSE if home in _NO_HOME else home
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
        by_id: dict[str, int] = {}
        for index, name in enumerate(ids(self._messages, self._reader)):
            if name is not None:
                by_id.setdefault(name, index)
        return by_id


_NO_HOME = frozenset({NOTHING, SYSTEM})
"""An answer whose parent is one of these hangs on no request of the list."""
