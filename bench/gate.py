"""What a verdict and a whole call cost, beside bare look-ups in dicts.

    python bench/gate.py            the whole run, a few minutes
    python bench/gate.py --quick    fewer admissions, under a minute

Contenders take turns within one run: read the ratios first.
"""

from __future__ import annotations

import gc
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import calls
from figures import table
from immutables import Map
from msgspec.structs import replace
from reporting import reported

from tenure import Authority, First, Ledger, NarrativeTransform, open_ledger
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import judge
from tenure_gate.verdicts import ListFacts, RequestFacts
from tenure_ledger.folds.executions import Execution, Executions
from tenure_ledger.folds.ownership import Cut
from tenure_ledger.folds.stream import State


class Plan(NamedTuple):
    """How much of everything."""

    admissions: int
    looks: int
    """Look-ups in one sample."""
    samples: int
    calls: int
    """Samples of what takes no longer than a call."""


WHOLE = Plan(admissions=1_000_000, looks=100_000, samples=9, calls=300)
QUICK = Plan(admissions=100_000, looks=20_000, samples=5, calls=60)
SESSION = calls.SESSION
TARGET_WARM, TARGET_LIST, TARGET_FRESH = 2.0, 3.0, 1.5

Work = Callable[[], object]


def main() -> int:
    """Run the benchmark and print its report."""
    gc.disable()
    return reported(__doc__, (WHOLE, QUICK), _sections)


def _sections(folder: Path, plan: Plan) -> Iterator[str]:
    yield _warm(plan)
    yield _list(plan)
    yield from _fresh(folder, plan)


def _state(admissions: int, cuts: int) -> State:
    """Return a state with that many settled executions and cuts."""
    with open_ledger("memory://") as ledger:
        one = ledger.claim(SESSION, "agent/1", "host")
        ledger.retire(one, "accepted")
        ledger.succeed(SESSION, "agent/2", "host")
        state = ledger.fresh_state(SESSION)
    known = {
        calls.key_of(number): Execution(
            calls.key_of(number),
            admitted=number + 10,
            term=2,
            generation=2,
            started=number + 11,
            settled=number + 12,
            outcome="completed",
        )
        for number in range(admissions)
    }
    (cut,) = state.ownership.cuts.values()
    several: dict[int, Cut] = {
        version: replace(cut, version=version) for version in range(1, cuts + 1)
    }
    latest = several[cuts]
    own = replace(state.ownership, cuts=Map(several), cut=latest)
    return replace(state, ownership=own, executions=Executions(by_key=Map(known)))


def _ratios(plan: Plan, base: Work, work: Work) -> tuple[float, float, float]:
    """Return the median ratio of the two in turns, and the median seconds of each."""
    ratios: list[float] = []
    bases: list[float] = []
    works: list[float] = []
    for _ in range(plan.samples):
        bases.append(_seconds(base))
        works.append(_seconds(work))
        ratios.append(works[-1] / bases[-1])
    median = statistics.median
    return median(ratios), median(bases), median(works)


def _seconds(work: Work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _warm(plan: Plan) -> str:
    """Measure verdicts from memory, over random keys."""
    lines: list[tuple[object, ...]] = []
    sizes = [(100, 1), (plan.admissions, 1), (plan.admissions, 1000)]
    for admissions, cuts in sizes:
        state = _state(admissions, cuts)
        admitted = dict(state.executions.by_key.items())
        settled = {key: one.settled for key, one in admitted.items()}
        rng = random.Random(1)  # noqa: S311  which keys is no secret
        keys = [calls.key_of(rng.randrange(admissions)) for _ in range(plan.looks)]
        facts = [RequestFacts(key, True, False, 1, False) for key in keys]  # noqa: FBT003
        journal, place = JournalSnapshot.of(state), ListFacts(None, None)

        def bare(
            keys: list[str] = keys,
            one: dict[str, Execution] = admitted,
            two: dict[str, int] = settled,
        ) -> None:
            for key in keys:
                one.get(key)
                two.get(key)

        def verdicts(
            facts: list[RequestFacts] = facts,
            journal: JournalSnapshot = journal,
            place: ListFacts = place,
        ) -> None:
            for one in facts:
                judge(journal, one, place)

        ratio, base, ours = _ratios(plan, bare, verdicts)
        each = 1e6 / plan.looks
        lines.append(
            (
                f"{admissions:,} admissions, {cuts:,} cuts",
                f"{ratio:.2f}",
                f"{ours * each:.2f}",
                f"{base * each:.2f}",
            )
        )
    return "\n".join(
        [
            "## A verdict from memory, over random keys",
            "",
            f"Target: ratio <= {TARGET_WARM:g}, flat.",
            "",
            table(("state", "verdict / two dicts", "verdict us", "dicts us"), lines),
        ]
    )


def _list(plan: Plan) -> str:
    """Measure 1,000 messages in 200 requests: each step of a call, then whole calls."""
    lines: list[tuple[object, ...]] = []
    for admissions in (calls.REQUESTS, plan.admissions):
        state = _state(admissions, 1)
        lines += [
            _line(row, f"{row.name}, {admissions:,} admissions")
            for row in calls.steps(state, plan.calls)
        ]
    lines += [_line(row, row.name) for row in calls.whole_calls(plan.calls)]
    return "\n".join(
        [
            "## A list of 1,000 messages in 200 requests",
            "",
            (
                f"Target: verdicts <= {TARGET_LIST:g} of the bare loop ({calls.BARE}: "
                "no shape is checked in it, no answer and no result is given to its "
                "request, no list is made). A whole `apply` does all of that, and has "
                "no target: it remembers nothing of the list, so the first call and "
                "any later one cost the same, but reads it once, however often it "
                "looks."
            ),
            "",
            table(("what", "/ bare loop", "us", "bare us"), lines),
        ]
    )


def _line(row: calls.Row, name: str) -> tuple[object, ...]:
    return name, f"{row.ratio:.2f}", f"{row.ours * 1e6:.0f}", f"{row.bare * 1e6:.0f}"


def _fresh(folder: Path, plan: Plan) -> Iterator[str]:
    """Measure verdicts from durable evidence on a file."""
    path = folder / "relay.db"
    lines: list[tuple[object, ...]] = []
    with open_ledger(f"sqlite:///{path}") as ledger:
        held = ledger.claim(SESSION, "agent/1", "host", first=First("m_0", "human"))
        for number in range(1, 100):
            ledger.admit(held, f"m_{number}", "assistant_run")
        admitted = dict(ledger.fresh_state(SESSION).executions.by_key.items())
        other = dict.fromkeys(admitted, 1)
        request = RequestFacts("m_7", True, False, 1, False)  # noqa: FBT003
        place = ListFacts(None, None)
        looks = max(1000, plan.looks // 20)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:

            def bare() -> None:
                for _ in range(looks):
                    db.execute("PRAGMA data_version").fetchone()
                    admitted.get("m_7")
                    other.get("m_7")

            def verdicts() -> None:
                journal = JournalSnapshot.of(ledger.fresh_state(SESSION))
                for _ in range(looks):
                    state = ledger.fresh_state(SESSION)
                    if state is not journal.state:
                        journal = JournalSnapshot.of(state)
                    judge(journal, request, place)

            ratio, base, ours = _ratios(plan, bare, verdicts)
        each = 1e6 / looks
        lines.append(
            (
                "verdict, nobody has committed",
                f"{ratio:.2f}",
                f"{ours * each:.1f}",
                f"{base * each:.1f}",
            )
        )
        rows = calls.first_call(folder, plan.samples)
        whole = [_line(row, row.name) for row in rows]
        yield "\n".join(
            [
                "## A verdict from durable evidence, SQLite",
                "",
                f"Target: ratio <= {TARGET_FRESH:g}.",
                "",
                table(("what", "/ data_version and two dicts", "us", "bare us"), lines),
                "",
                _short_call(ledger, held),
                "",
                "The list of 1,000 messages from the file:",
                "",
                table(("what", "/ bare loop", "us", "bare us"), whole),
            ]
        )


def _short_call(ledger: Ledger, held: Authority) -> str:
    """Measure one whole `apply` that has nothing left to write."""
    gate = NarrativeTransform(ledger, calls.Guard())
    ledger.start(held, "m_0")
    messages = [
        {"role": "user", "id": "m_0", "content": "question"},
        {"role": "assistant", "content": "thinking"},
    ]
    took = [
        _seconds(lambda: gate.apply(SESSION, messages, authority=held))
        for _ in range(2000)
    ]
    return (
        f"One whole `apply` of a short list with nothing left to write: "
        f"{statistics.median(took) * 1e6:.0f} us."
    )


if __name__ == "__main__":
    sys.exit(main())
