"""S23, the gate's part: no "no" is said from below a write that is still open.

Right: while an admission or a cut is written and not committed, what the gate writes
waits for it, and the verdict is made again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gates import Gate, S, count, next_term, relayed, texts, user, verdicts
from held_up import HeldUp, in_thread, seen_stripping
from processes import other
from tenure import Ledger, TermRetired, open_ledger
from tenure_ledger import events as e
from worlds import World

LIST = [user("m1"), user("m3"), user("m2")]


@pytest.mark.parametrize("commits", [True, False])
def test_s23_step_4_an_admission_that_is_not_committed_yet_is_waited_for(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    commits: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    gate.apply([user("m1"), user("m2")], two)
    reached = seen_stripping(world.ledger, monkeypatch)
    slow = HeldUp(world)
    slow.begin(lambda ledger: ledger.admit(two, "m3", "assistant_run"))
    view = in_thread(lambda: gate.apply(LIST, two))
    assert reached.wait(60)
    slow.end(commits=commits)
    verdict = "queued" if commits else "stale_unadmitted"
    assert verdicts(view.get()) == {"m1": "history", "m3": verdict, "m2": "successor"}
    assert count(world.ledger, e.StaleRequestStripped) == (0 if commits else 1)
    assert gate.host.keys == ([] if commits else ["m3"])


@pytest.mark.parametrize("commits", [True, False])
def test_s23_step_4_a_cut_that_is_not_committed_yet_is_waited_for(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    commits: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    gate.apply([user("m1"), user("m2")], two)
    reached = seen_stripping(world.ledger, monkeypatch)
    slow = HeldUp(world)
    slow.begin(lambda ledger: ledger.retire(two, "continue", "go on"))
    view = in_thread(lambda: gate.apply(LIST, two))
    assert reached.wait(60)
    slow.end(commits=commits)
    if commits:
        with pytest.raises(TermRetired):
            view.get()
        assert gate.host.asked == []
        assert count(world.ledger, e.StaleRequestStripped) == 0
    else:
        assert texts(view.get())[-1] == "text of m2"
        assert gate.host.keys == ["m3"]


def test_s23_a_host_without_an_authority_is_told_that_the_term_ended_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, two = relayed(world.ledger)
    world.ledger.start(two, "m2")
    gate = Gate(world)
    reached = seen_stripping(world.ledger, monkeypatch)
    slow = HeldUp(world)
    slow.begin(lambda ledger: ledger.retire(two, "continue", "go on"))
    answer = in_thread(lambda: gate.nothing(LIST, None))
    assert reached.wait(60)
    slow.end(commits=True)
    assert "nobody holds" in str(answer.get())
    assert count(world.ledger, e.StaleRequestStripped) == 0


def test_s23_a_start_that_a_cancellation_overtakes_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's cancellation commits between the look and the start."""
    _, two = relayed(world.ledger)
    gate = Gate(world)
    start = world.ledger.start

    def cancelled_first(*how: object) -> int:
        world.ledger.bar_replay(S, "user_cancelled", "Ana", ["m2"])
        return start(*how)  # type: ignore[arg-type]

    monkeypatch.setattr(world.ledger, "start", cancelled_first)
    nothing = gate.nothing([user("m1"), user("m2")], two)
    assert nothing.verdict is not None
    assert nothing.verdict.key == "m2"
    assert "cancelled" in str(nothing)


SLOW = """
    from threading import Thread
    from tenure import Authority, Ledger
    from tenure_ledger.opening import open_shell
    from held_up import HeldTables
    tables = HeldTables()
    hook = tables.hook
    url = "sqlite:///" + sys.argv[1]
    ledger = Ledger(open_shell(url, process="p2", tables=tables))
    held = Authority.from_json(hear())
    hook.hold()
    writing = Thread(target=lambda: ledger.admit(held, "m3", "assistant_run"))
    writing.start()
    assert hook.entered.wait(60)
    say("written")
    hear()
    hook.go_on.set()
    writing.join()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_s23_between_two_processes_on_a_real_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    killed: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    path = tmp_path / "relay.db"
    with open_ledger(f"sqlite:///{path}") as ledger, other(SLOW, path) as slow:
        _, two = relayed(ledger)
        gate = Gate(ledger)
        gate.apply([user("m1"), user("m2")], two)
        reached = seen_stripping(ledger, monkeypatch)
        slow.say(two.to_json())
        assert slow.hear() == "written"
        view = in_thread(lambda: gate.apply(LIST, two))
        assert reached.wait(60)
        if killed:
            slow.kill()
        else:
            slow.say()
            slow.end()
        verdict = "stale_unadmitted" if killed else "queued"
        assert verdicts(view.get())["m3"] == verdict
        assert gate.host.keys == (["m3"] if killed else [])


def test_s23_what_commits_after_the_view_is_in_the_next_one(world: World) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world)
    elsewhere: Ledger = world.open("p2")
    for number in range(3, 8):
        key = f"m{number}"
        messages = [user("m1"), user("m2"), *(user(f"m{n}") for n in range(3, number))]
        gate.apply(messages, two)
        elsewhere.admit(two, key, "assistant_run")
        view = gate.apply([*messages, user(key)], two, acting=key)
        assert verdicts(view)[key] == "successor"
    elsewhere.retire(two, "accepted")
    with world.refuses(TermRetired):
        gate.apply([user("m1"), user("m2")], two)
    three = next_term(elsewhere, "m9", 3)
    assert texts(gate.apply([user("m1"), user("m9")], three))[-1] == "text of m9"
    assert gate.host.asked == []
