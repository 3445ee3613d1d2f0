"""What the tables cost, beside a hand-written transaction that writes the same rows.

    python bench/projections.py            the whole run, a few minutes
    python bench/projections.py --quick    less of everything, under a minute

Contenders take turns in random order within one run: read the ratios first.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from by_hand import check_rows, fenced, raw
from contenders import SESSIONS, turns
from figures import Figures, median, table
from plain import open_plain
from reporting import reported
from rounds import Turn, taken
from written import build

from tenure import Ledger, OwnerRef, open_ledger
from tenure_ledger.rows import Column


class Plan(NamedTuple):
    """How much of everything."""

    rounds: int
    """Commands of each contender."""
    events: int
    """In the ledger that is rebuilt and looked at in the past."""
    repeats: int


WHOLE = Plan(rounds=3000, events=200_000, repeats=3)
QUICK = Plan(rounds=400, events=30_000, repeats=2)
TARGET_RAW, TARGET_PLAIN, TARGET_REBUILD = 1.3, 1.3, 30_000


def main() -> int:
    """Run the benchmark and print its report."""
    return reported(__doc__, (WHOLE, QUICK), _sections)


def _sections(folder: Path, plan: Plan) -> Iterator[str]:
    yield _commands(folder, plan)
    yield from _reading(folder, plan)


def _commands(folder: Path, plan: Plan) -> str:
    """Measure single commands with and without tables, and by hand."""
    with ExitStack() as opened:
        contenders: dict[str, Turn] = {
            "raw, the same rows": raw(folder / "raw.db", opened),
            "by hand, with fence and chain": fenced(folder / "fenced.db", opened),
            "ledger without tables": _ours(folder / "plain.db", opened, open_plain),
            "ledger": _ours(folder / "tables.db", opened, open_ledger),
        }
        wall, work = taken(contenders, plan.rounds)
    check_rows([folder / f"{name}.db" for name in ("raw", "fenced", "tables")])
    least, plain = wall["raw, the same rows"].p50, wall["ledger without tables"].p50
    lines = [
        (
            name,
            f"{figure.p50 / least:.2f}",
            f"{figure.p50 / plain:.2f}",
            f"{(figure.p50 - least) * 1e6:+.0f}",
            f"{work[name].p50 * 1e6:.0f}",
            f"{figure.p50 * 1e6:.0f}",
            f"{figure.p99 * 1e6:.0f}",
        )
        for name, figure in wall.items()
    ]
    head = ("what", "p50 / raw", "p50 / plain", "added us", "CPU us", "p50 us", "p99")
    return "\n".join(
        [
            "## One fenced command with its table rows, SQLite FULL",
            "",
            (
                f"{plan.rounds} commands of each in random order. Targets: p50 / raw "
                f"<= {TARGET_RAW}, p50 / plain <= {TARGET_PLAIN}. Raw only writes rows "
                "that lie ready; by hand with fence and chain makes them there, as the "
                "ledger does: that row is for information. Where raw takes more than "
                "0.6 ms, the disk hides what is measured: such a run says nothing."
            ),
            "",
            table(head, lines),
        ]
    )


def _ours(path: Path, opened: ExitStack, opener: Callable[[str], Ledger]) -> Turn:
    sessions = build(path, SESSIONS, 0)
    ledger = opener(f"sqlite:///{path}")
    opened.enter_context(ledger)
    for session in sessions:
        ledger.owner(session.owner)
    return turns(ledger, sessions, with_id=False)


def _reading(folder: Path, plan: Plan) -> Iterator[str]:
    """Measure the rebuild of one table, and one owner in the past."""
    lines: list[tuple[object, ...]] = []
    for size in (plan.events // 10, plan.events):
        path = folder / f"past-{size}.db"
        sessions = build(path, max(1, size // 100), size)
        with open_ledger(f"sqlite:///{path}") as ledger:
            ledger.setup()
            owner = OwnerRef("session", sessions[0].owner.owner_id)
            rates: list[float] = []
            for _ in range(plan.repeats):
                _forget(path, "chat_executions")
                began = time.perf_counter()
                (rebuilt,) = ledger.rebuild("chat_executions")
                rates.append(rebuilt.events / (time.perf_counter() - began))
            middle = ledger.history(owner)[50].position
            looked = Figures()
            rows: list[dict[str, Column]] = []
            for _ in range(200):
                began = time.perf_counter()
                rows = list(ledger.as_of(middle).rows("chat_executions", owner))
                looked.add(time.perf_counter() - began)
            if not rows:
                raise SystemExit("nothing was found in the past")
        lines.append((f"{size:,}", f"{median(rates):,.0f}", f"{looked.p50 * 1e3:.2f}"))
    yield "\n".join(
        [
            "## Rebuild of `chat_executions` from nothing, and one owner in the past",
            "",
            f"Targets: >= {TARGET_REBUILD:,} events/s; as_of does not grow.",
            "",
            table(("events in the ledger", "rebuilt events/s", "as_of ms"), lines),
        ]
    )


def _forget(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"DELETE FROM {name}")  # noqa: S608  one of ours


if __name__ == "__main__":
    sys.exit(main())
