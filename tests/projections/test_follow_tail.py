"""`follow`: every event above a position, and what comes, until somebody says end."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path
from threading import Event

import pytest

from consumer import Consumer
from lives import Lives
from odd_stores import NumbStore, ledger_on
from tenure import InvalidInput, OwnerRef, StoreUnavailable
from tenure_ledger import tailing
from tenure_ledger.tailing import FIRST_SECONDS, POLL_SECONDS, wait
from waiting import WAIT_SECONDS
from worlds import World


@pytest.fixture
def lived(world: World) -> World:
    """Give a ledger in which every kind of event occurs."""
    Lives(world).life()
    return world


class Pauses(Event):
    """Is never set, and notes how long it is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = list[float]()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait, and note it."""
        assert timeout is not None
        self.seconds.append(timeout)
        return super().wait(timeout)


def test_whoever_waits_looks_soon_at_first_and_seldom_after_a_while(
    lived: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tailing, "LOOK_SECONDS", WAIT_SECONDS)
    pauses = Pauses()
    store = lived.store()
    wait(store, store.pulse(), pauses, lambda: len(pauses.seconds) == 10)
    assert pauses.seconds == sorted(pauses.seconds)
    assert (pauses.seconds[0], pauses.seconds[-1]) == (FIRST_SECONDS, POLL_SECONDS)
    pauses.seconds.clear()
    wait(store, object(), pauses, lambda: False)
    assert pauses.seconds == [FIRST_SECONDS]


def test_what_is_there_comes_first_and_then_what_comes(world: World) -> None:
    lives = Lives(world)
    lives.life()
    stop = Event()
    fifth = list(world.ledger.events())[4].position
    consumer = Consumer(world.ledger.follow(fifth, stop=stop))
    for _ in range(3):
        assert consumer.reaches(world.ledger.head().position)
        events = list(world.ledger.events(fifth))
        assert consumer.positions == [one.position for one in events]
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
    new = [one.position for one in lived.ledger.events(head + 1)]
    assert consumer.reaches(new[-1])
    assert consumer.positions == new
    stop.set()
    assert consumer.ends()


def test_a_stop_ends_it_before_the_next_event(lived: World) -> None:
    stop = Event()
    following = lived.ledger.follow(stop=stop)
    assert next(following).version == 1
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
    assert next(slow).version == 1
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
