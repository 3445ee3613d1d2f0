"""The daemon that is killed at work: `python -m tenure_gate.demo.daemon URL`."""

from __future__ import annotations

import sys

from tenure import open_ledger
from tenure_gate.demo.work import leave_work

__all__: list[str] = []


def _work_until_killed(url: str) -> None:
    with open_ledger(url) as ledger:
        leave_work(ledger)
        sys.stdout.write("all of it is under way\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _work_until_killed(*sys.argv[1:])
