"""A restored backup hands no generation out again, whichever store it is of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backups import BACKUPS, TOLD, back_up, new_place, second
from clients import client
from log_invariants import LogChecker
from tenure import (
    Authority,
    Evidence,
    FencedOut,
    First,
    InvalidInput,
    Ledger,
    OwnerRef,
    Refused,
    StoreUnavailable,
    UnknownOwner,
    open_ledger,
    recover,
)
from tenure_gate.cli import main
from tenure_ledger.decisions.restored import RaiseFloor
from tenure_ledger.events import ChildSpawned
from tenure_ledger.opening import open_shell
from tenure_ledger.process import NOBODY
from tenure_ledger.stores import open_store
from tenure_projections.live import LiveTables

HELD = OwnerRef("session", "held")
CUT = OwnerRef("session", "cut")
ENDED = OwnerRef("cron", "ended")
CHILD = OwnerRef("subagent", "child")
LEASE = OwnerRef("browser", "lease")
NEW = OwnerRef("session", "new")
LATER = OwnerRef("subagent", "later")


def begin(ledger: Ledger) -> list[Authority]:
    """Give generations out to owners that the backup will know."""
    held = ledger.claim(HELD, "a", "host", first=First("m1", "human"))
    child = ledger.spawn(held, CHILD, "c", author="host")
    lease = ledger.spawn(held, LEASE, author="host")
    cut = ledger.claim(CUT, "b", "host")
    ledger.retire(cut, "continue")
    ended = ledger.claim(ENDED, "e", "host")
    ledger.terminate(ended, "done", "it is done")
    return [held, child, lease, cut, ended]


def go_on(ledger: Ledger, held: Authority) -> list[Authority]:
    """Give out what the backup will not know, to owners new and old."""
    ledger.retire(held, "continue")
    two = ledger.succeed(HELD, "a2", "host", command_id="lost")
    for _ in range(3):
        two = ledger.advance(two, "lease_renewal", lease_seconds=60)
    new = ledger.claim(NEW, "n", "host")
    return [
        two,
        ledger.spawn(two, LATER, "l", author="host"),
        ledger.succeed(CUT, "b2", "host"),
        ledger.claim(ENDED, "e2", "host"),
        ledger.advance(new, "migration"),
    ]


@pytest.fixture(params=BACKUPS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lost(kind: str, tmp_path: Path) -> tuple[list[Authority], Callable[[], str]]:
    """Lose the end of a ledger: what was handed out, and how the backup is restored."""
    url = new_place(kind, tmp_path)
    with open_ledger(url, process="p1") as ledger:
        known = begin(ledger)
        restore = back_up(kind, url, tmp_path)
        return [*known, *go_on(ledger, known[0])], restore


Lost = tuple[list[Authority], Callable[[], str]]


def test_no_generation_is_handed_out_again(lost: Lost) -> None:
    handed_out, restore = lost
    url = restore()
    with open_ledger(url) as ledger:
        before = ledger.head()
    assert main(["restored", "--ledger", url]) == 0
    with open_ledger(url, process="p2") as ledger:
        held = ledger.take_over(
            HELD, "a2", "host", Evidence.gone(ledger.owner(HELD)), command_id="lost"
        )
        again = [
            held,
            ledger.succeed(CUT, "b9", "host"),
            ledger.claim(ENDED, "e9", "host"),
            ledger.claim(NEW, "n9", "host"),
            ledger.spawn(held, LATER, "l9", author="host"),
            ledger.take_over(LEASE, None, "host"),
            ledger.advance(held, "lease_renewal"),
        ]
        spawned = [
            one.event.child_generation
            for one in ledger.history(HELD)
            if isinstance(one.event, ChildSpawned)
        ]
        assert spawned[-1] == again[4].generation
        highest = max(one.generation for one in handed_out)
        assert all(one.generation > highest for one in again)
        given = {(one.owner, one.generation) for one in handed_out}
        assert not given & {(one.owner, one.generation) for one in again}
        later = list(ledger.events(before.position))
        assert len(later) == ledger.head().count - before.count > len(again)
        assert ledger.verify(before).ok
        assert all(not one.differing for one in ledger.rebuild(check=True))
        log = LogChecker()
        for one in ledger.events():
            log.feed(one)


def test_who_was_given_something_before_the_restore_is_refused(lost: Lost) -> None:
    handed_out, restore = lost
    url = restore()
    assert main(["restored", "--ledger", url]) == 0
    with open_ledger(url) as ledger:
        for one in handed_out:
            with pytest.raises(Refused):
                ledger.check(one)
            with pytest.raises(Refused):
                ledger.admit(one, "m9", "human")
        with pytest.raises(FencedOut):
            ledger.settle(handed_out[0], "m1", "completed")
        ledger.claim(NEW, "n9", "host")
        with pytest.raises(FencedOut):
            ledger.admit(handed_out[-1], "m9", "human")
        with pytest.raises(UnknownOwner):
            ledger.check(handed_out[6])


def test_recovery_decides_about_the_work_that_the_backup_held(lost: Lost) -> None:
    _, restore = lost
    url = restore()
    assert main(["restored", "--ledger", url]) == 0
    with open_ledger(url, process="p2") as ledger:
        owner = ledger.owner(HELD)
        assert (owner.agent_id, owner.process) == ("a", NOBODY)
        report = recover(ledger)
        (resumed,) = [one for one in report.resumed if one.owner == HELD]
        ledger.start(resumed.authority, "m1")
        ledger.settle(resumed.authority, "m1", "completed")


def test_a_command_of_the_lost_end_is_a_new_command(lost: Lost) -> None:
    handed_out, restore = lost
    url = restore()
    assert main(["restored", "--ledger", url]) == 0
    with open_ledger(url, process="p1") as ledger:
        ledger.retire(recover(ledger).resumed[0].authority, "continue")
        two = ledger.succeed(HELD, "a2", "host", command_id="lost")
        assert two.generation > max(one.generation for one in handed_out)
        assert ledger.succeed(HELD, "a2", "host", command_id="lost") == two


def test_the_same_backup_restored_again_is_above_the_first_time(lost: Lost) -> None:
    handed_out, restore = lost
    for _ in range(3):
        url = restore()
        assert main(["restored", "--ledger", url]) == 0
        with open_ledger(url) as ledger:
            new = ledger.claim(NEW, "n9", "host")
            assert new.generation > max(one.generation for one in handed_out)
            handed_out.append(ledger.advance(new, "migration"))


def test_a_copy_that_was_not_said_to_be_the_ledger_is_only_read(
    kind: str, lost: Lost
) -> None:
    _, restore = lost
    url = restore()
    with open_ledger(url) as ledger:
        assert ledger.owner(HELD).generation == 1
        assert ledger.verify().ok
        assert len(list(ledger.rows("recovery_owners"))) == 5
        if kind not in TOLD:
            # The file is as every other: this is why it must not be forgotten.
            assert ledger.claim(NEW, "n9", "host").generation == 1
            return
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="tenure restored --ledger URL"):
                ledger.claim(NEW, "n9", "host")
            with pytest.raises(StoreUnavailable, match="reading goes on"):
                ledger.accept(HELD, "m9", "inbox")
        assert ledger.verify().ok
        assert main(["restored", "--ledger", url]) == 0
        assert ledger.claim(NEW, "n9", "host").generation > 1


@pytest.mark.parametrize("kind", ["tenure backup", "dump in place"])
def test_a_kept_head_says_what_is_lost_and_later_that_others_stand_there(
    kind: str, tmp_path: Path
) -> None:
    url = new_place(kind, tmp_path)
    with open_ledger(url) as ledger:
        known = begin(ledger)
        restore = back_up(kind, url, tmp_path)
        go_on(ledger, known[0])
        kept = ledger.head()
    url = restore()
    with open_ledger(url) as ledger:
        assert ledger.head().count < kept.count
        problem = ledger.verify(against=kept).problem
        assert problem is not None
        assert problem.kind == "cut_tail"
    assert main(["restored", "--ledger", url]) == 0
    with open_ledger(url) as ledger:
        for number in range(kept.count):
            ledger.accept(HELD, f"later{number}", "inbox")
        assert ledger.head().position > kept.position
        problem = ledger.verify(against=kept).problem
        assert problem is not None
        assert (problem.kind, problem.position) == ("fork", kept.position)


@pytest.mark.parametrize("name", ["nowhere/copy.db", "x" * 300])
def test_a_copy_that_cannot_be_written_is_named_and_the_ledger_is_not(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url) as ledger:
        begin(ledger)
    made = tmp_path / name
    assert main(["backup", str(made), "--ledger", url]) == 2
    told = capsys.readouterr().err
    assert f"{made} cannot be written" in told
    assert "relay.db" not in told


@pytest.mark.parametrize("kind", TOLD, indirect=True)
def test_a_restore_that_was_broken_off_is_none(lost: Lost) -> None:
    _, restore = lost
    store = open_store(restore())
    with pytest.raises(KeyboardInterrupt), store.restoring():
        raise KeyboardInterrupt
    with pytest.raises(StoreUnavailable, match="is a copy"), store.write(1):
        pass
    with store.restoring(), store.write(1):
        pass
    with store.write(1):
        pass
    store.close()


@pytest.mark.parametrize("kind", ["file copy", "dump elsewhere"], indirect=True)
def test_a_floor_that_is_not_above_is_refused(
    lost: Lost, capsys: pytest.CaptureFixture[str]
) -> None:
    handed_out, restore = lost
    url = restore()
    early = datetime.now(UTC) - timedelta(days=1)
    with (
        open_ledger(url, clock=lambda: early) as ledger,
        pytest.raises(InvalidInput, match="set it right, or name a floor"),
    ):
        ledger.restored("ann")
    assert main(["restored", "--ledger", url, "--above", "1000"]) == 0
    assert main(["restored", "--ledger", url, "--above", "1000"]) == 2
    assert "1000 is not above 1000" in capsys.readouterr().err
    with open_ledger(url) as ledger:
        assert ledger.owner(HELD).generation == 1001
        assert ledger.claim(NEW, "n9", "host").generation == 1001
        done = ledger.restored("ann", above=2000)
        assert done.floor == 2000
        assert set(done.restarted) == {HELD, CHILD, NEW}
        record = list(ledger.rows("recovery_owner_terminal_events"))[-1]
        assert (record["event_type"], record["generation"]) == ("restored_backup", 2000)
    assert max(one.generation for one in handed_out) < 1000


@pytest.mark.parametrize("kind", ["base backup"], indirect=True)
def test_a_base_backup_is_as_the_server_was_and_the_step_is_not_to_be_forgotten(
    lost: Lost,
) -> None:
    handed_out, restore = lost
    url = restore()
    with open_ledger(url) as ledger:
        # Nothing tells: a standby that was promoted looks the same.
        assert ledger.claim(NEW, "n9", "host").generation == 1
    assert main(["restored", "--ledger", url]) == 0
    highest = max(one.generation for one in handed_out)
    with open_ledger(url) as ledger:
        assert ledger.succeed(CUT, "b9", "host").generation > highest
        assert ledger.owner(NEW).generation > highest
        for one in handed_out:
            with pytest.raises(Refused):
                ledger.check(one)


def test_a_database_made_from_another_is_a_copy_and_a_renamed_one_is_not() -> None:
    place = second().url
    one, two, three = (
        place.replace("///postgres", f"///{name}") for name in ("one", "two", "three")
    )
    with client(f"{place}&schema=public") as by_hand:
        by_hand.execute("CREATE DATABASE one")
        with open_ledger(one) as ledger:
            ledger.claim(HELD, "a", "host")
        by_hand.execute("CREATE DATABASE two TEMPLATE one")
        by_hand.execute("ALTER DATABASE one RENAME TO three")
    with open_ledger(three) as ledger:
        assert ledger.accept(HELD, "m1", "inbox") > 1
    with open_ledger(two) as ledger, pytest.raises(StoreUnavailable, match="a copy"):
        ledger.accept(HELD, "m1", "inbox")


def test_every_way_to_a_generation_is_above_the_floor(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url, process=NOBODY) as ledger:
        ledger.claim(HELD, "a", "host", first=First("m1", "human"))
        cut = ledger.claim(CUT, "b", "host")
    with closing(open_shell(url, tables=LiveTables())) as shell:
        # As after a restore that was broken off, or of an owner that was quarantined.
        shell.run(RaiseFloor("ann", 1000), None)
    with open_ledger(url) as ledger:
        assert recover(ledger, only=[HELD]).resumed[0].authority.generation == 1001
        assert ledger.advance(cut, "lease_renewal").generation == 1001
        assert ledger.advance(cut, "lease_renewal").generation == 1002


def test_the_ledgers_own_record_is_nobody_elses(tmp_path: Path) -> None:
    with open_ledger(f"sqlite:///{tmp_path}/relay.db") as ledger:
        own = OwnerRef("tenure.ledger", "restored")
        with pytest.raises(InvalidInput, match="the ledger's own"):
            ledger.claim(own, "a", "host")
        with pytest.raises(InvalidInput, match="room for what comes"):
            ledger.restored("ann", above=2**60)
        assert ledger.claim(HELD, "a", "host").generation == 1
