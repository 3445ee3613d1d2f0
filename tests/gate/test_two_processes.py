"""One process lags with a warm memory while another writes: no verdict is wrong.

The witness is the file itself: what it held before the call, read by plain SQL, and the
whole log afterwards, folded from nothing.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from gate_writer import Willing, latest, listed
from gates import S
from processes import other
from tenure import (
    Authority,
    FencedOut,
    Ledger,
    NarrativeTransform,
    NothingToSay,
    Recorded,
    TermRetired,
    Verdict,
    View,
    open_ledger,
)
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import judge
from tenure_ledger import events as e
from tenure_ledger.folds.stream import State, evolve
from witness import violations

WRITER = """
    from gate_writer import write
    write(sys.argv[1], {seed}, {steps})
"""
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
            right = judge(cold, verdict.request, verdict.place)
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


def hunt(path: Path, seed: int, steps: int) -> Counter[str]:
    with other(WRITER.format(seed=seed, steps=steps), path) as writer:
        assert writer.hear() == "ready"
        with open_ledger(f"sqlite:///{path}", process="hunter") as ledger:
            hunter = Hunter(path, ledger)
            query = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            with closing(query) as db:
                writer.say()
                while writer.process.poll() is None:
                    hunter.look(db)
                assert writer.end() == []
                hunter.look(db)
            history = ledger.history(S)
            assert ledger.verify().ok
            assert violations(list(ledger.events())) == []
            judge_again(history, hunter.judged)
            hunter.seen["strips"] = strips_are_right(history)
            return hunter.seen


def assert_it_was_a_hunt(seen: Counter[str]) -> None:
    """Sometimes: what the hunt is about did happen."""
    for what in (
        "cut before the call",
        "nothing_to_say",
        "warm",
        "strips",
        "successor",
        "history",
        "queued",
        "stale_admitted",
        "stale_unadmitted",
    ):
        assert seen[what], (what, seen)


def test_a_lagging_process_gives_no_wrong_verdict(tmp_path: Path) -> None:
    assert_it_was_a_hunt(hunt(tmp_path / "relay.db", seed=1, steps=400))


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(2, 8))
def test_a_lagging_process_gives_no_wrong_verdict_for_long(
    tmp_path: Path, seed: int
) -> None:
    assert_it_was_a_hunt(hunt(tmp_path / "relay.db", seed=seed, steps=4000))


def test_a_memory_that_is_warm_knows_of_every_single_write_of_another_process(
    tmp_path: Path,
) -> None:
    """No luck needed: each write of the other is followed by one look."""
    path = tmp_path / "relay.db"
    script = """
        from tenure import First, open_ledger
        from gates import S
        with open_ledger("sqlite:///" + sys.argv[1], process="other") as ledger:
            held = ledger.claim(S, "manager/0", "host", first=First("k0", "human"))
            for number in range(1, 13):
                say(held.to_json())
                hear()
                if number % 3 == 0:
                    ledger.retire(held, "continue", "go on")
                    say("cut")
                    hear()
                    first = First(f"k{number}", "continue_relay")
                    held = ledger.succeed(S, f"manager/{number}", "host", first=first)
                else:
                    ledger.admit(held, f"k{number}", "assistant_run")
            say(held.to_json())
            hear()
    """
    with other(script, path) as writer, open_ledger(f"sqlite:///{path}") as ledger:
        gate = NarrativeTransform(ledger, Willing())
        held: Authority | None = None
        number = 0
        while said := writer.hear():
            if said == "cut":
                with pytest.raises(TermRetired):
                    gate.apply(S, [*keys(number - 1)], authority=held)
            else:
                held = Authority.from_json(said)
                newest = f"k{number}"
                view = gate.apply(S, keys(number), authority=held, acting=newest)
                assert view.verdicts[-1].name in {"current", "successor"}
                assert not any(one.name == "stale_unadmitted" for one in view.verdicts)
                number += 1
            writer.say()
        assert writer.end() == []
        assert number == 13
        forged = Authority(S, 99, "never given", "manager/x")
        with pytest.raises(FencedOut):
            gate.apply(S, keys(1), authority=forged)


def keys(newest: int) -> list[dict[str, object]]:
    return [
        {"role": "user", "id": f"k{number}", "content": "go"}
        for number in range(newest + 1)
    ]
