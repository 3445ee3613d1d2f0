"""S23: a hole in the positions that fills in later, and who reads meanwhile.

What the gate answers then is `test_scenario_s23_gate`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from consumer import Consumer
from following import Saw, forgot_nothing
from lives import Lives
from odd_stores import LaggingStore, ledger_on
from processes import other
from stored import append, event
from tenure import Ledger, OwnerRef
from tenure_ledger.rows import Store
from tenure_ledger.tailing import settled
from worlds import World


@pytest.fixture
def holed(tmp_path: Path) -> Generator[tuple[LaggingStore, Ledger]]:
    """Give a store in which position 11 is committed and 10 may still be."""
    with closing(LaggingStore(tmp_path / "relay.db")) as store:
        append(store, *(event("a", version) for version in range(1, 10)))
        insert_at(store, 11, "b")
        store.safe = 9
        yield store, ledger_on(store)


def insert_at(store: LaggingStore, position: int, stream: str) -> None:
    """Commit an event at a position, as a database with several writers can."""
    row = event(stream, 1)
    with store.write(10.0) as unit:
        db = unit._open()  # pyright: ignore[reportPrivateUsage]
        db.execute(
            "INSERT INTO stored_events VALUES (?, ?, ?, ?, ?, ?)", (position, *row[1:])
        )
        unit.commit()


def positions(store: Store, after: int = 0) -> list[int]:
    """Return what is settled above a position."""
    return [row.position for row in settled(store, after)]


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "rolled back"])
def test_s23_eleven_is_not_seen_before_ten_is_known(
    holed: tuple[LaggingStore, Ledger], *, committed: bool
) -> None:
    store, ledger = holed
    follower = ledger.follower(Saw())
    consumer = Consumer(ledger.follow())
    follower.catch_up()
    assert consumer.reaches(9)
    assert (positions(store), follower.position) == (list(range(1, 10)), 9)
    assert [row.position for row in store.events(0)][-1] == 11
    assert [one.position for one in ledger.events()][-1] == 9
    kept = ledger.head()
    assert kept.position == 9
    if committed:
        insert_at(store, 10, "cut")
    assert follower.catch_up() == 0
    store.safe = 11
    late = [10, 11] if committed else [11]
    assert follower.catch_up() == len(late)
    assert follower.position == 11
    assert consumer.reaches(11)
    assert consumer.positions == [*range(1, 10), *late]
    assert forgot_nothing(ledger) == 9 + len(late)
    assert [one.position for one in ledger.events(9)] == late
    assert ledger.head(since=kept) == ledger.head()
    ledger.close()
    assert consumer.ends()


def test_s23_a_store_with_one_writer_at_a_time_is_settled_up_to_its_head(
    world: World,
) -> None:
    Lives(world).life()
    store = world.store()
    assert store.horizon() == store.head_position() == world.ledger.head().position
    assert positions(store) == [one.position for one in world.ledger.events()]


def test_s23_what_another_process_has_not_committed_is_not_there_and_not_passed(
    tmp_path: Path,
) -> None:
    # On one file positions are given and shown by one writer at a time.
    world = World("sqlite", tmp_path)
    session = OwnerRef("session", "ses_1")
    world.ledger.claim(session, "manager/1", "host")
    follower = world.ledger.follower(Saw())
    follower.catch_up()
    script = """
        with store.write(10.0) as unit:
            (at,) = unit.add([event("elsewhere", 1)], None)
            say(at)
            if hear().strip() == "commit":
                unit.commit()
        say("ended")
        hear()
    """
    for word, grown in (("undo", 0), ("commit", 1)):
        with other(script, tmp_path / "relay.db") as writer:
            at = int(writer.hear())
            before = follower.position
            assert at == before + 1
            assert world.store().horizon() == before
            assert follower.run_once() == 0
            writer.say(word)
            assert writer.hear() == "ended"
            assert follower.catch_up() == grown
            assert follower.position == before + grown
    # What was undone has left no hole: its position was given again.
    assert forgot_nothing(world.ledger) == world.ledger.head().count
    world.close()
