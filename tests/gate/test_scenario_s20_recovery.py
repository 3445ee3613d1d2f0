"""S20 after a real kill: ten queued messages merged into one, nine of them lost.

Right: the submission comes back with all it absorbed, in order, with their senders, or
none of it; a message that is delivered again is a duplicate at every moment.
"""

from __future__ import annotations

import pytest

from crashes import killed_at_work, recovered, reopened
from recovering import SESSION, the
from tenure import (
    ChatExecutionKey,
    Closed,
    Ledger,
    QueueSubmission,
    Resumed,
    SuccessionDue,
    Unstarted,
)
from workshop import Hand, hand

SENDERS = {"m1": "ann", "m2": "bob", "m3": "cem"}
MERGED = """
held = ledger.claim(S, "manager/1", "host")
for key, sender in (("m1", "ann"), ("m2", "bob"), ("m3", "cem")):
    ledger.accept(S, key, "inbox", sender, human=True)
queued = RuntimeRestartQueuedSubmission(
    submission_key="m1", absorbed_submission_keys=["m2", "m3"]
)
"""
ADMIT = """
ledger.admit(held, "m1", "human", absorbed=["m2", "m3"])
"""
SAVE = """
ledger.save_checkpoint(held, queued)
"""
INBOX = """
while hear():
    ledger.accept(S, "m2", "inbox", "bob", human=True)
    say(len(ledger.history(S)))
"""


def delivered(inbox: Hand, ledger: Ledger) -> None:
    """Deliver ``m2`` once more: nothing is appended."""
    before = len(ledger.history(SESSION))
    inbox.say("again")
    assert int(inbox.hear()) == before


def test_s20_what_was_merged_comes_back_whole_and_a_redelivery_is_a_duplicate(
    place: str,
) -> None:
    """The inbox is another process, and lives on."""
    with hand(place, INBOX) as inbox:
        killed_at_work(place, MERGED + ADMIT + SAVE)
        with reopened(place) as ledger:
            delivered(inbox, ledger)
            resumed = the(recovered(ledger), Resumed)
            delivered(inbox, ledger)
            (step,) = resumed.plan.steps
            assert isinstance(step, QueueSubmission)
            queued = (step.submission, *step.absorbed)
            assert {one.message_id: one.sender for one in queued} == SENDERS
            assert [one.message_id for one in queued] == [*SENDERS]
            assert step.admitted
            ledger.start(resumed.authority, "m1")
            delivered(inbox, ledger)
            keys = [ChatExecutionKey("ses_1", key) for key in SENDERS]
            known = [one for one in map(ledger.execution, keys) if one]
            assert [one.sender for one in known] == [*SENDERS.values()]
            assert len({one.started for one in known}) == 1
            ledger.settle(resumed.authority, "m1", "completed")
            delivered(inbox, ledger)
            assert ledger.owner(SESSION).waiting == ()


@pytest.mark.parametrize(
    ("work", "given_back"),
    [
        (MERGED, ("m1", "m2", "m3")),
        (MERGED + SAVE, None),
        (MERGED + ADMIT, ("m1",)),
    ],
)
def test_s20_killed_at_any_gap_of_the_merge_all_of_it_is_there_or_none(
    place: str, work: str, given_back: tuple[str, ...] | None
) -> None:
    """One by one, merged by the checkpoint alone (None), or merged on record."""
    killed_at_work(place, work)
    with reopened(place) as ledger:
        resumed = the(recovered(ledger), Resumed)
        held = resumed.authority
        (step,) = resumed.plan.steps
        if isinstance(step, QueueSubmission):
            assert not step.admitted
            absorbed = [one.message_id for one in step.absorbed]
            ledger.admit(held, "m1", "human", absorbed=absorbed)
        else:
            assert step == Unstarted(given_back or ())
        for key in SENDERS if given_back == (*SENDERS,) else ["m1"]:
            ledger.admit(held, key, "human")
            ledger.start(held, key)
            ledger.settle(held, key, "completed")
        assert ledger.owner(SESSION).waiting == ()
        assert ledger.owner(SESSION).open_executions == ()
        for key, sender in SENDERS.items():
            known = ledger.execution(ChatExecutionKey("ses_1", key))
            assert known is not None
            assert (known.sender, known.outcome) == (sender, "completed")


def test_s20_a_queue_behind_what_is_closed_is_the_next_terms(place: str) -> None:
    """Step 5: T1 was closed with q queued; T2 has all of it."""
    killed_at_work(
        place,
        """
        held = begin()
        for key in ("q1", "q2", "q3"):
            ledger.accept(S, key, "inbox", key, human=True)
        ledger.admit(held, "q1", "human", absorbed=["q2", "q3"])
        ledger.mark_output_started(held, "m1")
        """,
    )
    with reopened(place) as ledger:
        report = recovered(ledger)
        assert the(report, Closed).owner == SESSION
        assert the(report, SuccessionDue).waiting == ("q1", "q2", "q3")
        ledger.succeed(SESSION, "manager/2", "host")
        opened = {one.key: one for one in ledger.owner(SESSION).open_executions}
        assert opened["q1"].absorbed == ("q2", "q3")
