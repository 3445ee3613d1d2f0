"""The order of a view: what a strict provider takes (design section 6).

- Results stand right behind the message whose calls they answer; what a host says
  beside them, in a message without an id, behind the last of them.
- A turn stands in one piece, an answer never before its request. Messages of one
  execution (absorbed, or started into it) are one turn. Turns stand as their first
  messages do in the host's list, the acting request's last.
- System messages and loose answers stand before what they stand before in the list;
  those in front of everything stay there. Behind everything stay system messages alone:
  a loose answer goes before the acting request's turn.

A list that is in this order is not touched, and that is seen in one look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tenure_gate.choosing import Choice
from tenure_gate.reading import COPY, NOTHING, SYSTEM
from tenure_gate.turns import Split

__all__ = ["HANDOVER", "NOTICES", "Piece", "arrange", "in_order"]


class Piece(NamedTuple):
    """A message of the host's, or a part of it, or the place of a note."""

    at: int
    """Index of the message."""
    results: frozenset[int] = frozenset()
    """Which of its results of other messages' calls."""
    rest: bool = False
    """All else that it says."""


HANDOVER, NOTICES = Piece(-1), Piece(-2)
"""The places of the two notes."""


def in_order(split: Split, choice: Choice, acting: int | None) -> bool:
    """Say whether the list's own order will do; ``acting``: of what is shown."""
    if not split.orderly:
        return False
    kept, joined = choice.kept, choice.joined
    if joined:
        shown = [turn.place for turn in split.requests if kept[turn.index]]
        turns = [joined.get(place, place) for place in shown]
        # Each is numbered by its first: one that goes on behind another goes down.
        if turns != sorted(turns):
            return False
    if acting is None:
        return True
    for index in range(len(kept) - 1, -1, -1):
        home = split.homes[index]
        if kept[index] and home not in _NOT_LAST:
            return joined.get(home, home) == joined.get(acting, acting)
    return True


_NOT_LAST = frozenset({SYSTEM, NOTHING, COPY})
"""What may stand behind the acting request's turn, or goes with its call."""


def arrange(
    split: Split, choice: Choice, acting: int | None, notices: int | None
) -> list[Piece]:
    """Return the view piece by piece; `in_order` says where that is not needed.

    ``acting``: place of the acting request, if it is shown. ``notices``: index of the
    message that the note with the notices stands before.
    """
    return _merged(_Arranging(split, choice, acting).pieces(notices))


def _merged(pieces: Iterator[Piece]) -> list[Piece]:
    """Join what is of one message and stands together."""
    merged: list[Piece] = []
    for piece in pieces:
        if merged and merged[-1].at == piece.at:
            before = merged.pop()
            results, rest = before.results | piece.results, before.rest or piece.rest
            merged.append(Piece(piece.at, results, rest))
        else:
            merged.append(piece)
    return merged


class _Arranging:
    """One list, sorted into turns."""

    def __init__(self, split: Split, choice: Choice, acting: int | None) -> None:
        self._split = split
        self._kept = choice.kept
        self._replaced = choice.replaced
        self._joined = choice.joined
        self._last = None if acting is None else choice.joined.get(acting, acting)
        self._behind: dict[int, list[Piece]] = defaultdict(list)
        """What goes with the calls of a message: results first."""
        self._before: dict[int, list[int]] = defaultdict(list)
        """What is no part of a turn, by the message that it stands before."""
        self._turns: dict[int, list[int]] = defaultdict(list)
        self._first: list[int] = []
        self._end: list[int] = []
        """What is no part of a turn and stands behind all that is."""
        self._sort()
        self._pair()

    def _sort(self) -> None:
        homes, beside = self._split.homes, self._split.beside
        loose: list[int] = []
        for index, (home, kept) in enumerate(zip(homes, self._kept, strict=True)):
            if index == self._replaced and not self._turns:
                self._first, loose = loose, []
            if not kept or index in beside:
                continue
            if home < 0:
                loose.append(index)
                continue
            if not self._turns and self._replaced is None:
                self._first, loose = loose, []
            self._before[index], loose = loose, []
            self._turns[self._joined.get(home, home)].append(index)
        self._end = loose

    def _pair(self) -> None:
        kept = self._kept
        for index, answers in self._split.answers.items():
            by_call: dict[int, list[int]] = defaultdict(list)
            for one in answers:
                if one.call is not None and kept[one.call]:
                    by_call[one.call].append(one.result)
            for call, results in by_call.items():
                self._behind[call].append(Piece(index, frozenset(results)))
        for index, call in self._split.beside.items():
            if kept[index]:
                self._behind[call].append(Piece(index, rest=True))

    def pieces(self, notices: int | None) -> Iterator[Piece]:
        """Yield all, in order."""
        yield from self._messages(self._first)
        if self._replaced is not None:
            yield HANDOVER
        for turn, indices in self._turns.items():
            if turn != self._last:
                yield from self._turn(indices, notices)
        end = self._end
        if self._last is not None:
            homes = self._split.homes
            yield from self._messages([at for at in end if homes[at] != SYSTEM])
            end = [at for at in end if homes[at] == SYSTEM]
            yield from self._turn(self._turns[self._last], notices)
        yield from self._messages(end)

    def _turn(self, indices: Sequence[int], notices: int | None) -> Iterator[Piece]:
        for index in sorted(indices, key=self._rank):
            yield from self._messages(self._before[index])
            if index == notices:
                yield NOTICES
            yield from self._messages([index])

    def _rank(self, index: int) -> tuple[int, bool]:
        """Say where in its turn a message stands: never before its own request."""
        head = self._split.requests[self._split.homes[index]].index
        return max(index, head), index < head

    def _messages(self, indices: Sequence[int]) -> Iterator[Piece]:
        for index in indices:
            yield Piece(index, rest=True)
            yield from self._behind.get(index, ())
