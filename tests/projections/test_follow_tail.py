"""`follow`: every event above a position, and what comes, until somebody says end."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import closing
from itertools import islice
from pathlib import Path
from threading import Event, Thread

import pytest

from following import Saw, forgot_nothing
from lives import Lives
from odd_stores import LaggingStore, NumbStore, ledger_on
from stored import append, event
from tenure import InvalidInput, Ledger, OwnerRef, Recorded, StoreUnavailable
from tenure_ledger.rows import Store
from tenure_ledger.tailing import settled
from worlds import World

WAIT_SECONDS = 60.0


class Consumer:
    """Takes what a generator gives, in a thread, and says how far it is."""

    def __init__(self, following: Generator[Recorded]) -> None:
        self.positions: list[int] = []
        self.problem: Exception | None = None
        self._grown = Event()
        self._following = following
        self.thread = Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            for recorded in self._following:
                self.positions.append(recorded.position)
                self._grown.set()
        except Exception as problem:  # noqa: BLE001  the test looks at it
            self.problem = problem

    def reaches(self, position: int) -> bool:
        """Wait until it has an event."""
        while position not in self.positions:
            if not self._grown.wait(WAIT_SECONDS):
                return False
            self._grown.clear()
        return True

    def ends(self) -> bool:
        """Wait until it is at its end, and nothing was raised."""
        self.thread.join(WAIT_SECONDS)
        return self.problem is None and not self.thread.is_alive()


@pytest.fixture
def lived(world: World) -> World:
    """Give a ledger in which every kind of event occurs."""
    Lives(world).life()
    return world


def test_what_is_there_comes_first_and_then_what_comes(world: World) -> None:
    lives = Lives(world)
    lives.life()
    stop = Event()
    consumer = Consumer(world.ledger.follow(5, stop=stop))
    for _ in range(3):
        head = world.ledger.head().position
        assert consumer.reaches(head)
        assert consumer.positions == list(range(6, head + 1))
        lives.life()
    stop.set()
    assert consumer.ends()


def test_it_gives_what_events_gives(lived: World) -> None:
    count = lived.ledger.head().count
    with closing(lived.ledger.follow()) as following:
        assert list(islice(following, count)) == list(lived.ledger.events())


def test_a_position_that_is_not_there_yet_is_waited_for(lived: World) -> None:
    head, stop = lived.ledger.head().position, Event()
    consumer = Consumer(lived.ledger.follow(head + 1, stop=stop))
    lived.ledger.claim(OwnerRef("session", "new"), "new", "host")
    assert consumer.reaches(head + 2)
    assert consumer.positions == [head + 2]
    stop.set()
    assert consumer.ends()


def test_a_stop_ends_it_before_the_next_event(lived: World) -> None:
    stop = Event()
    following = lived.ledger.follow(stop=stop)
    assert next(following).position == 1
    stop.set()
    assert list(following) == []
    assert list(lived.ledger.follow(stop=stop)) == []


def test_a_closed_ledger_ends_it_where_it_waits_and_where_it_does_not(
    lived: World,
) -> None:
    ledger = lived.open("p2")
    consumer = Consumer(ledger.follow())
    assert consumer.reaches(ledger.head().position)
    slow = ledger.follow()
    assert next(slow).position == 1
    ledger.close()
    assert consumer.ends()
    assert list(slow) == []


def test_a_closed_iterator_is_at_its_end(lived: World) -> None:
    following = lived.ledger.follow()
    next(following)
    following.close()
    assert list(following) == []


def test_a_store_that_fails_says_so(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    Lives(world).life()
    consumer = Consumer(world.ledger.follow())
    assert consumer.reaches(world.ledger.head().position)
    (tmp_path / "relay.db").rename(tmp_path / "moved.db")
    consumer.thread.join(WAIT_SECONDS)
    assert isinstance(consumer.problem, StoreUnavailable)
    world.close()


def test_nothing_is_held_while_the_consumer_works(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    Lives(world).life()
    following = world.ledger.follow()
    next(following)
    # A connection that is lent would make the child's ledger refuse.
    child = os.fork()
    if not child:
        ended = 1
        try:
            ended = int(world.ledger.head().count < 1)
        finally:
            os._exit(ended)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    world.ledger.claim(OwnerRef("session", "new"), "new", "host")
    assert [one.position for one in islice(following, 3)] == [2, 3, 4]
    world.close()


@pytest.mark.parametrize("wrong", [-1, "1", True, None])
def test_a_position_is_a_whole_number(world: World, wrong: int) -> None:
    with pytest.raises(InvalidInput, match="after"):
        world.ledger.follow(wrong)


def test_a_stop_is_an_event_of_threading(world: World) -> None:
    wrong: Callable[[], bool] = bool
    with pytest.raises(InvalidInput, match=r"stop must be a threading\.Event"):
        world.ledger.follow(stop=wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_nothing_is_lost_where_nobody_is_ever_woken(tmp_path: Path) -> None:
    with closing(NumbStore(tmp_path / "relay.db")) as store:
        stop = Event()
        consumer = Consumer(ledger_on(store).follow(stop=stop))
        for number, agent in enumerate(("one", "two")):
            ledger_on(store).claim(OwnerRef("session", agent), agent, "host")
            assert consumer.reaches(2 * number + 2)
        assert consumer.positions == [1, 2, 3, 4]
        stop.set()
        assert consumer.ends()


# S23: a hole that fills in later.


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
    assert [one.position for one in ledger.events()][-1] == 11
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
    ledger.close()
    assert consumer.ends()


def test_s23_a_store_with_one_writer_at_a_time_is_settled_up_to_its_head(
    lived: World,
) -> None:
    store = lived.store()
    assert store.horizon() == store.head_position() == lived.ledger.head().position
    assert positions(store) == [one.position for one in lived.ledger.events()]
