"""One call of the gate, as steps: look, write what is due, look again, until the end.

The view that leaves comes from one look, at which everything it says was already on
record (design section 6).
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure_gate.due import write_due
from tenure_gate.journal import JournalSnapshot
from tenure_gate.looking import (
    Asked,
    Judged,
    Settings,
    could_act,
    hindrance,
    look,
)
from tenure_gate.notices import told_texts
from tenure_gate.refusals import NothingToSay
from tenure_gate.steps import Look, ReadBody, Steps
from tenure_gate.turns import Split, split
from tenure_gate.view import View, assemble, handover_due
from tenure_ledger.bodies import Json
from tenure_ledger.decisions.fence import fence, unfenced
from tenure_ledger.folds.stream import State

__all__ = ["call"]

_NAMED = 5
"""As many open requests the text of a refusal names."""


def call(settings: Settings, asked: Asked) -> Steps[View]:
    """Make the view, or raise why there is none."""
    parts: Split | None = None
    while True:
        state: State = yield Look(asked.owner)
        if asked.authority is not None:
            refusal = fence(state, asked.authority)
        else:
            refusal = unfenced(state, asked.owner)
        if refusal is not None:
            raise refusal.error()
        journal = JournalSnapshot.of(state)
        if parts is None:
            # Once, by the first look: what this call starts itself has no answer in a
            # list that was made before.
            own = len(asked.messages) - 1 if asked.side else None
            parts = split(asked.messages, settings.reader, journal, instruction=own)
        judged = look(settings, asked, parts, journal)
        if not asked.writes or not (yield from write_due(settings, asked, judged)):
            return (yield from _leave(settings, asked, judged))


def _leave(settings: Settings, asked: Asked, judged: Judged) -> Steps[View]:
    """Hand the view out, or say why there is none."""
    view = yield from _view(settings, asked, judged)
    why = hindrance(asked, judged)
    if why is None:
        return view
    others = () if asked.side else could_act(judged)
    raise NothingToSay(
        f"do not call the model for {asked.owner}: {why.text}{_instead(others)}",
        reason=why.code,
        verdict=judged.verdict,
        view=view,
        version=judged.journal.version,
        open=others,
    )


def _instead(others: Sequence[str]) -> str:
    """Say which requests could be the acting one, the first few by name."""
    if not others:
        return ""
    named = ", ".join(others[:_NAMED]) + (", …" if len(others) > _NAMED else "")
    are = "is" if len(others) == 1 else "are"
    return f"; {named} {are} admitted and open: pass acting={others[0]!r}"


def _view(settings: Settings, asked: Asked, judged: Judged) -> Steps[View]:
    journal, parts, acting = judged.journal, judged.split, judged.acting
    handover: str | None = None
    cut = journal.cut
    if cut is not None and cut.handover and handover_due(settings.history, cut):
        text: Json = yield ReadBody(asked.owner, cut.handover)
        handover = text if isinstance(text, str) else None
    key = None if acting is None else parts.keys[acting]
    told = [] if key is None else journal.delivered_to(key)
    instruction = len(parts.requests) - len(judged.verdicts)
    return assemble(
        asked.messages,
        parts,
        [*judged.verdicts, *[None] * instruction],
        settings.reader,
        journal,
        acting=acting,
        handover=handover,
        notices=told_texts(told),
    )
