"""Any history leaves the same behind in memory, in SQLite and in PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import closing
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schemas
from stored import OWNERS, AnyStore, command, event, owner
from table_rows import table_rows
from tenure_ledger.rows import BodyRow, Conflict, EventRow, RowChange
from tenure_ledger.stores import MemoryStore, SQLiteStore
from tenure_ledger.stores.postgres import PostgresStore

STREAMS = st.sampled_from(["a", "b"])
DIGESTS = st.sampled_from(["d1", "d2"])
BODIES = st.builds(
    BodyRow, DIGESTS, STREAMS, st.binary(max_size=2), st.sampled_from([None, "key"])
)
PUTS = st.builds(owner, STREAMS, st.none(), st.integers(-3, 3))
DELETES = st.builds(
    RowChange, st.just("owners"), st.tuples(st.just("session"), STREAMS), st.none()
)


class Addition(NamedTuple):
    """One command's rows."""

    versions: list[tuple[str, int]]
    command_id: tuple[str, str] | None
    bodies: list[BodyRow]
    changes: list[RowChange]
    erase: list[str]


class UnitOfWork(NamedTuple):
    """What one unit adds, and whether it commits."""

    additions: list[Addition]
    commits: bool


ADDITIONS = st.builds(
    Addition,
    st.lists(st.tuples(STREAMS, st.integers(1, 6)), max_size=3),
    st.none() | st.tuples(STREAMS, st.sampled_from(["c1", "c2", "c3"])),
    st.lists(BODIES, max_size=2),
    st.lists(PUTS | DELETES, max_size=3),
    st.lists(STREAMS, max_size=1),
)
HISTORIES = st.lists(
    st.builds(UnitOfWork, st.lists(ADDITIONS, max_size=3), st.booleans()), max_size=6
)


LEFT = 4
"""So many of what `run` returns were seen after the unit."""


def plain(rows: Iterable[EventRow]) -> list[EventRow]:
    """Return the rows without their positions, between which there may be holes."""
    return [row._replace(position=0) for row in rows]


def run(store: AnyStore, work: UnitOfWork) -> list[object]:
    """Return all that can be seen while the unit runs and after it."""
    seen: list[object] = []
    try:
        with store.write(10.0) as unit:
            for added in work.additions:
                rows = [event(stream, version) for stream, version in added.versions]
                asked = None if added.command_id is None else command(*added.command_id)
                positions = unit.add(
                    rows, asked, added.bodies, added.changes, added.erase
                )
                given = list(positions)
                assert given == sorted(given)
                seen += [len(given), plain(unit.tail("a", 2)), unit.body("a", "d1")]
                seen.append(unit.command("a", "c1"))
            if work.commits:
                unit.commit()
    except Conflict:
        seen.append("conflict")
    bodies = [store.body(stream, digest) for stream in "ab" for digest in ("d1", "d2")]
    seen += [
        bodies,
        table_rows(store, "owners"),
        plain(store.events(0)),
        plain(store.tail("b", 2)),
    ]
    return seen


@settings(max_examples=30)  # each makes a file
@given(HISTORIES)
def test_any_history_leaves_the_same_behind(history: list[UnitOfWork]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(
            SQLiteStore(f"{folder}/relay.db", durability="normal", tables=[OWNERS])
        ) as durable,
        closing(MemoryStore(tables=[OWNERS])) as twin,
    ):
        for work in history:
            assert run(twin, work) == run(durable, work)


@pytest.mark.parametrize("kind", ["postgres"])
@settings(max_examples=40)
@given(history=HISTORIES)
def test_any_history_leaves_the_same_behind_on_a_server(
    kind: str, history: list[UnitOfWork]
) -> None:
    assert kind == "postgres"
    url = schemas.lend([OWNERS])
    with (
        closing(PostgresStore(url, tables=[OWNERS])) as durable,
        closing(MemoryStore(tables=[OWNERS])) as twin,
    ):
        for work in map(by_content, history):
            here, there = run(twin, work), run(durable, work)
            if not work.commits or "conflict" in here:
                # What does not fit is said there at the commit, which may never come.
                left = LEFT + work.commits
                here, there = here[-left:], there[-left:]
            assert here == there
    schemas.give_back(url)


def by_content(work: UnitOfWork) -> UnitOfWork:
    """Let a digest stand for one body, as it does: then nobody need ask whose it is."""
    return work._replace(
        additions=[
            one._replace(
                bodies=[body._replace(body=body.digest.encode()) for body in one.bodies]
            )
            for one in work.additions
        ]
    )
