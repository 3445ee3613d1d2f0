"""`tenure recover` and `tenure reap`: settle what a restart or a dead lease left."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tenure_gate.cli.shared import (
    check_there,
    ledger_option,
    one_line,
    owner_name,
)
from tenure_gate.recovery.coordinator import recover_each
from tenure_gate.recovery.reaper import reap
from tenure_gate.recovery.results import (
    Closed,
    Discarded,
    Failed,
    Result,
    Resumed,
    Skipped,
)
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import OwnerRef
from tenure_projections.opening import open_ledger

__all__ = ["main", "reap_main"]

WORD_WIDTH, OWNER_WIDTH = 10, 24
"""Columns of a line: what was done, the owner, why."""
WAITING_MAX = 5
"""Waiting messages that are named in a line; more are counted."""

_CANNOT_TELL = (
    "cannot_tell: whether a process= name of yours is gone, or a process elsewhere, "
    "only your program can say: recover or reap there with "
    "RecoveryEnvironment(holder=...)"
)

_STATUS = (
    "Exit status: 0: every owner was settled, or left alone for the reason in its "
    "line. 1: something broke at an owner; the others were settled. 2: no ledger "
    "there, or it cannot be used; what was printed before was done."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 1 when something broke at an owner."""
    options = _parser().parse_args(argv)
    check_there(options.ledger)
    with open_ledger(options.ledger) as ledger:
        results = recover_each(
            ledger,
            only=options.only,
            dry_run=options.dry_run,
            max_age_seconds=options.max_age,
        )
        if options.dry_run:
            sys.stdout.write("a dry run: what would be done; nothing is written\n")
        counts = _tell(results)
    return int(counts["failed"] > 0)


def reap_main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 1 when something broke at an owner."""
    options = _reap_parser().parse_args(argv)
    check_there(options.ledger)
    with open_ledger(options.ledger) as ledger:
        report = reap(ledger)
    return int(_tell((*report.results, *report.failed))["failed"] > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure recover",
        description="Settle what a restart left: one line for each owner, as soon as "
        "it is settled. Only owners whose process, one of this machine, is gone for "
        "certain are touched. What is resumed is held by this command, which ends: the "
        "next recover of your program resumes it again, one generation higher, and "
        "gets its plan.",
        epilog=_STATUS,
    )
    ledger_option(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done; write nothing"
    )
    parser.add_argument(
        "--max-age",
        type=float,
        metavar="SECONDS",
        help="leave alone what nobody worked on for longer",
    )
    parser.add_argument(
        "--only",
        type=_owner,
        action="append",
        metavar="CLASS:ID",
        help="look at this owner, idle or not; may be given again",
    )
    return parser


def _reap_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure reap",
        description="Close each owner whose lease ran out and whose process, one of "
        "this machine, is gone for certain: one line for each.",
        epilog=_STATUS,
    )
    ledger_option(parser)
    return parser


def _owner(text: str) -> OwnerRef:
    recovery_class, colon, owner_id = text.partition(":")
    if not colon:
        msg = f"an owner is CLASS:ID, for example session:ses_1, not {text!r}"
        raise argparse.ArgumentTypeError(msg)
    try:
        return OwnerRef(recovery_class, owner_id)
    except InvalidInput as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _tell(results: Iterable[Result | Failed]) -> Counter[str]:
    """Print a line for each result and one for all; return how many of each."""
    counts, untold = Counter[str](), False
    for result in results:
        word, why = _word(result), "; ".join(_why(result))
        counts[word] += 1
        untold |= isinstance(result, Skipped) and result.why == "cannot_tell"
        owner = owner_name(result.owner)
        line = f"{word:<{WORD_WIDTH}} {owner:<{OWNER_WIDTH}} {why}"
        sys.stdout.write(f"{one_line(line)}\n")
        sys.stdout.flush()
    said = ", ".join(f"{count} {word}" for word, count in counts.items())
    sys.stdout.write(f"{said or 'nothing is to be done'}\n")
    if untold:
        sys.stdout.write(f"{_CANNOT_TELL}\n")
    return counts


def _word(result: Result | Failed) -> str:
    name = type(result).__name__
    return "due" if name == "SuccessionDue" else name.lower()


def _why(result: Result | Failed) -> Iterator[str]:
    match result:
        case Resumed():
            yield f"generation {result.authority.generation}"
            yield result.plan.mode or "no checkpoint"
            yield "plan: " + ", ".join(type(one).__name__ for one in result.plan.steps)
            if result.restarts > 1:
                yield f"restart {result.restarts} of its term"
        case Closed():
            if result.assertion is not None:
                yield f"{result.assertion}: {result.detail}"
            if result.reasons:
                yield ", ".join(result.reasons)
            yield f"told in {owner_name(result.told)}"
        case Discarded():
            yield f"a leftover checkpoint: {result.why}"
        case Skipped():
            yield f"{result.why}: {result.detail}" if result.detail else result.why
        case Failed():
            yield f"{type(result.error).__name__}: {result.error}"
        case _:
            yield f"begin its next term with {result.call}"
            if result.waiting:
                yield f"waiting for it: {_listed(result.waiting)}"


def _listed(names: Sequence[str]) -> str:
    named = ", ".join(names[:WAITING_MAX])
    more = len(names) - WAITING_MAX
    return f"{named} and {more} more" if more > 0 else named
