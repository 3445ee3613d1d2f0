"""What a command of the ledger costs on PostgreSQL, beside transactions by hand.

    python bench/postgres.py            the whole run, some minutes
    python bench/postgres.py --quick    less of everything, under two minutes

A server is started for it, with `fsync` and `synchronous_commit` on. Contenders take
turns in random order within one run, since disks and neighbours change by the minute:
read the ratios first.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from by_hand_postgres import WAYS, raw, schema_for
from contenders import SESSIONS, turns
from crowds_postgres import Processes, threads
from figures import Figures, median, table
from followers_postgres import followed
from plain import open_plain
from reads_postgres import fresh, replayed
from reporting import reported, say
from rounds import Turn, taken
from written_postgres import Place, running

from tenure import open_ledger


class Plan(NamedTuple):
    """How much of everything."""

    rounds: int
    """Commands of each contender."""
    events: int
    """In the big ledger."""
    crowds: int
    """Rounds of each contender with many processes."""
    seconds: float
    """Of each such round, and of an idle follower."""
    repeats: int


WHOLE = Plan(rounds=3000, events=1_000_000, crowds=9, seconds=2.0, repeats=3)
QUICK = Plan(rounds=400, events=50_000, crowds=3, seconds=1.0, repeats=2)
WRITERS, THREADS, WARM = 16, 100, 100
TARGET_COMMAND, TARGET_BIG, TARGET_CROWD = 1.3, 1.2, 0.8
TARGET_FRESH, TARGET_REPLAY = 1.3, 60_000

BARE, EXECUTE, PIPELINE, ONE, LIBPQ = WAYS
LEDGER, PLAIN = "ledger", "ledger without tables"
VOID = (
    "Where the event alone takes more than 1 ms, the disk hides what is measured: such "
    "a run says nothing."
)


def main() -> int:
    """Run the benchmark and print its report."""
    return reported(
        __doc__,
        (WHOLE, QUICK),
        _served,
        folder=Path(tempfile.gettempdir()),
        disk="on the disk to measure, open to the user that the server runs as",
    )


def _served(folder: Path, plan: Plan) -> Iterator[str]:
    with running(folder) as place:
        yield from _sections(place, plan)


def _sections(place: Place, plan: Plan) -> Iterator[str]:
    began = time.monotonic()
    big, _ = place.build(max(1, plan.events // 100), plan.events)
    say(began, f"built a ledger of {plan.events:,} events")
    yield _commands(place, plan)
    yield _sizes(place, big, plan)
    say(began, "measured single commands")
    yield _crowds(place, plan)
    say(began, f"measured {WRITERS} processes")
    yield _threads(place, plan)
    yield _fresh(place, plan)
    yield _replay(place, big, plan)
    say(began, "measured reading")
    yield _followers(place, plan)
    say(began, "done")


def _by_hand(place: Place, way: str, opened: ExitStack) -> Turn:
    schema, sessions = place.build(SESSIONS, 0)
    schema_for(place, schema)
    return raw(place, schema, sessions, WAYS[way], opened)


def _ours(place: Place, name: str, opened: ExitStack) -> Turn:
    opener = open_plain if name == PLAIN else open_ledger
    schema, sessions = place.build(SESSIONS, 0, opener)
    ledger = opened.enter_context(opener(place.url(schema)))
    for session in sessions:
        ledger.owner(session.owner)  # the state is in memory from here on
    return turns(ledger, sessions, with_id=False)


def _commands(place: Place, plan: Plan) -> str:
    """Measure single commands with their table rows, and by hand."""
    with ExitStack() as opened:
        contenders = {way: _by_hand(place, way, opened) for way in WAYS}
        contenders |= {name: _ours(place, name, opened) for name in (PLAIN, LEDGER)}
        wall, work = taken(contenders, plan.rounds, warm=WARM)
    lines = [
        (
            name,
            *(
                f"{one.p50 / wall[way].p50:.2f}"
                for way in (EXECUTE, PIPELINE, ONE, BARE)
            ),
            f"{work[name].p50 * 1e6:.0f}",
            f"{one.p50 * 1e6:.0f}",
            f"{one.p99 * 1e6:.0f}",
        )
        for name, one in wall.items()
    ]
    head = ("what", "p50 / execute", "/ pipeline", "/ one statement", "/ event alone")
    return "\n".join(
        [
            "## One fenced command with its table rows, PostgreSQL",
            "",
            (
                f"{plan.rounds} commands of each in random order. Target: p50 / the "
                f"transaction with BEGIN and COMMIT <= {TARGET_COMMAND}. By hand, rows "
                f"are only written, and lie ready before the clock starts. {VOID}"
            ),
            "",
            table((*head, "client CPU us", "p50 us", "p99 us"), lines),
        ]
    )


def _sizes(place: Place, big: str, plan: Plan) -> str:
    """Measure the same on an empty ledger and on a big one."""
    full = f"{plan.events:,}"
    with ExitStack() as opened:
        contenders: dict[str, Turn] = {}
        for size in ("0", full):
            events, streams = (
                (plan.events, plan.events // 100) if size == full else (0, SESSIONS)
            )
            schema = big if size == full else place.build(SESSIONS, 0)[0]
            by_hand, _ = place.build(streams, events)
            schema_for(place, by_hand)
            sessions = place.spread(by_hand)
            contenders[f"{PIPELINE}, {size}"] = raw(
                place, by_hand, sessions, WAYS[PIPELINE], opened
            )
            ledger = opened.enter_context(open_ledger(place.url(schema)))
            held = place.spread(schema)
            for session in held:
                ledger.owner(session.owner)
            contenders[f"{LEDGER}, {size}"] = turns(ledger, held, with_id=False)
        wall, _ = taken(contenders, plan.rounds, warm=WARM)
    lines = [
        (
            name,
            f"{one.p50 / wall[f'{PIPELINE}, {size}'].p50:.2f}",
            f"{one.p50 / wall[name.replace(f', {size}', ', 0')].p50:.2f}",
            f"{one.p50 * 1e6:.0f}",
            f"{one.p99 * 1e6:.0f}",
        )
        for name, one in wall.items()
        for size in [name.rpartition(", ")[2]]
    ]
    return "\n".join(
        [
            f"## The same with {full} events in the ledger, PostgreSQL",
            "",
            f"Target: p50 / p50 at 0 <= {TARGET_BIG}.",
            "",
            table(
                ("what, events", "p50 / pipeline", "p50 / at 0", "p50 us", "p99 us"),
                lines,
            ),
        ]
    )


def _crowds(place: Place, plan: Plan) -> str:
    """Measure processes that write at the same time."""
    ways = (BARE, EXECUTE, PIPELINE, ONE, LEDGER)
    rng = random.Random(1)  # noqa: S311  the order of turns is no secret
    with ExitStack() as opened:
        crowds = {
            way: opened.enter_context(Processes(place, way, WRITERS)) for way in ways
        }
        rates: dict[str, list[float]] = {way: [] for way in ways}
        took = {way: Figures() for way in ways}
        order = list(ways)
        for _ in range(plan.crowds):
            rng.shuffle(order)
            for way in order:
                ran = crowds[way].run(plan.seconds)
                rates[way].append(ran.rate)
                for seconds in ran.seconds:
                    took[way].add(seconds)
    lines = [
        (
            way,
            *(f"{_ratio(rates[way], rates[other]):.2f}" for other in ways[:-1]),
            f"{median(rates[way]):.0f}",
            f"{took[way].p50 * 1e3:.1f}",
            f"{took[way].p99 * 1e3:.1f}",
        )
        for way in ways
    ]
    return "\n".join(
        [
            f"## {WRITERS} processes together, PostgreSQL",
            "",
            (
                f"{plan.crowds} rounds of {plan.seconds:g} s of each in random order, "
                "medians of the ratios within a round. Nobody locks and nobody "
                f"notifies. Target: rate / event alone >= {TARGET_CROWD}."
            ),
            "",
            table(
                (
                    *("what", "rate / event alone", "/ execute", "/ pipeline"),
                    *("/ one statement", "commands/s", "p50 ms", "p99 ms"),
                ),
                lines,
            ),
        ]
    )


def _ratio(ours: list[float], others: list[float]) -> float:
    return median([one / other for one, other in zip(ours, others, strict=True)])


def _threads(place: Place, plan: Plan) -> str:
    """Measure group commit."""
    raws, rates = threads(place, THREADS, plan.crowds)
    return "\n".join(
        [
            f"## Group commit: {THREADS} threads of one process, PostgreSQL",
            "",
            table(
                ("what", "rate / raw single commits", "commands/s"),
                [
                    (f"{PIPELINE}, one caller", "1.00", f"{median(raws):.0f}"),
                    (
                        f"ledger, {THREADS} threads",
                        f"{_ratio(rates, raws):.2f}",
                        f"{median(rates):.0f}",
                    ),
                ],
            ),
        ]
    )


def _fresh(place: Place, plan: Plan) -> str:
    """Measure verdicts from durable evidence."""
    wall, work = fresh(place, plan.rounds)
    psycopg, libpq, _ = wall
    lines = [
        (
            name,
            f"{one.p50 / wall[psycopg].p50:.2f}",
            f"{one.p50 / wall[libpq].p50:.2f}",
            f"{work[name].p50 * 1e6:.0f}",
            f"{one.p50 * 1e6:.0f}",
            f"{one.p99 * 1e6:.0f}",
        )
        for name, one in wall.items()
    ]
    return "\n".join(
        [
            "## A verdict from durable evidence, PostgreSQL",
            "",
            f"Nobody has committed meanwhile. Target: p50 / psycopg <= {TARGET_FRESH}.",
            "",
            table(
                ("what", "p50 / psycopg", "/ libpq", "CPU us", "p50 us", "p99 us"),
                lines,
            ),
        ]
    )


def _replay(place: Place, big: str, plan: Plan) -> str:
    """Measure reading everything: alone, verified, as event models."""
    found = replayed(place, big, plan.repeats)
    plain = median(next(iter(found.values())))
    lines = [
        (name, f"{median(rates) / plain:.2f}", f"{median(rates):,.0f}")
        for name, rates in found.items()
    ]
    return "\n".join(
        [
            f"## Replay of {plan.events:,} events, PostgreSQL",
            "",
            f"Target: verified >= {TARGET_REPLAY:,} events/s.",
            "",
            table(("what", "rate / rows alone", "events/s"), lines),
        ]
    )


def _followers(place: Place, plan: Plan) -> str:
    """Measure what followers cost and how soon they have handled what is committed."""
    lines = [
        (
            one.name,
            f"{one.looks:.0f}",
            f"{one.server * 100:.2f}",
            f"{one.client * 100:.2f}",
            f"{one.took.p50 * 1e3:.1f}",
            f"{one.took.p99 * 1e3:.1f}",
        )
        for one in followed(place, plan.seconds * 3, max(100, plan.rounds // 6))
    ]
    return "\n".join(
        [
            "## Followers, PostgreSQL",
            "",
            (
                "Idle: nothing is committed. From commit to handled: until the commit "
                "of the follower that has handled the event, seen by whoever wrote it."
            ),
            "",
            table(
                (
                    *("what", "idle: statements/s", "server CPU %", "client CPU %"),
                    *("commit to handled p50 ms", "p99 ms"),
                ),
                lines,
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
