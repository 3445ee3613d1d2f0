"""S21: input arrives exactly while the term ends.

Right: retirement ends in bounded time; what was accepted and not worked on is carried
to the next term once and in order; "accepted" is said only when the ledger has it.
"""

from __future__ import annotations

from threading import Event, Thread

import pytest

from gates import (
    Gate,
    Message,
    S,
    count,
    first_term,
    next_term,
    texts,
    user,
    verdicts,
)
from tenure import Authority, First, Ledger
from tenure_ledger import events as e
from worlds import World


def work_through(
    gate: Gate, held: Authority, messages: list[Message], keys: list[str]
) -> list[str]:
    """Serve each key in turn; return what was shown as the newest of each call."""
    shown: list[str] = []
    for key in keys:
        view = gate.apply(messages, held, acting=key)
        assert verdicts(view)[key] == "successor"
        shown += [text for text in texts(view) if text == f"text of {key}"]
        gate.ledger.settle(held, key, "completed")
    return shown


def test_s21_before_at_and_after_the_cut_everything_is_served_once_in_order(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.accept(S, "before", "inbox", human=True)
    ledger.admit(one, "at", "human")
    ledger.retire(one, "continue", None)
    ledger.accept(S, "after", "inbox", human=True)
    ledger.accept(S, "bot", "inbox")
    keys = ["before", "at", "after", "bot", "m2"]
    messages = [user("m1"), *(user(key) for key in keys)]
    gate = Gate(world)
    gate.nothing(messages, None)
    two = next_term(ledger, "m2")
    admitted = [
        one.event.key
        for one in ledger.history(S)
        if isinstance(one.event, e.ExecutionAdmitted) and one.event.generation == 2
    ]
    assert admitted == keys
    assert work_through(gate, two, messages, keys) == [f"text of {key}" for key in keys]
    assert gate.host.asked == []
    assert count(ledger, e.StaleRequestStripped) == 0


def test_s21_what_a_person_sent_and_only_the_list_knows_is_never_lost(
    world: World,
) -> None:
    """The host wrote it down, the process died before the ledger heard of it."""
    ledger = world.ledger
    one = first_term(ledger)
    ledger.retire(one, "continue", None)
    messages = [user("m1"), user("lost", human=True), user("lost too"), user("m2")]
    gate = Gate(world)
    # Crash here: nobody holds the session, and the gate takes the person in.
    with world.writes() as lines:
        gate.nothing(messages, None)
    assert lines == ["ses_1 SubmissionAccepted@1 lost"]
    two = next_term(ledger, "m2")
    view = gate.apply(messages, two)
    assert verdicts(view) == {
        "m1": "history",
        "lost": "queued",
        "lost too": "stale_unadmitted",
        "m2": "successor",
    }


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_s21_a_person_who_stands_anywhere_after_the_boundary_is_admitted(
    world: World, place: int
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "probe", "tool_probe")
    ledger.retire(one, "continue", None)
    two = next_term(ledger, "m2")
    rest = [user("ghost"), user("probe"), user("m2")]
    messages = [user("m1"), *rest[:place], user("hey", human=True), *rest[place:]]
    gate = Gate(world)
    view = gate.apply(messages, two)
    assert verdicts(view)["hey"] in {"queued", "successor"}
    assert "hey" not in gate.host.keys
    assert sorted(gate.host.keys) == ["ghost", "probe"]
    if place != 3:
        assert work_through(gate, two, messages, ["hey"]) == ["text of hey"]


def test_s21_a_sender_who_never_stops_does_not_hold_the_retirement_up(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    gate = Gate(world)
    told: list[str] = []
    stop, some = Event(), Event()
    other = world.open("p2")

    def send(inbox: Ledger) -> None:
        for number in range(100_000):
            if stop.is_set():
                return
            key = f"w{number}"
            inbox.accept(S, key, "inbox", human=True)
            told.append(key)
            if number == 5:
                some.set()

    sender = Thread(target=send, args=(other,))
    sender.start()
    assert some.wait(60)
    ledger.retire(one, "continue", None)
    two = ledger.succeed(S, "manager/2", "host", first=First("m2", "continue_relay"))
    before = len(told)
    stop.set()
    sender.join(60)
    assert not sender.is_alive()
    # What the sender was told is accepted is there, in the order of its sending, and
    # what the grant did not see any more the gate admits.
    messages = [user("m1"), *(user(key, human=True) for key in told), user("m2")]
    view = gate.apply(messages, two, acting="m2")
    assert before <= len(told)
    assert [verdicts(view)[key] for key in told] == ["queued"] * len(told)
    admitted = [
        one.event.key
        for one in ledger.history(S)
        if isinstance(one.event, e.ExecutionAdmitted) and one.event.key in told
    ]
    assert admitted == told
    assert gate.host.asked == []


def test_s21_step_4_a_crash_right_after_the_cut_leaves_everything_reachable(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.accept(S, "w1", "inbox", human=True)
    ledger.retire(one, "accepted")
    later = world.open("p2")  # another process finds it so
    assert later.owner(S).waiting == ("w1",)
    messages = [user("m1"), user("w1")]
    gate = Gate(later)
    nothing = gate.nothing(messages, None)
    assert nothing.verdict is not None
    assert nothing.verdict.name == "unadmitted_human"
    two = later.succeed(S, "manager/2", "host")
    assert work_through(gate, two, messages, ["w1"]) == ["text of w1"]
