"""kill -9 between strip, interrupt and settle: the next call ends what was begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from gates import Gate, S, count, texts, verdicts
from processes import other
from stopping import open_stopping
from stopping_gate import LIST, POINTS, prepare
from tenure import Authority, Ledger
from tenure_ledger import events as e
from witness import violations

SCRIPT = """
    from stopping_gate import project
    project(sys.argv[1], {what!r}, {point!r}, {authority!r})
"""
CASES = [(what, point) for what, points in POINTS.items() for point in points]
EXPECTED = {
    "m1": "history",
    "m2": "history",
    "retry": "stale_admitted",
    "ghost": "stale_unadmitted",
    "m3": "successor",
}


def sound(ledger: Ledger) -> None:
    assert ledger.verify().ok
    assert violations(list(ledger.events())) == []


def stripped(ledger: Ledger) -> dict[str, str]:
    """The id of the interrupt of each strip on record."""
    return {
        one.event.key: one.event.interrupt_id
        for one in ledger.history(S)
        if isinstance(one.event, e.StaleRequestStripped)
    }


def goes_on(path: Path, two: Authority) -> Gate:
    """Apply in a new process, twice; hold that nothing is there twice."""
    ledger, _ = open_stopping(path)
    with ledger:
        sound(ledger)
        gate = Gate(ledger)
        for _ in range(2):
            view = gate.apply(LIST, two)
            assert verdicts(view) == EXPECTED
            assert len(view.notices) == 1
            assert texts(view)[-1] == "text of m3"
            assert not {"text of retry", "text of ghost"} & {*texts(view)}
        assert count(ledger, e.StaleRequestStripped) == 2
        assert count(ledger, e.InterruptSettled) == 2
        assert count(ledger, e.NoticeDelivered) == 1
        assert count(ledger, e.ExecutionStarted) == 3
        sound(ledger)
        return gate


@pytest.mark.parametrize(("what", "point"), CASES)
def test_a_gate_killed_at_any_point_is_gone_on_with_by_the_next_one(
    tmp_path: Path, what: str, point: str
) -> None:
    path = tmp_path / "relay.db"
    two = prepare(path)
    script = SCRIPT.format(what=what, point=point, authority=two.to_json())
    with other(script, path) as killed:
        said = killed.hear()
        assert said.split()[0] == (point.split() or ["asked"])[0]
        assert killed.kill() == []
    ledger, _ = open_stopping(path)
    with ledger:
        before = stripped(ledger)
        settled = count(ledger, e.InterruptSettled)
    strip_is_there = what != "strip" or point.startswith("after COMMIT")
    assert sorted(before) == (["ghost", "retry"] if strip_is_there else [])
    gate = goes_on(path, two)
    # Asked at least once, and of the same id as in the process that died.
    assert len(gate.host.asked) == 2 - settled
    for target in gate.host.asked:
        key = target.key.physical_user_message_id
        assert before.get(key, target.interrupt_id) == target.interrupt_id
    if what == "asked":
        assert said.split()[1] in {one.interrupt_id for one in gate.host.asked}


def test_killed_again_and_again_it_still_settles_once(tmp_path: Path) -> None:
    """A host that dies in every interrupt: each time another process, one id."""
    path = tmp_path / "relay.db"
    two = prepare(path)
    said: list[str] = []
    script = SCRIPT.format(what="asked", point="", authority=two.to_json())
    for _ in range(3):
        with other(script, path) as killed:
            said.append(killed.hear())
            killed.kill()
    assert len(set(said)) == 1
    gate = goes_on(path, two)
    assert said[0].split()[1] == gate.host.asked[0].interrupt_id


def test_what_died_over_a_cut_is_cleaned_up_for_the_next_term(tmp_path: Path) -> None:
    path = tmp_path / "relay.db"
    two = prepare(path)
    script = SCRIPT.format(what="asked", point="", authority=two.to_json())
    with other(script, path) as killed:
        asked = killed.hear().split()[1]
        killed.kill()
    ledger, _ = open_stopping(path)
    with ledger:
        ledger.retire(two, "accepted")
        three = ledger.succeed(S, "manager/3", "host")
        gate = Gate(ledger)
        nothing = gate.nothing(LIST, three)
        assert verdicts(nothing.view)["retry"] == "stale_admitted"
        assert gate.host.asked[0].interrupt_id == asked
        assert {one.live.incarnation for one in gate.host.asked} == {three.incarnation}
        # The two of before, and `m3`, whose term ended before anybody began with it.
        assert count(ledger, e.InterruptSettled) == 3
        sound(ledger)
