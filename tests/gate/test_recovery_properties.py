"""Over walks that nobody planned: one run settles everything, a second one nothing."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from driving import Drive
from driving_steps import begin, steps
from driving_walk import chooser
from tenure import (
    Closed,
    Ledger,
    OwnerRef,
    RecoveryEnvironment,
    RecoveryReport,
    Resumed,
    SuccessionDue,
    recover,
    recover_each,
)
from worlds import World

SEEDS = range(24)
STEPS = 120
RECOVERER = "the recovering process"
EVERYBODY_ELSE = RecoveryEnvironment(
    holder=lambda _, process: "alive" if process == RECOVERER else "gone"
)


def walked(world: World, seed: int) -> Drive:
    """Let two processes do whatever comes to them, and die."""
    choose = chooser(seed)
    drive = Drive(world)
    theme = (0, 0, 1, 2)[seed % 4]
    begin(drive, choose, theme)
    for _ in range(STEPS):
        choose(steps(theme))(drive, choose)
    return drive


def left(ledger: Ledger) -> list[str]:
    """Return what is held by somebody who is gone, and has work that is open."""
    found: list[str] = []
    for owner in ledger.unfinished():
        view = ledger.owner(owner)
        gone = view.status == "live" and view.process != RECOVERER
        if gone and view.agent_id and (view.checkpoint or view.open_executions):
            found.append(f"{owner}: {view.open_executions}")
    return found


def settled(world: World) -> tuple[Ledger, RecoveryReport]:
    """Recover; hold what must hold of any run."""
    ledger = world.open(RECOVERER)
    before = ledger.head().position
    dry = recover(ledger, EVERYBODY_ELSE, dry_run=True)
    assert ledger.head().position == before
    report = recover(ledger, EVERYBODY_ELSE)
    assert report.failed == dry.failed == ()
    assert [type(one) for one in dry.results] == [type(one) for one in report.results]
    return ledger, report


@pytest.mark.parametrize("seed", SEEDS)
def test_one_run_settles_everything_and_a_second_nothing(
    tmp_path: Path, seed: int
) -> None:
    world = World("memory", tmp_path)
    drive = walked(world, seed)
    ledger, report = settled(world)
    assert left(ledger) == []
    for resumed in report.resumed:
        ledger.check(resumed.authority)
        view = ledger.owner(resumed.owner)
        assert view.generation == resumed.authority.generation
    for closed in report.closed:
        assert ledger.owner(closed.owner).status in {"cut", "terminal"}
        told = [known.about for known in ledger.pending_notices(closed.told)]
        assert closed.owner in told
    for due in report.due:
        view = ledger.owner(due.owner)
        assert view.status in {"cut", "terminal", "absent", "imported"}
        assert due.waiting == view.waiting
    # The log alone says that nothing was fenced that must be, and that each is once.
    for recorded in ledger.events(drive.log.position):
        drive.log.feed(recorded)
    before = ledger.head().position
    again = recover(ledger, EVERYBODY_ELSE)
    assert ledger.head().position == before
    assert (again.resumed, again.closed, again.discarded) == ((), (), ())
    assert again.due == report.due
    assert ledger.verify().ok
    for table in ledger.rebuild(check=True):
        assert table.differing == 0, table
    world.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_is_due_can_be_given_its_next_term(tmp_path: Path, seed: int) -> None:
    world = World("memory", tmp_path)
    walked(world, seed)
    ledger, report = settled(world)
    for number, due in enumerate(report.due):
        begin_term = ledger.claim if due.call == "claim" else ledger.succeed
        held = begin_term(due.owner, f"next/{number}", "host")
        opened = {one.key for one in ledger.owner(due.owner).open_executions}
        assert {*due.waiting} <= opened
        ledger.check(held)
    world.close()


def told(results: list[object]) -> dict[OwnerRef, tuple[object, ...]]:
    """Return what was decided about each owner, without generations."""
    found: dict[OwnerRef, tuple[object, ...]] = {}
    for one in results:
        if isinstance(one, Resumed):
            found[one.owner] = ("resumed", one.plan, one.grants)
        elif isinstance(one, Closed):
            found[one.owner] = ("closed", one.assertion, one.reasons, one.told)
    return found


@pytest.mark.parametrize("stop_after", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_that_broke_off_is_ended_with_the_same_verdicts(
    tmp_path: Path, seed: int, stop_after: int
) -> None:
    """Killed after some results, and then the one that was at it is gone as well."""
    world = World("memory", tmp_path)
    walked(world, seed)
    ledger = world.open(RECOVERER)
    whole = recover(ledger, EVERYBODY_ELSE, dry_run=True)
    first = RecoveryEnvironment(
        holder=lambda _, process: "alive" if process == "killed" else "gone"
    )
    results: list[object] = [
        *islice(recover_each(world.open("killed"), first), stop_after)
    ]
    results += recover(ledger, EVERYBODY_ELSE).results
    assert told(results) == told([*whole.results])
    world.close()


def test_the_walks_meet_every_kind_of_result(tmp_path: Path) -> None:
    """Sometimes: else the tests above would say little."""
    met: Counter[type] = Counter()
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        world = World("memory", folder)
        walked(world, seed)
        _, report = settled(world)
        met.update(type(one) for one in report.results)
        world.close()
    assert min(met[Resumed], met[Closed], met[SuccessionDue]) >= 3, met
