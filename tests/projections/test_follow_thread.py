"""A follower's thread: it keeps up, ends when it is told to, and hides no error."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from following import Counts, Saw, forgot_nothing, kept, started
from lives import Lives
from odd_stores import NumbStore, ledger_on
from processes import other
from tenure import (
    Contended,
    InvalidInput,
    ModelRows,
    OwnerRef,
    Recorded,
    open_ledger,
)
from waiting import WAIT_SECONDS, until
from worlds import World

SESSION = OwnerRef("session", "ses_1")


class Blocking(Counts):
    """Waits in the event that it ``rejects``, until it is told to go on."""

    def __init__(self, at: Callable[[Recorded], object]) -> None:
        super().__init__()
        self.at = at
        self.entered, self.go_on, self.left = Event(), Event(), Event()

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Wait there."""
        super().handle(recorded, rows)
        if self.at(recorded):
            self.entered.set()
            assert self.go_on.wait(WAIT_SECONDS)
            self.left.set()


class StopNowError(BaseException):
    """No `Exception`: it is not the event's."""


class Stopping(Counts):
    """Ends at the event that it ``rejects``."""

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Count, and end there."""
        self.handed.append(recorded.position)
        if self.rejects(recorded):
            raise StopNowError(recorded.position)
        rows.put("counts", stream=recorded.stream, n=1, last=recorded.position)


@pytest.fixture
def begun(world: World) -> World:
    """Give a ledger with a message that is started."""
    held = world.ledger.claim(SESSION, "manager/1", "host")
    world.ledger.admit(held, "m1", "human")
    world.ledger.start(held, "m1")
    return world


def test_the_thread_handles_what_is_there_and_what_comes(world: World) -> None:
    lives = Lives(world)
    lives.life()
    with world.ledger.follower(Saw()) as follower:
        assert follower.running
        until(lambda: follower.position == world.ledger.head().position)
        lives.life()
        until(lambda: follower.position == world.ledger.head().position)
    assert not follower.running
    assert forgot_nothing(world.ledger) == world.ledger.head().count


def test_two_threads_and_a_caller_share_one_name(world: World) -> None:
    lives = Lives(world)
    one, two = (world.open(p).follower(Saw(), events_max=9) for p in ("p2", "p3"))
    with one, two:
        for _ in range(3):
            lives.life()
            world.ledger.follower(Saw()).catch_up()
            # The caller sees its own last write.
            forgot_nothing(world.ledger)
    assert forgot_nothing(world.ledger) == world.ledger.head().count


def test_nothing_is_lost_where_nobody_is_ever_woken(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    with closing(NumbStore(tmp_path / "relay.db")) as store:
        follower = ledger_on(store).follower(Saw())
        with follower:
            until(lambda: follower.position == world.ledger.head().position)
            Lives(world).life()
            until(lambda: follower.position == world.ledger.head().position)
    assert forgot_nothing(world.ledger) == world.ledger.head().count > 50
    world.close()


def test_a_model_that_another_reset_is_made_anew_by_the_thread(begun: World) -> None:
    with begun.ledger.follower(Saw()) as follower:
        until(lambda: follower.position == begun.ledger.head().position)
        begun.open("p2").follower(Saw()).reset()
        until(lambda: follower.position == begun.ledger.head().position)
    forgot_nothing(begun.ledger)


def test_close_commits_what_was_handled_and_no_more(begun: World) -> None:
    model = Blocking(started("m1"))
    follower = begun.ledger.follower(model).start()
    assert model.entered.wait(WAIT_SECONDS)
    later = begun.ledger.head().position
    closing_thread = Thread(target=follower.close)
    closing_thread.start()
    until(follower._stop.is_set)  # pyright: ignore[reportPrivateUsage]
    model.go_on.set()
    closing_thread.join(WAIT_SECONDS)
    assert not follower.running
    assert follower.position == later


def test_close_comes_back_in_time_while_handle_blocks_and_its_batch_is_undone(
    begun: World,
) -> None:
    model = Blocking(started("m1"))
    follower = begun.ledger.follower(model).start()
    assert model.entered.wait(WAIT_SECONDS)
    with pytest.raises(TimeoutError, match=r"has not returned in 0\.05 seconds"):
        follower.close(0.05)
    assert not model.left.is_set()
    assert follower.running
    with pytest.raises(InvalidInput, match="is at work"):
        follower.start()
    model.go_on.set()
    until(lambda: not follower.running)
    assert (follower.position, kept(follower)) == (0, {})
    # It can be started again, and nothing is handled twice.
    with follower:
        until(lambda: follower.position == begun.ledger.head().position)
    assert kept(follower)[SESSION.stream] == len(begun.ledger.history(SESSION))


def test_close_raises_what_ended_the_thread_once(begun: World) -> None:
    model = Stopping(started("m1"))
    follower = begun.ledger.follower(model).start()
    until(lambda: not follower.running)
    with pytest.raises(StopNowError) as ended:
        follower.close()
    assert ended.value.args == (begun.ledger.head().position,)
    follower.close()
    # The batch that it was raised in is undone, and no stream is parked.
    assert (follower.position, kept(follower), follower.parked()) == (0, {}, [])
    model.rejects = started("nothing")
    follower.catch_up()
    assert follower.position == begun.ledger.head().position


def test_what_is_no_exception_comes_out_of_a_call_too(begun: World) -> None:
    follower = begun.ledger.follower(Stopping(started("m1")))
    with pytest.raises(StopNowError):
        follower.catch_up()
    assert (follower.position, kept(follower)) == (0, {})


def test_what_the_block_raised_is_told_first(begun: World) -> None:
    follower = begun.ledger.follower(Stopping(started("m1")))

    def block() -> None:
        with follower:
            until(lambda: not follower.running)
            raise KeyError

    with pytest.raises(KeyError) as raised:
        block()
    assert raised.value.__notes__ == [
        f"and the follower counts: StopNowError({begun.ledger.head().position})"
    ]


def test_a_closed_ledger_ends_the_thread(begun: World) -> None:
    ledger = begun.open("p2")
    follower = ledger.follower(Counts()).start()
    until(lambda: begun.ledger.follower(Counts()).position)
    ledger.close()
    until(lambda: not follower.running)
    follower.close()


def test_a_thread_waits_out_a_fault_and_shows_it_meanwhile(tmp_path: Path) -> None:
    world = World("sqlite", tmp_path)
    world.ledger.claim(SESSION, "manager/1", "host")
    script = """
        with store.write(10.0) as unit:
            say("locked")
            hear()
    """
    with open_ledger(world.url, deadline_seconds=0.1) as hasty:
        follower = hasty.follower(Counts())
        assert follower.position == 0
        with other(script, tmp_path / "relay.db") as holder:
            assert holder.hear() == "locked"
            with follower:
                until(lambda: isinstance(follower.fault, Contended))
                holder.kill()
                until(lambda: follower.position == world.ledger.head().position)
                until(lambda: follower.fault is None)
                assert follower.parked() == []
        assert sum(kept(follower).values()) == world.ledger.head().count
    world.close()


def test_close_hands_on_the_fault_that_the_thread_could_not_wait_out(
    tmp_path: Path,
) -> None:
    world = World("sqlite", tmp_path)
    ledger, model = world.open("p2"), Counts()
    with ledger.follower(model) as follower:
        with closing(sqlite3.connect(tmp_path / "relay.db")) as db:
            # Another program alters a table.
            db.execute("ALTER TABLE counts RENAME COLUMN n TO m")
        world.ledger.claim(SESSION, "manager/1", "host")
        until(lambda: not follower.running)
        with pytest.raises(Exception, match="counts has no column named n"):
            follower.close()
    # Nothing was tried again once it was known.
    assert len(model.handed) == len(set(model.handed)) > 0
    world.close()


def test_a_handler_may_end_its_own_follower(begun: World) -> None:
    class Last(Counts):
        def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
            """End behind the start."""
            super().handle(recorded, rows)
            if started("m1")(recorded):
                follower.close()

    follower = begun.ledger.follower(Last())
    follower.start()
    until(lambda: not follower.running)
    follower.close()
    assert follower.position == begun.ledger.head().position
