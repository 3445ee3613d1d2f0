"""The process that lags: it judges with a warm memory, and the file is its witness."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from random import Random

from gate_writer import Willing, latest, listed
from gates import S
from tenure import (
    Authority,
    Ledger,
    NarrativeTransform,
    NothingToSay,
    Recorded,
    TermRetired,
    Verdict,
    View,
)
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import judge
from tenure_ledger import events as e
from tenure_ledger.folds.stream import State, evolve

__all__ = ["Hunter", "judge_again", "strips_are_right"]


HEAD = "SELECT COALESCE(MAX(originator_version), 0) FROM stored_events "


CUTS = "SELECT COUNT(*) FROM stored_events "


OF = "WHERE originator_id = ?"


class Hunter:
    """The process that judges; it keeps every verdict with what was durable before."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        self.path = path
        self.ledger = ledger
        self.gate = NarrativeTransform(ledger, Willing())
        self.random = Random(7)  # noqa: S311  a test that can be run again
        self.judged: list[Verdict] = []
        self.seen: Counter[str] = Counter()

    def look(self, db: sqlite3.Connection) -> None:
        """Project once, and hold the answer against the file."""
        held, number = latest(str(self.path))
        if self.random.random() < 0.2:
            held = None
        how = self.random.choice(["apply", "apply", "side", "no record"])
        messages = listed(number, self.random)
        if how == "side":
            messages.append({"role": "user", "content": "A title, please."})
        # Read before the call: what stands here, the call has to know.
        durable = int(db.execute(HEAD + OF, [S.stream]).fetchone()[0])
        ended = held is not None and self._cut(db, held)
        view: View | None = None
        try:
            view = self.gate.apply(
                S,
                messages,
                authority=held,
                side=how == "side",
                record=how != "no record",
            )
        except TermRetired:
            self.seen["term_retired"] += 1
            self.seen["cut before the call"] += ended
            assert held is not None
            return
        except NothingToSay as nothing:
            view = nothing.view
            self.seen["nothing_to_say"] += 1
        assert view is not None
        assert not ended, "a view for a term whose cut was durable before the call"
        for verdict in view.verdicts:
            assert verdict.journal.version >= durable
            if verdict.journal.version == durable:
                self.seen["warm"] += 1
            self.seen[verdict.name] += 1
        self.judged.extend(view.verdicts)

    def _cut(self, db: sqlite3.Connection, held: Authority) -> bool:
        """Say whether a cut has ended this holding, as the file says it."""
        above = (
            "AND topic = 'retirement-cut.v1' AND originator_version > (SELECT "
            "MAX(originator_version) FROM stored_events WHERE originator_id = ? "
            "AND json_extract(state, '$.event_id') = ?)"
        )
        asked = [S.stream, S.stream, held.incarnation]
        (cuts,) = db.execute(CUTS + OF + above, asked).fetchone()
        return int(cuts) > 0


def judge_again(history: list[Recorded], judged: list[Verdict]) -> None:
    """Hold every verdict against the log, folded from nothing up to its version."""
    by_version: dict[int, list[Verdict]] = {}
    for verdict in judged:
        by_version.setdefault(verdict.journal.version, []).append(verdict)
    state = State(S.stream)
    for one in history:
        state = evolve(state, one)
        cold = JournalSnapshot.of(state)
        for verdict in by_version.pop(state.version, ()):
            right = judge(cold, verdict.request, verdict.list_facts)
            assert right == verdict, (right, verdict)
    assert not by_version


def strips_are_right(history: list[Recorded]) -> int:
    """Hold that no strip hit what was admitted to the term that was live then."""
    state = State(S.stream)
    strips = 0
    keys: set[str] = set()
    for one in history:
        event = one.event
        if isinstance(event, e.StaleRequestStripped):
            strips += 1
            assert event.key not in keys, "stripped twice"
            keys.add(event.key)
            own, known = state.ownership, state.executions.by_key.get(event.key)
            assert own.live
            assert own.cut is not None
            assert event.cut == own.cut.version
            if known is not None:
                assert known.admitted < own.cut.version
                assert not known.accepted
                assert not known.started
        state = evolve(state, one)
    relay = state.relay
    assert len(relay.interrupts) == strips
    return strips
