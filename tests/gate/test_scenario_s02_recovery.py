"""S2: the reaper acts on a list that it read a moment ago.

Right: it changes nothing of what ended or changed hands since it looked. The worker and
the sweeper are processes; the worker is killed.
"""

from __future__ import annotations

from crashes import reopened
from recovering import KID, PAYLOADS, SESSION
from tenure import Evidence, reap
from workshop import Hand, hand

WORKER = """
held = ledger.claim(KID, "kid/1", "host", first=First("t1", "assistant_run"))
ledger.start(held, "t1")
for _ in range(3):
    held = ledger.advance(held, "lease_renewal", lease_seconds=0)
ledger.save_checkpoint(held, LOOP)
say("at work")
if hear() == "complete":
    ledger.settle(held, "t1", "completed")
    ledger.terminate(held, "done", "Found it.")
    say("done")
    hear()
"""
SWEEPER = """
def holder(owner, process):
    say(f"listed {owner} at {ledger.owner(owner).generation}")
    hear()
    return "gone"

report = reap(ledger, RecoveryEnvironment(holder=holder), "sweeper")
for one in report.results:
    say(type(one).__name__, getattr(one, "why", ""))
say("swept", len(report.failed))
"""


def looked(worker: Hand, sweeper: Hand) -> None:
    """The worker is at work at generation 4, and the sweeper has seen it there."""
    assert sweeper.hear() == f"listed {KID} at 4"
    assert worker.runs


def test_s2_step_2a_what_completed_since_it_was_listed_stands(place: str) -> None:
    with hand(place, WORKER) as worker:
        assert worker.hear() == "at work"
        with hand(place, SWEEPER) as sweeper:
            looked(worker, sweeper)
            worker.say("complete")
            assert worker.hear() == "done"
            worker.kill()
            sweeper.say()
            assert sweeper.end() == ["Skipped already_claimed", "swept 0"]
    with reopened(place) as ledger:
        terminal = ledger.owner(KID).terminal
        assert terminal is not None
        assert (terminal.event_type, terminal.status) == ("done", "Found it.")
        assert len([*ledger.rows("recovery_owner_terminal_events", KID)]) == 1


def test_s2_step_2b_what_was_taken_over_since_it_was_listed_stands(place: str) -> None:
    with hand(place, WORKER) as worker:
        assert worker.hear() == "at work"
        with hand(place, SWEEPER) as sweeper, reopened(place) as ledger:
            looked(worker, sweeper)
            worker.kill()
            gone = Evidence.gone(ledger.owner(KID), "killed")
            two = ledger.take_over(KID, "kid/2", "host", gone)
            ledger.admit(two, "t2", "assistant_run")
            ledger.save_checkpoint(two, PAYLOADS["queued_submission"])
            saved = [*ledger.rows("runtime_restart_checkpoints")]
            before = ledger.head().position
            sweeper.say()
            assert sweeper.end() == ["Skipped already_claimed", "swept 0"]
            assert ledger.head().position == before
            assert [*ledger.rows("runtime_restart_checkpoints")] == saved
            assert [one["generation"] for one in saved] == [5]
            ledger.start(two, "t2")


def test_s2_what_nobody_touched_since_is_closed_once(place: str) -> None:
    """Two sweepers have the same list; the worker was killed behind it."""
    with hand(place, WORKER) as worker:
        assert worker.hear() == "at work"
        with hand(place, SWEEPER) as one, hand(place, SWEEPER) as two:
            looked(worker, one)
            looked(worker, two)
            worker.kill()
            for sweeper in (one, two):
                sweeper.say()
            said = [line for sweeper in (one, two) for line in sweeper.end()]
            assert sorted(said) == [
                "Closed ",
                "Skipped already_claimed",
                "swept 0",
                "swept 0",
            ]
    with reopened(place) as ledger:
        assert reap(ledger).results == ()
        (notice,) = ledger.pending_notices(KID)
        assert notice.reasons == ("runtime_work_reap",)
        assert ledger.pending_notices(SESSION) == []
