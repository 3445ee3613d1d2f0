"""The table of a run, and what in it must not be."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from checking import LATE_SECONDS, Found, Told, told
from failing_over import Round
from telling import Said, all_said

__all__ = ["IMPATIENT", "faults", "show"]

IMPATIENT = ("w3", "w4")
"""Who waits for a few seconds only."""

_COLUMNS = (
    "failover",
    "new leader after",
    "first acknowledged after",
    "acknowledged",
    "held up",
    "stored long before the answer",
    "in doubt for the caller",
    "of these: answered, given up (there)",
    "refused",
    "not written",
    "lost",
    "doubled",
    "from an ended holding",
    "verdicts",
    "verdicts that failed",
)


class _Window(NamedTuple):
    """From one failover to the next."""

    begin: float
    end: float

    def has(self, one: Said) -> bool:
        return self.begin <= one.at < self.end


def faults(nodes: dict[str, Found], rounds: list[Round], folder: Path) -> list[str]:
    """Return all that must not be, in words."""
    lines = all_said(folder)
    seen = [one for one in lines if one.word == "wrong"]
    wrong = [f"{one.who}: {one.what}" for one in seen[:3]]
    if len(seen) > len(wrong):
        wrong.append(f"and {len(seen) - len(wrong)} more of these")
    for name, node in nodes.items():
        for what in (
            "lost",
            "doubled",
            "moved",
            "refused_but_there",
            "ended_but_there",
            "unknown",
            "broken",
        ):
            found: list[str] = getattr(node, what)
            if found:
                wrong.append(f"{name}: {what}: {len(found)}: {found[:5]}")
    if len({node.head for node in nodes.values()}) != 1:
        heads = {name: node.head for name, node in nodes.items()}
        wrong.append(f"the nodes have different ledgers: {heads}")
    wrong += [
        "frozen: two servers never wrote at once"
        for one in rounds
        if one.failure == "frozen" and not one.two_wrote
    ]
    if not told(lines).ended:
        wrong.append("nobody tried to act in a term that had ended")
    return wrong


def show(
    rounds: list[Round],
    nodes: dict[str, Found],
    folder: Path,
    say: Callable[[str], None],
) -> None:
    """Say what happened in each failover, and what each node has."""
    lines = all_said(folder)
    known = told(lines)
    rows = [_row(one, window, known, nodes, lines) for one, window in _windows(rounds)]
    say("| " + " | ".join(_COLUMNS) + " |")
    say("| " + " | ".join("---" for _ in _COLUMNS) + " |")
    for row in rows:
        say("| " + " | ".join(row) + " |")
    for name, node in nodes.items():
        say(
            f"{name}: {node.events} events of {node.commands} commands; lost "
            f"{len(node.lost)}, doubled {len(node.doubled)}, from an ended holding "
            f"{len(node.ended_but_there)}; invariants, chain and tables: "
            f"{'; '.join(node.broken) or 'hold'}"
        )
    say(
        f"acknowledged {len(known.acknowledged)}, refused or not written "
        f"{len(known.refused)}, tries in an ended term {len(known.ended)}, in doubt "
        f"{len(known.doubtful)}"
    )
    for name, one in known.refused.items():
        if one.word == "failed" and one.who not in IMPATIENT:
            sent = known.sent[name]
            of = next((r for r, window in _windows(rounds) if window.has(sent)), None)
            since = f"{of.failure} {sent.at - of.struck:.1f} s before" if of else "load"
            say(
                f"not written for one who waits as long as is usual: {sent.what}, "
                f"{one.what} after {one.at - sent.at:.1f} s ({since})"
            )
    what = Counter(one.what for one in lines if one.word == "looked")
    say("verdicts: " + ", ".join(f"{name} {count}" for name, count in what.items()))


def _windows(rounds: list[Round]) -> list[tuple[Round, _Window]]:
    ends = [one.struck for one in rounds[1:]] + [float("inf")]
    return [
        (one, _Window(one.struck, end)) for one, end in zip(rounds, ends, strict=True)
    ]


def _row(
    one: Round,
    window: _Window,
    known: Told,
    nodes: dict[str, Found],
    lines: list[Said],
) -> list[str]:
    some = next(iter(nodes.values()))
    sent = {name for name, said in known.sent.items() if window.has(said)}
    acknowledged = {n for n, said in known.acknowledged.items() if window.has(said)}
    held_up = known.held_up() & (sent | acknowledged)
    doubtful = {n for n, said in known.doubtful.items() if window.has(said)}
    given_up = doubtful & known.given_up.keys()
    there = given_up & set(some.given_up_and_there)
    failed = [s for s in known.refused.values() if s.word == "failed"]
    answers = [s for s in known.refused.values() if s.word == "refused"]
    looks = [s.what for s in lines if s.word == "looked" and window.has(s)]
    earlier = {
        name
        for name in held_up & known.acknowledged.keys()
        if name in some.decided_at
        and _wall(known.acknowledged[name].at) - some.decided_at[name] > LATE_SECONDS
    }

    def bad(what: str) -> str:
        names = {name for node in nodes.values() for name in getattr(node, what)}
        return str(len(names & (sent | acknowledged)))

    return [
        one.failure,
        f"{one.led - one.struck:.1f} s",
        f"{one.first - one.struck:.1f} s",
        str(len(acknowledged)),
        str(len(held_up)),
        str(len(earlier)),
        str(len(doubtful)),
        f"{len(doubtful - given_up)}, {len(given_up)} ({len(there)})",
        str(_count(answers, window)),
        str(_count(failed, window)),
        bad("lost"),
        bad("doubled"),
        bad("ended_but_there"),
        str(len(looks)),
        str(sum(what.startswith("fault") for what in looks)),
    ]


def _count(said: list[Said], window: _Window) -> int:
    return sum(window.has(one) for one in said)


def _wall(at: float) -> float:
    """Return a time of the monotonic clock in seconds since 1970."""
    return at - time.monotonic() + time.time()
