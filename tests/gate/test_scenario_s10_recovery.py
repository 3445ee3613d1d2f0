"""S9 and S10: a run's own ending, and a reply that was sent before it was acknowledged.

Right: what ended is complete and nothing is recovered. Behind the marker nothing is run
again and the next one is told; before it the work is resumed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from crashes import killed_at_work, recovered, reopened
from recovering import SESSION, the
from tenure import ChatExecutionKey, Closed, GoOn, Resumed, SuccessionDue

M1 = ChatExecutionKey("ses_1", "m1")
REPLY = """
from pathlib import Path
reply = Path({folder!r}, "reply")
held = begin()
ledger.save_checkpoint(held, LOOP)
def stop(at):
    if at == {gap!r}:
        say("at work")
        hear()
stop("before the marker")
ledger.mark_output_started(held, "m1")
stop("before the first byte")
reply.write_text("H")
stop("before the rest")
reply.write_text("Hello")
stop("before it was acknowledged")
ledger.settle(held, "m1", "completed")
stop("before the checkpoint was cleared")
ledger.clear_checkpoint(held)
"""
SENT = {
    "before the first byte": "",
    "before the rest": "H",
    "before it was acknowledged": "Hello",
}


@pytest.mark.parametrize("saved", [False, True])
def test_s9_a_run_that_ended_well_is_no_candidate(place: str, *, saved: bool) -> None:
    """The wrapper ends what it began, though the inner start was the later one."""
    killed_at_work(
        place,
        f"""
        wrapper = begin()
        inner = ledger.advance(wrapper, "lease_renewal")
        ledger.start(inner, "m1")
        if {saved}:
            ledger.save_checkpoint(inner, LOOP)
        ledger.settle(wrapper, "m1", "completed")
        if {saved}:
            ledger.clear_checkpoint(wrapper)
        """,
    )
    with reopened(place) as ledger:
        assert recovered(ledger).results == ()
        assert ledger.owner(SESSION).generation == 2
        known = ledger.execution(M1)
        assert known is not None
        assert known.outcome == "completed"


def killed_while_it_replies(place: str, gap: str, folder: Path) -> str:
    """Return what was sent by then."""
    killed_at_work(place, REPLY.format(folder=str(folder), gap=gap))
    reply = folder / "reply"
    return reply.read_text() if reply.exists() else ""


def test_s10_before_the_marker_it_is_resumed(place: str, tmp_path: Path) -> None:
    assert killed_while_it_replies(place, "before the marker", tmp_path) == ""
    with reopened(place) as ledger:
        resumed = the(recovered(ledger), Resumed)
        (step,) = resumed.plan.steps
        assert isinstance(step, GoOn)
        assert step.keys == ("m1",)
        assert ledger.pending_notices(SESSION) == []


@pytest.mark.parametrize("gap", SENT)
def test_s10_behind_the_marker_it_is_never_run_again_and_never_lost_in_silence(
    place: str, gap: str, tmp_path: Path
) -> None:
    assert killed_while_it_replies(place, gap, tmp_path) == SENT[gap]
    with reopened(place) as ledger:
        report = recovered(ledger)
        assert report.resumed == ()
        assert the(report, Closed).reasons == ("visible_output_started",)
        assert the(report, SuccessionDue).call == "succeed"
        (notice,) = ledger.pending_notices(SESSION)
        assert "its output may or may not have been seen" in notice.text


def test_s10_once_it_is_acknowledged_only_the_checkpoint_is_cleared(
    place: str, tmp_path: Path
) -> None:
    gap = "before the checkpoint was cleared"
    assert killed_while_it_replies(place, gap, tmp_path) == "Hello"
    with reopened(place) as ledger:
        resumed = the(recovered(ledger), Resumed)
        assert (resumed.plan.steps, resumed.discarded) == ((), "settled")
        assert ledger.pending_notices(SESSION) == []
        assert ledger.owner(SESSION).checkpoint is None
