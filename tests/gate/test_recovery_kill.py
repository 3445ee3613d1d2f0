"""kill -9 at every durable step of a recovery run: the next run ends what it began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from crashes import copied, died_in_the_midst
from processes import other
from stopping_recovery import (
    C1,
    POINTS,
    S1,
    S2,
    S3,
    TOGETHER,
    WRITES,
    D,
    open_live,
)
from tenure import Closed, Ledger, OwnerRef, RecoveryReport, Resumed, recover
from tenure_ledger import events as e
from witness import violations

RECOVER = """
    from stopping_recovery import stop_in
    stop_in(sys.argv[1], {write}, {point!r}, together={together})
"""


@pytest.fixture(scope="module")
def killed_at_work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that a process left which was killed at work."""
    return died_in_the_midst(tmp_path_factory.mktemp("killed"))


@pytest.fixture
def path(killed_at_work: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return copied(killed_at_work, tmp_path)


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    """The ledger as this process opens it, when the others are gone."""
    ledger, _ = open_live(path)
    yield ledger
    ledger.close()


def decided(ledger: Ledger) -> Counter[tuple[str, str]]:
    """Count what recovery runs decided, by owner and disposition."""
    return Counter(
        (one.stream, one.event.disposition)
        for one in ledger.events()
        if isinstance(one.event, e.RecoveryDecided)
    )


def sound(ledger: Ledger) -> None:
    assert ledger.verify().ok
    assert violations([*ledger.events()]) == []
    for table in ledger.rebuild(check=True):
        assert table.differing == 0, table


def ended_well(ledger: Ledger, last: RecoveryReport) -> None:
    """Hold that each owner is where an unbroken run leaves it, each told once."""
    due = [(one.owner, one.call, one.handover) for one in last.due]
    assert due == [(S1, "succeed", None), (S3, "succeed", "Next: C.")]
    states = {owner: ledger.owner(owner).status for owner in (S1, C1, D, S2, S3)}
    ended = {S1: "cut", C1: "terminal", D: "terminal", S2: "live", S3: "cut"}
    assert states == ended
    told = [one.about for one in ledger.pending_notices(S1)]
    assert told == [S1, C1, D]
    facts = [one.facts for one in ledger.pending_notices(S2)]
    assert [[(each.kind, each.key) for each in some] for some in facts] == [
        [("outcome_unknown", "m2"), ("outcome_unknown", "m1")]
    ]
    before = ledger.head().position
    again = recover(ledger)
    assert [one.owner for one in again.skipped] == [S2]
    assert ledger.head().position == before
    sound(ledger)


def generations(ledger: Ledger) -> dict[OwnerRef, int]:
    return {owner: ledger.owner(owner).generation for owner in (S1, C1, D, S3)}


def test_an_unbroken_run_settles_everything(ledger: Ledger) -> None:
    """The default environment: it finds by itself that the process is gone."""
    report = recover(ledger)
    assert report.failed == ()
    assert [one.owner for one in report.closed] == [S1, C1, D]
    assert [(one.owner, one.restarts) for one in report.resumed] == [(S2, 1)]
    ended_well(ledger, report)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("write", range(len(WRITES)))
def test_a_run_that_was_killed_anywhere_is_ended_by_the_next(
    path: Path, write: int, point: str
) -> None:
    kill_in(path, write, point, together=False)
    goes_on(path, WRITES[: write + point.startswith("after COMMIT")])


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("write", range(len(TOGETHER)))
def test_of_owners_that_share_a_commit_all_are_done_or_none(
    path: Path, write: int, point: str
) -> None:
    kill_in(path, write, point, together=True)
    groups = TOGETHER[: write + point.startswith("after COMMIT")]
    goes_on(path, [one for group in groups for one in group])


def kill_in(path: Path, write: int, point: str, *, together: bool) -> None:
    script = RECOVER.format(write=write, point=point, together=together)
    with other(script, path) as killed:
        assert killed.hear() == point
        assert killed.kill() == []


def goes_on(path: Path, done: Sequence[OwnerRef]) -> None:
    """Hold that only these are done, and that the next run ends it."""
    ledger, _ = open_live(path)
    with ledger:
        closed = {(one.stream, "closed"): 1 for one in done if one != S2}
        resumed = {(S2.stream, "resumed"): 1} if S2 in done else {}
        assert decided(ledger) == closed | resumed
        sound(ledger)
        report = recover(ledger)
        assert report.failed == ()
        settled = [one for one in report.results if isinstance(one, Closed | Resumed)]
        # What was resumed is resumed once more, by this process, one generation higher.
        expected = [one for one in WRITES if one not in done or one == S2]
        assert {one.owner for one in settled} == set(expected)
        assert len(settled) == len(expected)
        assert report.resumed[0].restarts == 1 + (S2 in done)
        assert report.resumed[0].authority.generation == 2 + (S2 in done)
        assert report.resumed[0].plan.keys == ("m1",)
        assert generations(ledger) == dict.fromkeys((S1, C1, D, S3), 1)
        ended_well(ledger, report)


def test_killed_in_every_write_one_after_the_other(path: Path) -> None:
    """Five processes die; each write was made by another one, and none twice."""
    for write in (0, 0, 0, 0):
        kill_in(path, write, "after COMMIT, before the answer", together=False)
    ledger, _ = open_live(path)
    with ledger:
        assert [*decided(ledger).values()] == [1, 1, 1, 1]
        report = recover(ledger)
        assert [one.owner for one in report.resumed] == [S2]
        assert report.resumed[0].restarts == 2
        ended_well(ledger, report)
