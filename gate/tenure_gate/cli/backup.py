"""`tenure backup`: copy a SQLite ledger that is in use."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing

from tenure_gate.cli.shared import check_there, ledger_option
from tenure_ledger.errors import InvalidInput
from tenure_ledger.stores import SQLiteStore, open_store
from tenure_projections.opening import open_ledger

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0; print the head of the copy, to be kept elsewhere."""
    options = _parser().parse_args(argv)
    check_there(options.ledger)
    with closing(open_store(options.ledger)) as store:
        if not isinstance(store, SQLiteStore):
            msg = (
                "only a file is copied so: of a server's ledger, pg_dump makes backups"
            )
            raise InvalidInput(msg)
        made = store.back_up(options.file)
    with open_ledger(made) as copy:
        found = copy.verify()
    if found.problem is not None:
        sys.stdout.write(f"{found.problem.text}\n")
        return 1
    sys.stdout.write(f"{found.head.to_json()}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tenure backup",
        description="Copy a SQLite ledger into one new file, while others write; "
        "verify the copy, and print its head. The copy can be read at once. To let it "
        "be the ledger, put it in place and run `tenure restored`: before that nothing "
        "writes to it.",
        epilog="Exit status: 0: done. 1: what was copied does not verify: do not rely "
        "on it. 2: no ledger there, or it cannot be copied.",
    )
    parser.add_argument("file", metavar="FILE", help="the copy; it must not be there")
    ledger_option(parser)
    return parser
