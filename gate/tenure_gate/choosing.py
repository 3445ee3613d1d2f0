"""Which messages of a list the view holds; its module says the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message, MessageReader, ids
from tenure_gate.reading import COPY, LOOSE, NOTHING, PREFIX, SYSTEM
from tenure_gate.turns import Split, Turn
from tenure_gate.verdicts import ANSWERED, Verdict
from tenure_ledger.folds.relay import Rewrite

__all__ = ["CANCELLED", "Choice", "choose"]

CANCELLED = "(cancelled by the user)"
"""What stands in the place of a cancelled message that became history."""

_ALWAYS = {SYSTEM: True, PREFIX: False, LOOSE: False, COPY: False, NOTHING: False}
"""What is no part of a request: whether it is shown above the floor."""
_BELOW = {**_ALWAYS, PREFIX: True, LOOSE: True}


class Choice(NamedTuple):
    """What is shown of each message."""

    kept: Sequence[bool]
    """By message: whether it is shown, but for results of another message's calls,
    which go with these."""
    texts: dict[int, str]
    """Messages that say this instead."""
    replaced: int | None
    """Where the note for the history stands; None: no history is left out for one."""
    joined: dict[int, int]
    """Requests that are part of one execution with an earlier one: its place."""


def choose(
    messages: Sequence[Message],
    split: Split,
    verdicts: Sequence[Verdict | None],
    reader: MessageReader,
    journal: JournalSnapshot,
    *,
    acting: int | None,
    keep_history: bool,
) -> Choice:
    """Choose what is shown."""
    floor = _floor(messages, reader, journal.state.relay.rewrite)
    # By home: what hangs on it is shown above the floor; below it; it is replaced.
    above, below = {**_ALWAYS}, {**_BELOW}
    history: set[int] = set()
    texts: dict[int, str] = {}
    parts: list[tuple[int, str]] = []
    for turn, verdict in zip(split.requests, verdicts, strict=True):
        name = None if verdict is None else verdict.name
        passes = name is None or name in ANSWERED
        place = turn.place
        if name == "history":
            if not keep_history:
                history.add(place)
            elif _was_cancelled(turn, journal):
                texts[turn.index] = CANCELLED
        below[place] = passes or (name == "history" and keep_history)
        if floor:
            above[place] = passes and _goes_on(turn, name, acting, journal)
        known = None if verdict is None else verdict.known
        if known is not None and (lead := known.absorbed_by or known.into) is not None:
            parts.append((place, lead))
    homes = split.homes
    kept = [below[home] for home in homes[floor:]]
    if floor:
        kept = [above[home] for home in homes[:floor]] + kept
    for index, parent in split.parents.items():
        kept[index] = kept[index] and not _of_leftover(parent, journal)
    for index, call in split.beside.items():
        kept[index] = kept[call]
    joined = _join(parts, split.keys, journal) if parts else {}
    return Choice(kept, texts, _note_index(homes, kept, history, floor), joined)


def _join(
    parts: Sequence[tuple[int, str]],
    keys: Sequence[str | None],
    journal: JournalSnapshot,
) -> dict[int, int]:
    """Return for each part of an execution the place of its first one in the list."""
    leads: dict[str, list[int]] = {}
    for place, lead in parts:
        path = {keys[place]}
        while lead not in path:
            path.add(lead)
            known = journal.execution(lead)
            lead = (known and (known.absorbed_by or known.into)) or lead  # noqa: PLW2901  the last of them
        leads.setdefault(lead, []).append(place)
    for place, key in enumerate(keys):
        if key in leads:
            leads[key].append(place)
    return {place: min(places) for places in leads.values() for place in places}


def _note_index(
    homes: Sequence[int], kept: Sequence[bool], history: set[int], floor: int
) -> int | None:
    """Return where the requests of the view begin; None: no history is replaced."""
    if history.isdisjoint(homes[floor:]):
        return None
    return next(
        index
        for index, home in enumerate(homes)
        if home >= 0 and (kept[index] or (index >= floor and home in history))
    )


def _floor(
    messages: Sequence[Message], reader: MessageReader, rewrite: Rewrite | None
) -> int:
    """Return the index where the view starts: the floor that stands further down."""
    wanted: set[str | None] = set()
    if rewrite is not None:
        wanted = {rewrite.prompt_floor, rewrite.checkpoint_seq} - {None}
    floor = 0
    if wanted:
        for index, name in enumerate(ids(messages, reader)):
            if name in wanted:
                wanted.remove(name)
                floor = index
                if not wanted:
                    break
    return floor


def _goes_on(
    turn: Turn, name: str | None, acting: int | None, journal: JournalSnapshot
) -> bool:
    """Say whether no floor takes the request away."""
    if name is None or turn.place == acting:
        return True
    execution = None if turn.key is None else journal.execution(turn.key)
    if execution is None or execution.settled:
        return False
    return execution.admitted > journal.cut_version


def _was_cancelled(turn: Turn, journal: JournalSnapshot) -> bool:
    execution = None if turn.key is None else journal.execution(turn.key)
    return execution is not None and execution.outcome == "cancelled"


def _of_leftover(parent: str | None, journal: JournalSnapshot) -> bool:
    """Say whether an answer hangs on a leftover that is itself not in the list.

    Nobody can have answered what nobody started, unless its host starts nothing.
    """
    known = None if parent is None else journal.execution(parent)
    if known is None:
        return False
    worked_on = known.started or known.settled or journal.live(known)
    return known.stripped > 0 or not worked_on
