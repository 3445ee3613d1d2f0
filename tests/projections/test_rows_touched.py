"""The rows that a command changes are all that it must change, whatever came before.

A table says which keys an event touches, since looking at every row would cost the more
the longer a stream is. Here that is held against looking at every row.
"""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driving_walk import walk
from event_strategies import events, histories, record, unknowns
from projected import Rows
from tenure import Event, Recorded, Unknown
from tenure_ledger.bodies import body_digest
from tenure_ledger.events import CheckpointSaved
from tenure_ledger.folds.stream import State, evolve
from tenure_ledger.hook import Change
from tenure_projections.live import LiveTables, rows_of
from tenure_projections.tables import TABLES

STREAM = "owner:session:s1"
ALWAYS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

mixed = st.lists(st.one_of(events(), events(), unknowns()), max_size=25)
batches = st.lists(st.integers(1, 4), max_size=20)


BODIES: dict[str, bytes] = {}


def body(_stream: str, digest: str) -> bytes | None:
    """Return the body of a snapshot, as if nothing had been erased."""
    return BODIES.get(digest)


def with_body(one: Recorded) -> Recorded:
    """Return the event with a body for what it saves, as other as its payload is."""
    if not isinstance(one.event, CheckpointSaved):
        return one
    stored = {"payload": {"was": one.event.payload}, "execution_config": None}
    data = json.dumps(stored).encode()
    digest = body_digest(data)
    BODIES[digest] = data
    return one._replace(event=one.event.model_copy(update={"payload": digest}))


def whole(state: State) -> Rows:
    """Return every row of the stream."""
    return {table.spec.name: dict(rows_of(table, state, body)) for table in TABLES}


def check(stream: str, history: list[Recorded], sizes: list[int]) -> None:
    """Hold what each batch changes against all rows after it."""
    state = State(stream)
    rows, waiting = whole(state), [with_body(one) for one in history]
    while waiting:
        size = sizes.pop() if sizes else 1
        before, batch = state, waiting[:size]
        state = reduce(evolve, batch, state)
        del waiting[:size]
        change = Change(before, state, batch)
        for name, key, row in LiveTables().changes([change], body):
            if row is None:
                rows[name].pop(key, None)
            else:
                rows[name][key] = row
        assert rows == whole(state)


@ALWAYS
@given(st.one_of(mixed, histories(25)), batches)
def test_the_touched_rows_are_all_that_change_in_any_history(
    history: list[Event | Unknown], sizes: list[int]
) -> None:
    check(STREAM, record(STREAM, *history), sizes)


@pytest.mark.parametrize("seed", range(40))
def test_the_touched_rows_are_all_that_change_on_a_walk(
    seed: int, tmp_path: Path
) -> None:
    drive = walk(seed, 170, tmp_path)
    random = Random(seed)  # noqa: S311  a choice, not a secret
    for stream, history in drive.recorded.items():
        check(stream, history, [random.randint(1, 4) for _ in history])
