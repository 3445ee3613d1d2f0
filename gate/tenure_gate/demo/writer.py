"""The process that is killed: `python -m tenure_gate.demo.writer URL AUTHORITY`."""

from __future__ import annotations

import sys
from itertools import count

from tenure import Authority, open_ledger
from tenure_gate.demo.crash import SESSION

__all__: list[str] = []


def _accept_until_killed(url: str, authority: str) -> None:
    with open_ledger(url) as ledger:
        held = ledger.advance(Authority.from_json(authority), "migration")
        ledger.start(held, "msg_3")
        for number in count(1):
            name = f"mail_{number}"
            version = ledger.accept(SESSION, name, "inbox", human=True)
            sys.stdout.write(f"{name} {version}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    _accept_until_killed(*sys.argv[1:])
