"""S7: the laptop's lid is closed, the lease runs out, four copies of the same task.

Right: expiry alone moves nothing; of four copies one gets the work; who wakes up after
that is refused. The holder is a process that is really stopped, and really killed.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import ExitStack

import pytest

from crashes import reopened
from recovering import SESSION, the
from tenure import RecoveryEnvironment, Resumed, Skipped, reap, recover
from workshop import hand

HOST = """
held = ledger.claim(
    S, "manager/1", "host", first=First("m1", "human"), lease_seconds=90
)
ledger.start(held, "m1")
ledger.save_checkpoint(held, LOOP)
say("at work")
hear()
try:
    ledger.mark_output_started(held, "m1")
    say("it may")
except FencedOut as refused:
    say("refused, at", refused.generation)
hear()
"""
COPY = """
say("ready")
hear()
for one in recover(ledger).results:
    say(type(one).__name__)
say("done")
hear()
"""


@pytest.mark.parametrize("seconds", [1800, -1800, 130])
def test_s7_a_lid_that_was_closed_moves_nothing(place: str, seconds: float) -> None:
    """Half an hour later, a clock that went back, and one that is 40 seconds ahead."""
    with hand(place, HOST) as host:
        assert host.hear() == "at work"
        os.kill(host.pid, signal.SIGSTOP)
        with reopened(place, after_seconds=seconds) as ledger:
            assert the(recover(ledger), Skipped)[:2] == (SESSION, "alive")
            # A clock by which it has not run out yet makes it nobody's business.
            left = [one.why for one in reap(ledger).skipped]
            assert left == (["alive"] if seconds > 90 else [])
            assert ledger.owner(SESSION).generation == 1
        os.kill(host.pid, signal.SIGCONT)
        host.say()
        assert host.hear() == "it may"


def test_s7_who_sleeps_while_it_is_replaced_is_refused_when_it_wakes(
    place: str,
) -> None:
    with hand(place, HOST) as host:
        assert host.hear() == "at work"
        os.kill(host.pid, signal.SIGSTOP)
        said = RecoveryEnvironment(holder=lambda _owner, _process: "gone")
        with reopened(place, after_seconds=1800) as ledger:
            resumed = the(recover(ledger, said), Resumed)
            os.kill(host.pid, signal.SIGCONT)
            host.say()
            assert host.hear() == "refused, at 2"
            ledger.mark_output_started(resumed.authority, "m1")


def test_s7_of_four_copies_after_a_kill_one_gets_it(place: str) -> None:
    with ExitStack() as stack:
        host = stack.enter_context(hand(place, HOST))
        assert host.hear() == "at work"
        host.kill()
        copies = [stack.enter_context(hand(place, COPY)) for _ in range(4)]
        assert {copy.hear() for copy in copies} == {"ready"}
        for copy in copies:
            copy.say()
        said = Counter(line for copy in copies for line in iter(copy.hear, "done"))
        assert said == {"Resumed": 1, "Skipped": 3}
        with reopened(place) as ledger:
            assert ledger.owner(SESSION).generation == 2
