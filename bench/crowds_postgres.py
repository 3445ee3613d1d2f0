"""Many writers at once: processes by hand and of the ledger, and threads of one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import deque
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from typing import NamedTuple, Self

from by_hand_postgres import WAYS, Statement, prepared, raw, schema_for
from contenders import turns
from rounds import together
from written import Session
from written_postgres import Place, connect

from tenure import open_ledger

__all__ = ["Processes", "Ran", "threads"]

SESSIONS_EACH = 4
_AHEAD = 400
"""Commands of a process for each second: more than it can write."""


class Ran(NamedTuple):
    """What one round of all processes of a contender came to."""

    rate: float
    """Commands per second, of all together."""
    seconds: list[float]
    """Of each command."""


class Processes:
    """So many processes of one contender, each with its own sessions and connection.

    They wait, using nothing, until they are told for how long to write.
    """

    def __init__(self, place: Place, way: str, count: int) -> None:
        self._place, self._way, self._count = place, way, count

    def __enter__(self) -> Self:
        schema, _ = self._place.build(self._count * SESSIONS_EACH, 0)
        if self._way in WAYS:
            schema_for(self._place, schema)
        self._workers: list[subprocess.Popen[str]] = []
        for number in range(self._count):
            given = json.dumps([self._place.conninfo, schema, self._way, number])
            worker = subprocess.Popen(  # noqa: S603  this file
                [sys.executable, str(Path(__file__).resolve()), given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._workers.append(worker)
        for worker in self._workers:
            self._answer(worker)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.communicate("\n")

    def run(self, seconds: float) -> Ran:
        """Have all of them write for so long, what lies ready first."""
        self._ask(f"prepare {int(seconds * _AHEAD)}")
        took = self._ask(str(seconds))
        return Ran(len(took) / seconds, took)

    def _ask(self, what: str) -> list[float]:
        for worker in self._workers:
            assert worker.stdin is not None  # noqa: S101  it is a pipe
            worker.stdin.write(f"{what}\n")
            worker.stdin.flush()
        return [one for worker in self._workers for one in self._answer(worker)]

    def _answer(self, worker: subprocess.Popen[str]) -> list[float]:
        assert worker.stdout is not None  # noqa: S101  it is a pipe
        line = worker.stdout.readline()
        if not line:
            raise SystemExit(f"a process of {self._way} has ended")
        found: list[float] = json.loads(line)
        return found


def threads(place: Place, count: int, rounds: int) -> tuple[list[float], list[float]]:
    """Return rates of raw single commits, and of as many threads of one ledger."""
    raws: list[float] = []
    rates: list[float] = []
    with ExitStack() as opened:
        schema, sessions = place.build(count, 0)
        schema_for(place, schema)
        db = opened.enter_context(closing(connect(place.conninfo, schema)))
        write = WAYS["psycopg's pipeline, one sync"](db)
        turn = cycle(sessions)
        schema, sessions = place.build(count, 0)
        ledger = opened.enter_context(open_ledger(place.url(schema)))
        for session in sessions:
            ledger.owner(session.owner)
        each = [turns(ledger, [session], with_id=False) for session in sessions]
        for _ in range(rounds):
            rows = [prepared(next(turn)) for _ in range(300)]
            began = time.perf_counter()
            for statements in rows:
                write(statements)
            raws.append(len(rows) / (time.perf_counter() - began))
            rates.append(together(each, 30))
    return raws, rates


def _work(conninfo: str, schema: str, way: str, number: int) -> None:
    """Be one of the processes."""
    place = Place(conninfo)
    sessions: list[Session] = []
    for nth in range(SESSIONS_EACH):
        session = Session(number * SESSIONS_EACH + nth)
        list(session.claim())
        sessions.append(session)
    ahead: deque[list[Statement]] = deque()
    next_session = cycle(sessions)
    with ExitStack() as opened:
        if way in WAYS:
            turn = raw(place, schema, sessions, WAYS[way], opened, ahead)
        else:
            ledger = opened.enter_context(open_ledger(place.url(schema)))
            turn = turns(ledger, sessions, with_id=False)
        for _ in range(3 * 8 * SESSIONS_EACH):
            turn()
        print("[]", flush=True)
        for line in sys.stdin:
            if not line.strip():
                return
            took: list[float] = []
            if line.startswith("prepare "):
                # So many that they last: what lies ready costs nothing in the round.
                wanted = int(line.split()[1]) - len(ahead) if way in WAYS else 0
                ahead.extend(prepared(next(next_session)) for _ in range(wanted))
            else:
                until = time.perf_counter() + float(line)
                while time.perf_counter() < until:
                    took.append(turn().wall)
            print(json.dumps(took), flush=True)


if __name__ == "__main__":
    _work(*json.loads(sys.argv[1]))
