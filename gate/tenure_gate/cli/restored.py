"""`tenure restored`: make a restored backup the ledger."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tenure_gate.cli.shared import (
    check_there,
    ledger_option,
    one_line,
    owner_name,
)
from tenure_ledger.process import NOBODY
from tenure_projections.opening import open_ledger

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 1 when nothing could be decided on an owner."""
    options = _parser().parse_args(argv)
    check_there(options.ledger)
    with open_ledger(options.ledger, process=NOBODY) as ledger:
        done = ledger.restored(options.author, above=options.above)
    sys.stdout.write(f"no generation up to {done.floor} is given out again\n")
    sys.stdout.write(f"{len(done.restarted)} holdings of the backup ended\n")
    for owner, refusal in done.left:
        why = f"{type(refusal).__name__}: {refusal}"
        sys.stdout.write(f"{one_line(f'left {owner_name(owner)}: {why}')}\n")
    see = "tenure recover --dry-run --ledger URL"
    sys.stdout.write(f"next: start your program, or see: {see}\n")
    return int(bool(done.left))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure restored",
        description="Make a restored backup the ledger, before anything else writes "
        "to it. What the backup lacks may have given out generations that agents and "
        "tools still know: from now on every generation is above a floor, which is "
        "above them all. What was held in the backup ends; `recover` decides what "
        "becomes of its work. Killed in between, run it again.",
        epilog="Exit status: 0: done. 1: done, but for the owners that are listed. 2: "
        "no ledger there, or it cannot be used.",
    )
    ledger_option(parser)
    parser.add_argument(
        "--above",
        type=int,
        metavar="GENERATION",
        help="the floor (default: the time now in microseconds, which is above what "
        "anybody can have been given, if the clock is right)",
    )
    parser.add_argument(
        "--author",
        default="tenure restored",
        metavar="NAME",
        help="who did it, for the record (default: %(default)s)",
    )
    return parser
