"""I12 after real kills: every mode, every reason, in one ledger, killed and run again.

What may come back comes back, the rest is closed and told; each once, whatever dies.
"""

from __future__ import annotations

from collections import Counter

import pytest

from crashes import held_in_recovery, killed_at_work, reopened
from recovering import NINE, PAYLOADS
from tenure import Ledger, OwnerRef, Resumed, recover, recover_each
from workshop import hand

WORK = """
from recovering import NINE
for mode, payload in PAYLOADS.items():
    for reason in (None, *NINE):
        owner = OwnerRef("session", f"{mode} {reason}")
        held = begin(owner, f"manager of {mode} {reason}")
        ledger.accept(owner, "m2", "inbox", human=True)
        ledger.save_checkpoint(held, payload, keys=["m1"])
        if reason == "visible_output_started":
            ledger.mark_output_started(held, "m1")
        elif reason is not None:
            ledger.bar_replay(owner, reason, "host", ["m1"])
"""
RUN = """
for number, one in enumerate(recover_each(ledger)):
    if number == {stop}:
        say("at work")
        hear()
"""
ALL = len(PAYLOADS) * (1 + len(NINE))


def hold_all(ledger: Ledger) -> None:
    """Hold where each owner is: resumed without a reason, else closed and told."""
    for mode in PAYLOADS:
        for reason in (None, *NINE):
            owner = OwnerRef("session", f"{mode} {reason}")
            view = ledger.owner(owner)
            assert view.waiting == ("m2",)
            notices = ledger.pending_notices(owner)
            assert (view.status, view.checkpoint is None) == (
                ("live", False) if reason is None else ("cut", True)
            )
            assert [one.reasons for one in notices] == (
                [] if reason is None else [(reason,)]
            )
    assert all(table.differing == 0 for table in ledger.rebuild(check=True))


def test_i12_holds_over_every_mode_and_reason(place: str) -> None:
    killed_at_work(place, WORK)
    with reopened(place) as ledger:
        report = recover(ledger)
        assert report.failed == ()
        assert Counter(type(one).__name__ for one in report.results) == {
            "Resumed": len(PAYLOADS),
            "Closed": ALL - len(PAYLOADS),
            "SuccessionDue": ALL - len(PAYLOADS),
        }
        hold_all(ledger)
        held_in_recovery(ledger)


@pytest.mark.parametrize("stop", [0, 7, 40])
def test_i12_holds_when_the_run_is_killed_and_two_go_on(place: str, stop: int) -> None:
    """The first run is killed after some results; two others share what is left."""
    killed_at_work(place, WORK)
    killed_at_work(place, RUN.format(stop=stop))
    script = "report = recover(ledger)\nsay('done', len(report.failed))\nhear()"
    with hand(place, script) as one, hand(place, script) as two:
        assert [each.hear() for each in (one, two)] == ["done 0"] * 2
        with reopened(place) as ledger:
            hold_all(ledger)
            held_in_recovery(ledger)


def test_i12_holds_in_a_crash_loop(place: str) -> None:
    """Each run resumes what the last one had, one generation higher, and dies."""
    killed_at_work(place, WORK)
    for _ in range(3):
        killed_at_work(place, "report = recover(ledger)")
    with reopened(place) as ledger:
        last = [one for one in recover_each(ledger) if isinstance(one, Resumed)]
        assert [one.restarts for one in last] == [4] * len(PAYLOADS)
        assert {one.authority.generation for one in last} == {5}
        hold_all(ledger)
        held_in_recovery(ledger)
