"""What the model sees: the list without what its verdicts keep out (design section 6).

Pure: verdicts are given, and nothing is decided here but how the view is put together.

- What is no part of a request passes. A turn passes with `current` or `successor`, or
  without a verdict (the host's own instruction); with `history` as ``history`` says;
  with every other verdict it stays out, whole.
- A result is shown where its call is shown and nowhere else, so neither is ever an
  orphan. A result whose call is nowhere in the host's list answers nothing that a model
  could see: it stays out too.
- The floor takes away what stands before it, but for system messages and for requests
  admitted after the cut and not settled.
- One note stands for the history that a hand-over replaces: where the requests of the
  view begin. One note with the notices stands right before the acting request.
- The order is the list's, but for what no provider would take; `arranging` says how.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tenure_gate.choosing import CANCELLED, choose
from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message, MessageReader
from tenure_gate.showing import Notes, show
from tenure_gate.turns import Split
from tenure_gate.verdicts import STALE, Verdict
from tenure_ledger.folds.ownership import Cut

__all__ = [
    "CANCELLED",
    "HANDOVER",
    "History",
    "View",
    "assemble",
    "handover_due",
]

History = Literal["auto", "keep", "handover"]
"""``auto``: replaced where the latest cut is ``continue`` and has a hand-over."""

HANDOVER = "Handed over by the agent that worked on this before:\n\n"


class View(NamedTuple):
    """What may be sent to the model, and what was kept from it."""

    messages: list[Message]
    """The host's own objects, in its order: results stand right behind their calls,
    turns in one piece, and the acting request's turn last, wherever the list has them.
    A new object only where one is shown in part, and for notes. Do not change them."""
    verdicts: tuple[Verdict, ...]
    """One for each request of the list, in its order."""
    stripped: tuple[str, ...]
    """Keys of the leftovers that stay out."""
    notices: tuple[str, ...]
    """The texts in the note before the acting request."""
    acting: str | None
    """The request that the model is called for."""
    sources: tuple[int | None, ...]
    """For each message of the view its index in the host's list; None: a note."""
    unanswered: tuple[str, ...]
    """Ids of the calls in the view that have no result in the list. A provider may
    refuse them: the host answers them, or says that they were interrupted."""


def handover_due(history: History, cut: Cut | None) -> bool:
    """Say whether the latest cut's hand-over is to replace the history."""
    if cut is None or cut.handover is None or history == "keep":
        return False
    return history == "handover" or cut.outcome == "continue"


def assemble(
    messages: Sequence[Message],
    split: Split,
    verdicts: Sequence[Verdict | None],
    reader: MessageReader,
    journal: JournalSnapshot,
    *,
    acting: int | None = None,
    handover: str | None = None,
    notices: Sequence[str] = (),
) -> View:
    """Put the view together.

    ``verdicts`` has one for each of ``split.requests``; None passes. ``acting`` is the
    place of the acting request among them; notices are shown where it is shown.
    ``handover`` is the text that replaces the history (None: history is kept);
    `handover_due` says whether there is to be one.
    """
    choice = choose(
        messages,
        split,
        verdicts,
        reader,
        journal,
        acting=acting,
        keep_history=handover is None,
    )
    note = told = None
    if handover is not None and choice.replaced is not None:
        note = reader.note(HANDOVER + handover, messages[choice.replaced])
    at = None if acting is None else split.requests[acting].index
    served = acting if at is not None and choice.kept[at] else None
    given_notices = () if served is None else tuple(notices)
    if at is not None and given_notices:
        told = reader.note("\n\n".join(given_notices), messages[at])
    notes = Notes(note, told)
    shown, sources = show(messages, split, reader, choice, served, notes)
    given = tuple(verdict for verdict in verdicts if verdict is not None)
    return View(
        shown,
        given,
        tuple(v.key for v in given if v.name in STALE and v.key is not None),
        given_notices,
        None if acting is None else split.keys[acting],
        tuple(sources),
        tuple(call_id for at, call_id in split.unanswered if choice.kept[at]),
    )
