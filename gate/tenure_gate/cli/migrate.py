"""`tenure migrate`: make the tables of a ledger, say that they lack, or how to."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing

from tenure_gate.cli.shared import ledger_option
from tenure_ledger.opening import open_shell
from tenure_projections.live import LiveTables

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 1 when ``--check`` found that something is to be made."""
    options = _parser().parse_args(argv)
    with closing(open_shell(options.ledger, tables=LiveTables())) as shell:
        script = shell.store.missing()
        if options.print_sql:
            grants = shell.store.grants()
            sys.stdout.write(script or "-- nothing is missing\n")
            sys.stdout.write(grants and f"\n{grants}")
            return 0
        if not script:
            sys.stdout.write("the tables are there, and of this version\n")
            return 0
        if options.check:
            sys.stdout.write("tables are missing, or of an older version\n")
            return 1
        shell.store.setup()
        sys.stdout.write("made what was missing\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure migrate",
        description="Make the ledger's tables, or bring them to this version: all in "
        "one transaction, and nothing where nothing is missing. Run it before programs "
        "of a new version start.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--check",
        action="store_true",
        help="make nothing, and exit with 1 if something is missing",
    )
    what.add_argument(
        "--print-sql",
        action="store_true",
        help="make nothing, and print what would be run, for whoever may run it, and "
        "what other roles need",
    )
    ledger_option(parser)
    return parser
