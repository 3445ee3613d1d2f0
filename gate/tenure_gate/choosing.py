"""Which messages of a list the view holds; its module says the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message, MessageReader
from tenure_gate.reading import LOOSE, PREFIX
from tenure_gate.turns import Split, Turn
from tenure_gate.verdicts import ANSWERED, Verdict
from tenure_ledger.folds.relay import Rewrite

__all__ = ["CANCELLED", "Choice", "choose"]

CANCELLED = "(cancelled by the user)"
"""What stands in the place of a cancelled message that became history."""


_OUTSIDE = frozenset({PREFIX, LOOSE})


class Choice(NamedTuple):
    """What is shown of each message."""

    kept: Sequence[bool]
    """By message: whether it is shown, but for results of another message's calls,
    which go with these."""
    texts: dict[int, str]
    """Messages that say this instead."""
    replaced: int | None
    """Where the note for the history stands; None: no history is left out for one."""


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
    always: list[bool] = []
    passing: list[bool] = []
    history: list[bool] = []
    texts: dict[int, str] = {}
    for turn, verdict in zip(split.requests, verdicts, strict=True):
        name = None if verdict is None else verdict.name
        passes = name is None or (name in ANSWERED)
        kept = name == "history" and keep_history
        history.append(name == "history" and not keep_history)
        passing.append(passes or kept)
        always.append(passes and (not floor or _goes_on(turn, name, acting, journal)))
        if kept and _was_cancelled(turn, journal):
            texts[turn.at] = CANCELLED
    shown: list[bool] = []
    first: int | None = None
    replaced = False
    for index, home in enumerate(split.homes):
        below = index >= floor
        if home >= 0:
            shown.append(passing[home] if below else always[home])
            if below and history[home]:
                replaced = True
                first = index if first is None else first
            elif first is None and shown[index]:
                first = index
        elif home in _OUTSIDE:
            stays = below or reader.role(messages[index]) == "system"
            shown.append(stays and not _of_leftover(split.parents.get(index), journal))
        else:
            shown.append(False)
    return Choice(shown, texts, first if replaced else None)


def _floor(
    messages: Sequence[Message], reader: MessageReader, rewrite: Rewrite | None
) -> int:
    """Return the index where the view starts: the floor that stands further down."""
    if rewrite is None:
        return 0
    wanted = {rewrite.prompt_floor, rewrite.checkpoint_seq} - {None}
    floor = 0
    for index, message in enumerate(messages):
        if not wanted:
            break
        name = reader.id(message)
        if name in wanted:
            wanted.remove(name)
            floor = index
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
