"""`tenure rebuild`: prove the tables by the events, or put them right."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from time import monotonic

from tenure_gate.cli.shared import check_there, ledger_option
from tenure_ledger.rows import Column
from tenure_projections.differences import Difference
from tenure_projections.opening import open_ledger
from tenure_projections.rebuild import Rebuilt

__all__ = ["main"]

SHOWN_MAX = 60
"""Characters of a value; more would hide the rest of the line."""
SECONDS_BETWEEN_TELLINGS = 1.0


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 1 when ``--check`` found a row that differs."""
    options = _parser().parse_args(argv)
    check_there(options.ledger)
    with open_ledger(options.ledger) as ledger:
        found = ledger.rebuild(options.table, check=options.check, progress=_Progress())
    for one in found:
        for line in _lines(one, checked=options.check):
            sys.stdout.write(f"{line}\n")
    return int(options.check and any(one.differing for one in found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure rebuild",
        description="Make the tables anew from the events, compare them row by row "
        "with those that are stored, and put right what differs. Writers go on "
        "meanwhile; no event is written.",
    )
    parser.add_argument("table", nargs="?", help="one table (default: every table)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare only: write nothing, and exit with 1 if a row differs",
    )
    ledger_option(parser)
    return parser


class _Progress:
    """Says on the error stream, once a second, how many events are folded."""

    def __init__(self) -> None:
        self._said_at = monotonic()
        self._open = False

    def __call__(self, events: int, count: int) -> None:
        now, done = monotonic(), events == count
        if not done and now - self._said_at < SECONDS_BETWEEN_TELLINGS:
            return
        self._said_at = now
        again = sys.stderr.isatty()
        end = "\n" if done or not again else ""
        start = "\r" if again else ""
        sys.stderr.write(f"{start}folded {events} of {count} events{end}")
        sys.stderr.flush()


def _lines(one: Rebuilt, *, checked: bool) -> Iterator[str]:
    made = f"{one.table}: {_count(one.rows, 'row')} from {_count(one.events, 'event')}"
    if not one.differing:
        yield f"{made}, no difference"
        return
    did = "to put right" if checked else "put right"
    yield f"{made}, {_count(one.differing, 'row')} {did}"
    for difference in one.differences:
        yield f"  {' '.join(map(_plain, difference.key))}: {_said(difference)}"
    if one.differing > len(one.differences):
        yield f"  and {one.differing - len(one.differences)} more"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _said(difference: Difference) -> str:
    stored, right = difference.before, difference.after
    if stored is None:
        return "missing"
    if right is None:
        return "no event makes this row"
    return ", ".join(
        "{} {} instead of {}".format(column, *_shown(value, right[column]))
        for column, value in stored.items()
        if value != right[column]
    )


def _shown(stored: Column, right: Column) -> tuple[str, str]:
    """Return both values; of long texts, the part where they begin to differ."""
    if not isinstance(stored, str) or not isinstance(right, str):
        return _value(stored), _value(right)
    if max(len(stored), len(right)) <= SHOWN_MAX:
        return repr(stored), repr(right)
    pairs = enumerate(zip(stored, right, strict=False))
    shorter = min(len(stored), len(right))
    first = next((at for at, (one, two) in pairs if one != two), shorter)
    start = max(0, first - SHOWN_MAX // 3)
    return _part(stored, start), _part(right, start)


def _value(value: Column) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return _part(value, 0)
    return repr(value) if not isinstance(value, bytes) else _count(len(value), "byte")


def _part(text: str, start: int) -> str:
    end = start + SHOWN_MAX
    shown = repr(text[start:end])
    return f"{'...' if start else ''}{shown}{'...' if end < len(text) else ''}"


def _plain(value: Column) -> str:
    # What would move the cursor of a terminal is shown as what it is.
    text = str(value)
    return text if text.isprintable() else repr(text)
