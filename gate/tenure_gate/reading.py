"""One pass over a host's list: requests, answers, calls and results as they come.

What `turns.split` is made of; its module says the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tenure_gate.journal import JournalSnapshot
from tenure_gate.pairing import Pairing
from tenure_gate.readers import Message, MessageReader, hear, ids
from tenure_ledger.errors import InvalidInput, KeyReused
from tenure_ledger.folds.executions import Execution

__all__ = [
    "COPY",
    "LOOSE",
    "NOTHING",
    "PREFIX",
    "SYSTEM",
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


class Reading:
    """What is known of the list so far; `read` makes it whole."""

    def __init__(
        self,
        messages: Sequence[Message],
        reader: MessageReader,
        journal: JournalSnapshot | None,
        instruction: int | None,
    ) -> None:
        self._messages = messages
        self._reader = reader
        self._instruction = instruction
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
        self.parents: dict[int, str] = {}
        """Of answers to what is not in the list: the message that they name."""
        self.beside: dict[int, int] = {}
        """What a host says beside results, by message: the call that it goes with."""
        self.pairing = Pairing()
        """Of the results."""
        self._early = False
        """An answer stands before its request."""
        self._by_key: dict[str, int] = {}
        self._at_work = False
        """The ledger says that a request before this point is being worked on."""
        self._claims: dict[int, str] = {}
        """Answers that name a parent."""

    def read(self) -> None:
        """Read the list once, then settle what pointed forward."""
        heard = hear(self._messages, self._reader)
        homes, spoken, waiting = self.homes, self.spoken, self.pairing.waiting
        home = PREFIX
        for index, (role, key, human, parent, calls, results) in enumerate(heard):
            if role == "assistant":
                homes.append(home)
                spoken.append(index)
                if parent is not None:
                    self._claims[index] = parent
                for call_id in calls:
                    waiting.setdefault(call_id, []).append(index)
            elif role == "user":
                home = self._user(index, key, home, results, human=human)
                continue
            else:
                homes.append(NOTHING if role == "tool" else SYSTEM)
            if results:
                self.pairing.pair(index, results, alone=role == "tool")
        self.pairing.finish()
        if self._claims:
            self._follow_parents()
        for index, call in self.beside.items():
            homes[index] = homes[call]

    @property
    def orderly(self) -> bool:
        """Say whether each result and answer stands where a provider wants it."""
        # Places rise with the list, so a turn that is interrupted makes one go down.
        homes = [home for home in self.homes if home >= 0]
        moved = self.pairing.scattered or self._early
        return not moved and homes == sorted(homes)

    def _user(
        self,
        index: int,
        key: str | None,
        home: int,
        results: Sequence[str],
        *,
        human: bool,
    ) -> int:
        """Take in a request, or what is said beside results, and these results.

        ``home`` is what the answers before it belong to; return what the next ones do.
        """
        if results:
            self.pairing.pair(index, results, alone=False)
            call = self.pairing.call_of(index)
            own = human or index == self._instruction
            if key is None and call is not None and not own:
                self.beside[index] = call
                self.homes.append(NOTHING)
                return home
        return self._request(index, key, home, human=human)

    def _request(self, index: int, key: str | None, home: int, *, human: bool) -> int:
        """Take in a request; return what the next answers belong to."""
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
                if home >= 0 and one < self.indices[home]:
                    self._early = True
                if lost is not None:
                    self.parents[one] = lost
            settled.update(path)

    def _speaker(self, at: int) -> int:
        """Return the message itself; for a tool's, the one that made the call."""
        if self.homes[at] != NOTHING:
            return at
        call = self.pairing.call_of(at)
        return at if call is None else call

    def _ids(self) -> dict[str, int]:
        by_id: dict[str, int] = {}
        for index, name in enumerate(ids(self._messages, self._reader)):
            if name is not None:
                by_id.setdefault(name, index)
        return by_id


_NO_HOME = frozenset({NOTHING, SYSTEM})
"""An answer whose parent is one of these hangs on no request of the list."""
