"""Reading: a verdict from durable evidence, and everything again from the beginning."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from itertools import islice

from by_hand_postgres import schema_for
from figures import Figures
from psycopg import pq
from rounds import taken, timed
from written_postgres import Place, connect

from tenure import OwnerRef, open_ledger
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import ListFacts, RequestFacts, judge

__all__ = ["fresh", "replayed"]

_POINT = "SELECT state FROM stored_events WHERE position = $1"
_WARM = 50
"""Rounds until all is prepared."""


def fresh(place: Place, rounds: int) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """Return the times of a fresh verdict and of bare point SELECTs, and their CPU."""
    schema, sessions = place.build(64, 20_000)
    schema_for(place, schema)
    with ExitStack() as opened:
        ledger = opened.enter_context(open_ledger(place.url(schema)))
        owner = OwnerRef("session", sessions[7].owner.owner_id)
        db = opened.enter_context(closing(connect(place.conninfo, schema)))
        other = opened.enter_context(closing(connect(place.conninfo, schema)))
        held = other.pgconn
        held.prepare(b"point", _POINT.encode())
        request = RequestFacts("msg_00000007", True, False, 1, False)  # noqa: FBT003
        nothing = ListFacts(None, None)
        journal = JournalSnapshot.of(ledger.fresh_state(owner))

        def verdict() -> None:
            nonlocal journal
            state = ledger.fresh_state(owner)
            if state is not journal.state:
                journal = JournalSnapshot.of(state)
            judge(journal, request, nothing)

        def point() -> None:
            db.execute(
                "SELECT state FROM stored_events WHERE position = %s",
                (4711,),
                prepare=True,
            ).fetchone()

        def bare() -> None:
            result = held.exec_prepared(b"point", [b"4711"], None, 1)
            if result.status != pq.ExecStatus.TUPLES_OK or not result.get_value(0, 0):
                raise SystemExit("nothing was found")

        contenders = {
            "SELECT of one row, psycopg": timed(point),
            "SELECT of one row, libpq itself": timed(bare),
            "fresh verdict": timed(verdict),
        }
        return taken(contenders, rounds, warm=_WARM)


def replayed(place: Place, schema: str, repeats: int) -> dict[str, list[float]]:
    """Return rates at which all events are read: alone, and verified."""
    found: dict[str, list[float]] = {}

    def note(name: str, count: int, began: float) -> None:
        rate = count / (time.perf_counter() - began)
        found.setdefault(name, []).append(rate)

    for _ in range(repeats):
        with closing(connect(place.conninfo, schema)) as db, db.transaction():
            began, count = time.perf_counter(), 0
            with db.cursor("everything", binary=True) as cursor:
                cursor.itersize = 2000
                cursor.execute("SELECT * FROM stored_events ORDER BY position")
                for _ in cursor:
                    count += 1
            note("rows alone, a cursor of psycopg", count, began)
        with open_ledger(place.url(schema)) as ledger:
            began, worked = time.perf_counter(), time.process_time()
            result = ledger.verify()
            note("verify(): decoded, chain and commands checked", count, began)
            if result.problem is not None or result.head.count != count:
                raise SystemExit(f"the ledger is not sound: {result}")
            rate = count / (time.process_time() - worked)
            found.setdefault("the same, per second of CPU", []).append(rate)
            began = time.perf_counter()
            read = sum(1 for _ in islice(ledger.events(), 100_000))
            note("events(): event models, 100,000 of them", read, began)
    return found
