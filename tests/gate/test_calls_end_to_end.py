"""A tool in a process of its own, killed at every gap: the ledger's key tells (S12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from resuming import GONE, S
from tenure import (
    FencedOut,
    First,
    KeepOutput,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    TellCall,
    open_ledger,
    recover,
)
from workshop import Hand, hand

WORKER = """
from pathlib import Path
folder = Path(hear())
held = ledger.claim(S, "t1", "host", first=First("m1", "human"))
ledger.start(held, "m1")
loop = RuntimeRestartReactionLoopState(
    consecutive_batches=1,
    pending_tool_calls=[{"call_id": "pay", "tool": "pay", "arguments": {"cents": 5}}],
)
ledger.save_checkpoint(held, loop)
say("before"); hear()
call = ledger.begin_tool_call(held, "m1", "pay", "pay", {"cents": 5})
say("dispatched"); hear()
(folder / call.idempotency_key).write_text("5 cents")
say("paid"); hear()
try:
    ledger.complete_tool_call(held, call, "receipt")
    say("completed")
except FencedOut:
    say("too late")
hear()
"""
"""The bank is the folder: one file for each key, so the same key pays once."""
GAPS = ("before", "dispatched", "paid", "completed")


def killed_at(gap: str, place: str, folder: Path) -> None:
    with hand(place, WORKER) as worker:
        worker.say(str(folder))
        for at in GAPS:
            assert worker.hear() == at
            if at == gap:
                worker.kill()
                return
            worker.say()


def payments(folder: Path) -> list[str]:
    """The keys under which the bank was asked to pay."""
    return [at.name for at in folder.iterdir() if not at.name.startswith("relay.db")]


@pytest.mark.parametrize("gap", GAPS)
def test_s12_whether_it_happened_is_known_from_the_key_and_never_guessed(
    gap: str, place: str, tmp_path: Path
) -> None:
    killed_at(gap, place, tmp_path)
    with open_ledger(place) as ledger:
        (one,) = recover(ledger, only=[S]).resumed
        again = ledger.tool_call(S, "m1", "pay")
        step = one.plan.steps[0]
        if gap == "before":
            assert again is None
            call = ledger.begin_tool_call(
                one.authority, "m1", "pay", "pay", {"cents": 5}
            )
            assert call.state == "fresh"
            assert payments(tmp_path) == []
            return
        assert again is not None
        repeated = ledger.begin_tool_call(
            one.authority, "m1", "pay", "pay", {"cents": 5}
        )
        assert repeated == again
        assert repeated.state == ("completed" if gap == "completed" else "unknown")
        if gap == "completed":
            assert isinstance(step, KeepOutput)
            assert ledger.body(S, str(step.result)) == "receipt"
            return
        assert step == TellCall("m1", "pay", "unknown")
        # The tool is asked by the key, and what it says is put on record.
        paid = again.idempotency_key in payments(tmp_path)
        assert paid == (gap == "paid")
        if paid:
            ledger.complete_tool_call(one.authority, again, "receipt")
            known = ledger.tool_call(S, "m1", "pay")
            assert known is not None
            assert (known.state, known.result) == ("completed", "receipt")


def test_a_key_is_of_one_call_for_ever_and_of_no_other(tmp_path: Path) -> None:
    keys: dict[tuple[str, ...], str] = {}
    for number in range(2):
        # Another ledger has the same keys: the bank's memory outlives a store.
        with open_ledger(f"sqlite:///{tmp_path}/{number}.db") as ledger:
            for owner in (S, OwnerRef("session", "ses_2"), OwnerRef("job", "ses_1")):
                held = ledger.claim(owner, str(owner), "host")
                for message in ("m1", "m2"):
                    ledger.admit(held, message, "human")
                    for call in ("a", "b"):
                        one = ledger.begin_tool_call(held, message, call, "pay", {})
                        at = (str(owner), message, call)
                        assert keys.setdefault(at, one.idempotency_key) == (
                            one.idempotency_key
                        )
    assert len(keys) == len(set(keys.values())) == 12


def test_a_result_that_comes_after_the_restart_is_kept_and_told_once(
    place: str, tmp_path: Path
) -> None:
    """The worker is alive but was taken for gone: its result is late, not lost."""
    with hand(place, WORKER) as worker, open_ledger(place) as ledger:
        worker.say(str(tmp_path))
        go_to(worker, "paid")
        (one,) = recover(ledger, GONE, only=[S]).resumed
        worker.say()
        assert worker.hear() == "too late"
        worker.say()
        worker.end()
        late = ledger.tool_call(S, "m1", "pay")
        assert late is not None
        assert (late.state, late.late, late.result) == ("completed", True, "receipt")
        told = [at.event_type for at in ledger.pending_notices(S)]
        assert told.count("late_result") == 1
        again = ledger.begin_tool_call(one.authority, "m1", "pay", "pay", {"cents": 5})
        assert again.state == "completed"
    assert len(payments(tmp_path)) == 1


def go_to(worker: Hand, gap: str) -> None:
    for at in GAPS:
        assert worker.hear() == at
        if at == gap:
            return
        worker.say()


def test_what_a_loop_may_not_do_any_more_is_refused_before_it_acts(
    tmp_path: Path,
) -> None:
    with open_ledger(f"sqlite:///{tmp_path}/relay.db") as ledger:
        held = ledger.claim(S, "t1", "host", first=First("m1", "human"))
        ledger.start(held, "m1")
        loop = RuntimeRestartReactionLoopState(consecutive_batches=1)
        ledger.save_checkpoint(held, loop)
        (one,) = recover(ledger, GONE, only=[S]).resumed
        with pytest.raises(FencedOut):
            ledger.begin_tool_call(held, "m1", "pay", "pay", {})
        assert begins(ledger, "pay") == 0
        ledger.begin_tool_call(one.authority, "m1", "pay", "pay", {})
        assert begins(ledger, "pay") == 1


def begins(ledger: Ledger, call: str) -> int:
    topics = [
        one.event.topic
        for one in ledger.history(S)
        if getattr(one.event, "call_id", None) == call
    ]
    return topics.count("tool-call-dispatched.v1")
