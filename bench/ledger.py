"""What a command of the ledger costs, beside the least that the disk allows.

    python bench/ledger.py            the whole run, some minutes
    python bench/ledger.py --quick    less of everything, under a minute

The raw limit is one hand-written SQLite transaction (synchronous=FULL) with the same
two rows in the same tables under the same unique indexes. Contenders take turns in
random order within one run, since disks and neighbours change by the minute: read the
ratios first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import contenders
from figures import median, table
from plain import open_plain
from reporting import reported, say
from rounds import Turn, taken
from steps import replayed
from written import build

from tenure import OwnerRef


class Plan(NamedTuple):
    """How much of everything."""

    events: int
    """In the big store."""
    rounds: int
    """Commands of each contender."""
    groups: int
    """Rounds of the measurement with 100 threads."""
    opened: int
    """Events of the one stream that is opened."""
    repeats: int


WHOLE = Plan(events=1_000_000, rounds=3000, groups=9, opened=100_000, repeats=5)
QUICK = Plan(events=50_000, rounds=400, groups=3, opened=100_000, repeats=3)
TARGET_COMMAND, TARGET_BIG = 1.3, 1.2
TARGET_REPLAY, TARGET_OPEN_SECONDS = 80_000, 1.0


def main() -> int:
    """Run the benchmark and print its report."""
    return reported(__doc__, (WHOLE, QUICK), _sections)


def _sections(folder: Path, plan: Plan) -> Iterator[str]:
    began = time.monotonic()
    big = folder / "big.db"
    build(big, max(1, plan.events // 100), plan.events)
    say(began, f"built a store of {plan.events:,} events")
    yield _commands(folder, big, plan)
    say(began, "measured single commands")
    yield _groups(folder, plan)
    say(began, "measured 100 threads")
    yield _replay(big, plan)
    yield _open(folder, plan)
    say(began, "done")


def _commands(folder: Path, big: Path, plan: Plan) -> str:
    """Measure single commands on a small and on a big store."""
    full = f"{plan.events:,}"
    with contenders.Field(folder, big) as field:
        turns: dict[str, Turn] = {
            "raw, 0": field.raw("small"),
            "ledger, 0": field.ours("small"),
            "ledger with command id, 0": field.ours("small", with_id=True),
            f"raw, {full}": field.raw("big"),
            f"ledger, {full}": field.ours("big"),
            f"ledger with command id, {full}": field.ours("big", with_id=True),
        }
        figures, work = taken(turns, plan.rounds)
        field.check_sizes()
        steps = field.breakdown(plan.rounds // 3)
    lines: list[tuple[object, ...]] = []
    for name, figure in figures.items():
        size = name.rpartition(", ")[2]
        raw = figures[f"raw, {size}"]
        small = figures[name.replace(f", {size}", ", 0")]
        added = (figure.p50 - raw.p50) * 1e6
        worked = (work[name].p50 - work[f"raw, {size}"].p50) * 1e6
        lines.append(
            (
                name,
                f"{figure.p50 / raw.p50:.2f}",
                f"{figure.p50 / small.p50:.2f}",
                f"{added:+.0f}",
                f"{worked:+.0f}",
                f"{figure.p50 * 1e6:.0f}",
                f"{figure.p99 * 1e6:.0f}",
            )
        )
    return "\n".join(
        [
            "## One fenced command, one caller, SQLite FULL",
            "",
            (
                f"{plan.rounds} commands of each in random order. Targets: p50 / raw "
                f"<= {TARGET_COMMAND}, p50 / p50 at 0 <= {TARGET_BIG}."
            ),
            "",
            table(
                (
                    "what, events in store",
                    "p50 / raw",
                    "p50 / at 0",
                    "added us",
                    "of it CPU us",
                    "p50 us",
                    "p99 us",
                ),
                lines,
            ),
            "",
            "Where the time goes (p50, us, at 0 events):",
            "",
            table(("step", "ledger", "raw"), steps),
        ]
    )


def _groups(folder: Path, plan: Plan) -> str:
    """Measure many threads of one process beside raw single commits."""
    threads = 100
    with contenders.Crowd(folder, threads) as crowd:
        ratios: list[float] = []
        rates: list[float] = []
        raws: list[float] = []
        for _ in range(plan.groups):
            raw = crowd.raw(300)
            ours = crowd.ours(30)
            rates.append(ours)
            raws.append(raw)
            ratios.append(ours / raw)
    return "\n".join(
        [
            "## Group commit: 100 threads of one process",
            "",
            table(
                ("what", "rate / raw single commits", "commands/s"),
                [
                    ("raw, one caller", "1.00", f"{median(raws):.0f}"),
                    (
                        f"ledger, {threads} threads",
                        f"{median(ratios):.2f}",
                        f"{median(rates):.0f}",
                    ),
                ],
            ),
        ]
    )


def _replay(big: Path, plan: Plan) -> str:
    """Measure reading everything: alone, verified, as event models."""
    lines: list[tuple[object, ...]] = []
    plain: list[float] = []
    verified: list[float] = []
    models: list[float] = []
    busy: list[float] = []
    for _ in range(2 if plan is WHOLE else 3):
        plain.append(contenders.read_raw(big))
        with open_plain(f"sqlite:///{big}") as ledger:
            began, worked = time.perf_counter(), time.process_time()
            result = ledger.verify()
            verified.append(result.head.count / (time.perf_counter() - began))
            busy.append(result.head.count / (time.process_time() - worked))
            if result.problem is not None:
                raise SystemExit(result.problem.text)
            part = min(result.head.count, 100_000)
            began = time.perf_counter()
            count = sum(1 for _ in ledger.events(result.head.position - part))
            models.append(count / (time.perf_counter() - began))
    for name, rates in (
        ("rows alone, one hand-written SELECT", plain),
        ("verify(): decoded, chain and commands checked", verified),
        ("the same, per second of CPU", busy),
        ("events(): event models, 100,000 of them", models),
    ):
        rate = median(rates)
        lines.append((name, f"{rate / median(plain):.2f}", f"{rate:,.0f}"))
    return "\n".join(
        [
            f"## Replay of the big store ({plan.events:,} events)",
            "",
            f"Target: verified >= {TARGET_REPLAY:,} events/s.",
            "",
            table(("what", "rate / rows alone", "events/s"), lines),
            "",
            "Where the time goes (us for one event, each step run by itself):",
            "",
            table(("step", "us"), replayed(big, min(plan.events, 100_000))),
        ]
    )


def _open(folder: Path, plan: Plan) -> str:
    """Measure the first use of one long stream by a process that never saw it."""
    path = folder / "long.db"
    session = build(path, 1, plan.opened)[0]
    plain: list[float] = []
    opened: list[float] = []
    busy: list[float] = []
    for _ in range(plan.repeats):
        plain.append(plan.opened / contenders.read_raw(path))
        with open_plain(f"sqlite:///{path}") as ledger:
            began, worked = time.perf_counter(), time.process_time()
            status = ledger.owner(OwnerRef("session", session.owner.owner_id))
            opened.append(time.perf_counter() - began)
            busy.append(time.process_time() - worked)
        if status.version < plan.opened - 2:
            raise SystemExit("the stream was not read to its end")
    return "\n".join(
        [
            f"## Opening one stream of {plan.opened:,} events",
            "",
            f"Target: under {TARGET_OPEN_SECONDS:.0f} s.",
            "",
            table(
                ("what", "/ rows alone", "median s", "least s"),
                [
                    ("rows alone", "1.00", f"{median(plain):.2f}", f"{min(plain):.2f}"),
                    (
                        "open_ledger, owner(): read, decoded, folded",
                        f"{median(opened) / median(plain):.2f}",
                        f"{median(opened):.2f}",
                        f"{min(opened):.2f}",
                    ),
                    (
                        "the same, seconds of CPU",
                        f"{median(busy) / median(plain):.2f}",
                        f"{median(busy):.2f}",
                        f"{min(busy):.2f}",
                    ),
                ],
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
