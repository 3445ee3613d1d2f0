"""What a hostile reader tried and got through once, each as its right outcome."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from scenes import SESSION, version_of
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    Evidence,
    FencedOut,
    First,
    InvalidInput,
    NotAdmitted,
    OwnerRef,
    TermRetired,
    arguments_digest,
    open_ledger,
)
from tenure_ledger import events as e
from worlds import World

OTHER = OwnerRef("session", "ses_2")
CHILD = OwnerRef("sub", "c")


def begin(world: World, owner: OwnerRef = SESSION, agent: str = "a1") -> Authority:
    """Claim an owner and start its first message."""
    held = world.ledger.claim(owner, agent, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    return held


def test_a_bar_reaches_a_quarantined_child(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    child = ledger.spawn(held, CHILD, "w1", author="host")
    ledger.admit(child, "k", "assistant_run")
    ledger.start(child, "k")
    world.append(
        CHILD,
        e.GenerationAdvanced(
            author="import", generation=9, reason="takeover", agent_id="q"
        ),
    )
    ledger.bar_replay(SESSION, "agent_closed", "person")
    ledger.resolve_quarantine(CHILD, ledger.owner(CHILD).positions[0], "person")
    with world.refuses(NotAdmitted):
        ledger.begin_tool_call(child, "k", "c1", "bash", {})


def test_a_call_of_another_owner_is_not_taken_for_ones_own(world: World) -> None:
    ledger = world.ledger
    one, two = begin(world), begin(world, OTHER, "a2")
    mine = ledger.begin_tool_call(one, "m1", "c1", "bash", {"for": 1})
    ledger.begin_tool_call(two, "m1", "c1", "bash", {"for": 2})
    with world.refuses(InvalidInput):
        ledger.complete_tool_call(two, mine, {"of": 1})
    ledger.retire(one, "continue")
    ledger.retire(two, "continue")
    with world.refuses(InvalidInput):
        ledger.late_result(OTHER, "person", mine, 1)
    with world.refuses(InvalidInput):
        ledger.late_result(OTHER, "person", ChatExecutionKey("ses_1", "m1"), 1)


@pytest.mark.parametrize("keys", [None, ["m2"]])
def test_a_bar_on_an_accepted_message_holds_when_it_is_admitted(
    world: World, keys: list[str] | None
) -> None:
    ledger = world.ledger
    held = begin(world)
    ledger.accept(SESSION, "m2", "inbox", human=True)
    ledger.bar_replay(SESSION, "model_switch", "person", keys)
    ledger.admit(held, "m2", "human")
    ledger.start(held, "m2")
    with world.refuses(NotAdmitted):
        ledger.begin_tool_call(held, "m2", "c1", "bash", {})


def test_what_the_next_term_admits_anew_is_a_new_execution(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    ledger.accept(SESSION, "m2", "inbox", human=True)
    ledger.bar_replay(SESSION, "model_switch", "person")
    ledger.retire(held, "continue")
    two = ledger.succeed(SESSION, "a2", "host")
    ledger.start(two, "m2")
    assert ledger.begin_tool_call(two, "m2", "c1", "bash", {}).state == "fresh"


def test_a_set_of_ids_is_the_same_command_whatever_its_order(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    keys = [f"k{number}" for number in range(40)]
    for key in keys:
        ledger.admit(held, key, "tool_probe")
    at = ledger.bar_replay(SESSION, "model_switch", "p", set(keys), command_id="b")
    backwards = frozenset(reversed(keys))
    again = ledger.bar_replay(SESSION, "model_switch", "p", backwards, command_id="b")
    assert again == at
    (event,) = [one.event for one in ledger.history(SESSION) if one.version == at]
    assert list(getattr(event, "keys", ())) == sorted(keys)


def test_a_zombie_says_nothing_about_what_the_live_term_runs(world: World) -> None:
    ledger = world.ledger
    one = begin(world)
    ledger.accept(SESSION, "m2", "inbox", human=True)
    ledger.admit(one, "m2", "human")
    ledger.retire(one, "continue")
    two = ledger.succeed(SESSION, "a2", "host")
    ledger.start(two, "m2")
    with world.refuses(TermRetired) as refusal:
        ledger.settle(one, "m2", "failed")
    assert refusal.value.evidence.get("late") is None
    ledger.retire(two, "continue")
    with pytest.raises(TermRetired) as late:
        ledger.settle(two, "m2", "completed")
    assert late.value.late == version_of(ledger, SESSION, e.LateResult)


def test_a_late_result_that_was_handed_out_stays_the_result(world: World) -> None:
    ledger = world.ledger
    one = begin(world)
    call = ledger.begin_tool_call(one, "m1", "c1", "bash", {})
    seen = Evidence.gone(ledger.owner(SESSION))
    two = ledger.take_over(SESSION, "a1", "host", seen)
    with pytest.raises(FencedOut):
        ledger.complete_tool_call(one, call, {"r": 1})
    with world.refuses(AlreadyDecided):
        ledger.complete_tool_call(two, call, {"r": 2})
    found = ledger.tool_call(SESSION, "m1", "c1")
    assert found is not None
    assert (found.state, found.result) == ("completed", {"r": 1})


def test_a_used_approval_does_not_gate_another_message(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    request = ledger.request_approval(held, "c1", "pay", arguments_digest({}), "1")
    ledger.decide_approval(SESSION, request.request_id, "approved", "person")
    ledger.begin_tool_call(held, "m1", "c1", "pay", {}, request.request_id)
    ledger.settle(held, "m1", "completed")
    ledger.admit(held, "m2", "human")
    ledger.start(held, "m2")
    call = ledger.begin_tool_call(held, "m2", "c1", "search", {"q": 1})
    assert call.state == "fresh"


def test_a_call_that_was_only_intended_is_refused_after_its_term(world: World) -> None:
    ledger = world.ledger
    one = begin(world)
    ledger.intend_tool_call(one, "m1", "c1", "pay", {})
    ledger.retire(one, "continue")
    two = ledger.succeed(SESSION, "a2", "host")
    with world.refuses(NotAdmitted):
        ledger.begin_tool_call(two, "m1", "c1", "pay", {})


def test_a_revoked_grant_is_not_passed_on_further_down(world: World) -> None:
    ledger = world.ledger
    held = begin(world)
    child = ledger.spawn(held, CHILD, "w1", grants={"x"}, author="host")
    below = OwnerRef("sub", "d")
    grandchild = ledger.spawn(child, below, "w2", grants={"x"}, author="host")
    ledger.revoke(held, CHILD, ["x"])
    with world.refuses(InvalidInput):
        ledger.spawn(
            grandchild, OwnerRef("sub", "e"), "w3", grants={"x"}, author="host"
        )


class Interrupted(Exception):  # noqa: N818  what a signal handler raises
    """A person pressed Ctrl-C."""


class Impatient:
    """Raise wherever the main thread is, at most once for each `armed`."""

    armed = False
    raised = 0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Handle the signal."""
        if self.armed:
            self.armed = False
            self.raised += 1
            raise Interrupted

    def cut_short(self, call: Callable[[], object], seconds: float) -> None:
        """Make the call while a signal arrives."""
        try:
            self.armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
            self.armed = False
        except Interrupted:
            return


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_signals_at_any_moment_leave_the_ledger_usable(tmp_path: Path) -> None:
    person = Impatient()
    with open_ledger(f"sqlite:///{tmp_path}/relay.db", deadline_seconds=5) as ledger:
        ledger.claim(SESSION, "a1", "host")
        before = signal.signal(signal.SIGALRM, person)
        try:
            for number in range(300):
                call = partial(ledger.accept, SESSION, f"m{number}", "inbox")
                person.cut_short(call, 1e-5 + number * 3e-6)
        finally:
            person.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert person.raised > 0
        ledger.accept(SESSION, "after all", "inbox")
        assert ledger.verify().ok
