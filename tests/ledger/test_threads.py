"""Many threads on one ledger: each gets its own answer, whatever its neighbours do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest

from processes import other
from tenure import (
    Authority,
    Contended,
    Evidence,
    FencedOut,
    KeyReused,
    Ledger,
    OwnerIsLive,
    OwnerRef,
    StoreUnavailable,
    open_ledger,
)
from tenure_ledger.events import SubmissionAccepted
from tenure_ledger.hook import Change
from tenure_ledger.opening import open_shell
from tenure_ledger.shell import Shell
from tenure_ledger.stores import SQLiteStore
from together import Hook, HookError, together
from waiting import until
from witness import violations
from worlds import World

BARE = True
"""The world's ledger has no tables before it is used."""
S = OwnerRef("session", "ses_1")


@pytest.fixture
def hook() -> Hook:
    return Hook()


@pytest.fixture
def hooked(world: World, hook: Hook) -> Iterator[Ledger]:
    """A ledger whose commands the test can hold up and let fail."""
    with Ledger(open_shell(world.url, process="host", tables=hook)) as ledger:
        yield ledger


def queued(ledger: Ledger) -> int:
    """How many commands wait for the group that comes next."""
    grouping = ledger._shell._grouping  # pyright: ignore[reportPrivateUsage]
    return len(grouping._waiting)  # pyright: ignore[reportPrivateUsage]


def in_one_group(
    ledger: Ledger, hook: Hook, calls: list[Callable[[], object]]
) -> list[object]:
    """Hold a command up until all calls wait behind it, then let them go."""
    hook.hold()
    answers: list[object] = []
    waiting = Thread(target=lambda: answers.extend(together(calls)))
    holding = Thread(target=lambda: ledger.accept(S, "holds up", "inbox"))
    holding.start()
    assert hook.entered.wait(60)
    waiting.start()
    until(lambda: queued(ledger) >= len(calls))
    hook.go_on.set()
    for thread in (holding, waiting):
        thread.join()
    return answers


def accepted(ledger: Ledger) -> list[str]:
    events = [one.event for one in ledger.history(S)]
    return [event.key for event in events if isinstance(event, SubmissionAccepted)]


def test_refusals_in_a_group_harm_no_neighbour(hooked: Ledger, hook: Hook) -> None:
    old = hooked.claim(S, "t1", "host")
    new = hooked.take_over(S, "t2", "host", Evidence.gone(hooked.owner(S)))
    hooked.accept(S, "taken", "inbox", digest="d1")
    calls: list[Callable[[], object]] = []
    for number in range(10):
        calls += [
            partial(hooked.accept, S, f"m{number}", "inbox"),
            partial(hooked.accept, S, "taken", "inbox", digest="d2"),
            partial(hooked.admit, old, f"a{number}", "human"),
            partial(hooked.admit, new, f"b{number}", "human"),
        ]
    answers = in_one_group(hooked, hook, calls)
    assert all(isinstance(answer, KeyReused) for answer in answers[1::4])
    assert all(isinstance(answer, FencedOut) for answer in answers[2::4])
    versions = [*answers[0::4], *answers[3::4]]
    assert len({v for v in versions if isinstance(v, int)}) == 20
    expected = {f"{kind}{number}" for kind in "mb" for number in range(10)}
    assert set(accepted(hooked)) == expected | {"taken", "holds up"}
    assert violations(hooked.events()) == []
    assert hooked.verify().ok


@pytest.mark.parametrize("failure", [HookError, KeyboardInterrupt, SystemExit])
def test_a_fault_in_one_command_of_a_group_fails_only_that_one(
    hooked: Ledger, hook: Hook, failure: type[BaseException]
) -> None:
    def fails(change: Change) -> bool:
        event = change.events[0].event
        if isinstance(event, SubmissionAccepted) and event.key == "m7":
            raise failure
        return False

    hook.fails = fails
    calls = [partial(hooked.accept, S, f"m{n}", "inbox") for n in range(20)]
    answers = in_one_group(hooked, hook, [*calls])
    assert isinstance(answers[7], failure)
    others = [answer for n, answer in enumerate(answers) if n != 7]
    assert all(isinstance(answer, int) for answer in others)
    assert "m7" not in accepted(hooked)
    assert len(accepted(hooked)) == 20
    # The one that failed is not remembered either: it can be asked again.
    hook.fails = lambda _: False
    assert hooked.accept(S, "m7", "inbox") == 21
    assert together([*calls]) == [*answers[:7], 21, *answers[8:]]


def test_of_many_claims_in_one_group_one_wins(hooked: Ledger, hook: Hook) -> None:
    calls = [partial(hooked.claim, S, f"agent/{n}", "host") for n in range(20)]
    answers = in_one_group(hooked, hook, [*calls])
    (one,) = [answer for answer in answers if isinstance(answer, Authority)]
    assert sum(isinstance(answer, OwnerIsLive) for answer in answers) == 19
    assert (one.generation, hooked.owner(S).incarnation) == (1, one.incarnation)


def test_one_command_asked_by_many_threads_at_once_is_done_once(
    hooked: Ledger, hook: Hook
) -> None:
    calls = [
        partial(hooked.claim, S, "agent", "host", command_id="c1") for _ in range(20)
    ]
    answers = in_one_group(hooked, hook, [*calls])
    assert all(isinstance(answer, Authority) for answer in answers)
    assert len(set(answers)) == 1
    assert (hooked.owner(S).generation, hooked.owner(S).version) == (1, 3)


def test_a_group_larger_than_a_transaction_may_be_is_answered_too(
    hooked: Ledger, hook: Hook
) -> None:
    calls = [partial(hooked.accept, S, f"m{n}", "inbox") for n in range(150)]
    answers = in_one_group(hooked, hook, [*calls])
    assert sorted(v for v in answers if isinstance(v, int)) == list(range(2, 152))


def test_threads_without_any_order_leave_a_log_that_proves_itself(
    world: World,
) -> None:
    ledger = world.ledger
    owners = [OwnerRef("session", f"ses_{n}") for n in range(4)]

    def live(owner: OwnerRef, number: int) -> int:
        try:
            one = ledger.claim(owner, f"{owner.owner_id}/{number}", "host")
        except OwnerIsLive:
            return ledger.accept(owner, f"m{number}", "inbox")
        ledger.admit(one, f"a{number}", "human")
        ledger.start(one, f"a{number}")
        return ledger.terminate(one, "done", "done")

    calls = [partial(live, owner, n) for n in range(8) for owner in owners]
    answers = together(calls)
    # A claim can lose to a cut term only by the refusal that says so.
    assert all(isinstance(answer, int) for answer in answers), answers
    assert violations(ledger.events()) == []
    assert world.open("p2").verify(ledger.head()).ok


def test_commands_that_wait_share_one_transaction(tmp_path: Path, hook: Hook) -> None:
    commits: list[str] = []

    def watch(db: sqlite3.Connection) -> None:
        db.set_trace_callback(lambda s: commits.append(s) if s == "COMMIT" else None)

    store = SQLiteStore(tmp_path / "relay.db", on_connect=watch)
    shell = Shell(
        store,
        clock=lambda: datetime.now(UTC),
        process=lambda: "host",
        deadline_seconds=30.0,
        tables=hook,
    )
    with Ledger(shell) as ledger:
        ledger.setup()
        commits.clear()
        calls = [partial(ledger.accept, S, f"m{n}", "inbox") for n in range(100)]
        in_one_group(ledger, hook, [*calls])
        assert len(accepted(ledger)) == 101
    assert len(commits) == 2


def test_a_waiter_whose_time_is_over_is_told_that_nothing_was_written(
    world: World, hook: Hook
) -> None:
    with Ledger(open_shell(world.url, deadline_seconds=0.05, tables=hook)) as ledger:
        hook.hold()
        holding = Thread(target=lambda: ledger.accept(S, "holds up", "inbox"))
        holding.start()
        assert hook.entered.wait(60)
        with pytest.raises(Contended):
            ledger.accept(S, "m1", "inbox", command_id="c1")
        hook.go_on.set()
        holding.join()
        assert accepted(ledger) == ["holds up"]
        at = ledger.accept(S, "m1", "inbox", command_id="c1")
        assert ledger.accept(S, "m1", "inbox", command_id="c1") == at
        assert sorted(accepted(ledger)) == ["holds up", "m1"]


def test_close_while_others_write_answers_everybody_and_loses_nothing(
    hooked: Ledger, hook: Hook, world: World
) -> None:
    calls: list[Callable[[], object]] = [
        partial(hooked.accept, S, f"m{n}", "inbox") for n in range(20)
    ]
    hook.hold()
    first = Thread(target=lambda: hooked.accept(S, "holds up", "inbox"))
    first.start()
    assert hook.entered.wait(60)
    answers: list[object] = []
    waiting = Thread(target=lambda: answers.extend(together(calls)))
    waiting.start()
    until(lambda: queued(hooked) >= len(calls))
    closing = Thread(target=hooked.close)
    closing.start()
    hook.go_on.set()
    for thread in (first, waiting, closing):
        thread.join()
    # What waited when the ledger was closed was answered, by its own commit.
    assert sorted(v for v in answers if isinstance(v, int)) == list(range(2, 22))
    with pytest.raises(StoreUnavailable):
        hooked.accept(S, "too late", "inbox")
    if world.kind == "sqlite":
        with open_ledger(world.url) as again:
            assert len(accepted(again)) == 21
            assert again.verify().ok


def test_whoever_writes_while_it_closes_has_it_stored_or_is_told(
    world: World,
) -> None:
    told: list[int] = []
    enough = Event()

    def write(number: int) -> None:
        try:
            for count in range(10_000):
                name = f"{number}/{count}"
                told.append(world.ledger.accept(S, name, "inbox"))
                if len(told) >= 30:
                    enough.set()
        except StoreUnavailable:
            return

    def close() -> None:
        assert enough.wait(60)
        world.ledger.close()

    calls: list[Callable[[], None]] = [partial(write, n) for n in range(6)]
    assert together([*calls, close]) == [None] * 7
    assert len(told) == len(set(told))
    if world.kind == "sqlite":
        again = world.open()
        assert set(told) <= set(range(1, again.owner(S).version + 1))
        assert again.verify().ok


FORK = """
    import threading
    from tenure import OwnerRef, open_ledger
    S = OwnerRef("session", "ses_1")
    ledger = open_ledger(f"sqlite:///{sys.argv[1]}")
    def write(name, count):
        for number in range(count):
            ledger.accept(S, f"{name}/{number}", name)
    def many(name):
        threads = [
            threading.Thread(target=write, args=(f"{name}{n}", 10)) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    many("before")
    ledger.claim(S, "t1", "host")
    child = os.fork()
    if not child:
        many("child")
        say("child", ledger.verify().ok)
        ledger.close()
        os._exit(0)
    many("parent")
    assert os.waitpid(child, 0)[1] == 0
    say("parent", ledger.owner(S).version, ledger.verify().ok)
    ledger.close()
"""


def test_a_ledger_goes_on_in_both_processes_after_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    with other(FORK, path) as forking:
        said = forking.end()
    with open_ledger(f"sqlite:///{path}") as ledger:
        assert len(accepted(ledger)) == 120
        assert violations(ledger.events()) == []
        version = ledger.owner(S).version
    assert said == ["child True", f"parent {version} True"]
