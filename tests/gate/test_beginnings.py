"""Four ways a successor begins: the gate tells none of them apart.

And a crash between any two steps of a hand-over leaves nothing unreachable.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gates import (
    HANDOVER,
    Gate,
    S,
    count,
    first_term,
    said,
    texts,
    user,
    verdicts,
)
from tenure import (
    AlreadyDecided,
    AlreadyStripped,
    Authority,
    Evidence,
    First,
    Ledger,
    TermRetired,
)
from tenure_ledger import events as e
from tenure_ledger.values import Origin
from worlds import World

WAYS: list[Origin] = [
    "continue_relay",
    "human_successor_root",
    "assistant_run",
    "runtime_recovery",
]
LIST = [
    user("m1"),
    said("an answer"),
    user("retry"),
    user("keep alive"),
    user("w1"),
    user("m2"),
]


def leave(ledger: Ledger) -> Authority:
    """The first term leaves a retry it admitted, and a message that waits."""
    one = first_term(ledger)
    ledger.admit(one, "retry", "assistant_run")
    ledger.accept(S, "w1", "inbox", human=True)
    ledger.retire(one, "continue", HANDOVER)
    return one


def begin(ledger: Ledger, origin: Origin) -> Authority:
    return ledger.succeed(S, "manager/2", "host", first=First("m2", origin))


@pytest.mark.parametrize("origin", WAYS)
def test_the_successors_first_request_passes_and_the_ghosts_do_not(
    world: World, origin: Origin
) -> None:
    one = leave(world.ledger)
    two = begin(world.ledger, origin)
    gate = Gate(world)
    view = gate.apply(LIST, two)
    assert verdicts(view) == {
        "m1": "history",
        "retry": "stale_admitted",
        "keep alive": "stale_unadmitted",
        "w1": "queued",
        "m2": "successor",
    }
    assert view.acting == "m2"
    assert texts(view)[-1] == "text of m2"
    assert gate.host.keys == ["retry", "keep alive"]
    with world.refuses(TermRetired):
        gate.apply(LIST, one)


@pytest.mark.parametrize("origin", WAYS)
def test_term_carry_over_and_first_request_are_one_transaction(
    world: World, origin: Origin
) -> None:
    leave(world.ledger)
    before = len(world.ledger.history(S))
    begin(world.ledger, origin)
    events = [one.event for one in world.ledger.history(S)[before:]]
    ids = {one.command_id for one in events if isinstance(one, e.Event)}
    assert len(ids) == 1
    admitted = [one for one in events if isinstance(one, e.ExecutionAdmitted)]
    assert [(one.key, one.origin) for one in admitted] == [
        ("w1", "human"),
        ("m2", origin),
    ]
    accepted = [one for one in events if isinstance(one, e.SubmissionAccepted)]
    from_outside = origin == "human_successor_root"
    assert [one.key for one in accepted] == (["m2"] if from_outside else [])


def test_a_recovery_begins_with_probes_beside_its_first_request(world: World) -> None:
    leave(world.ledger)
    two = begin(world.ledger, "runtime_recovery")
    for key in ("probe 1", "probe 2"):
        world.ledger.admit(two, key, "tool_probe")
    gate = Gate(world)
    messages = [*LIST, user("probe 1"), user("probe 2"), user("probe 3")]
    for key in ("probe 1", "probe 2", "m2"):
        view = gate.apply(messages, two, acting=key)
        assert verdicts(view)[key] == "successor"
        assert verdicts(view)["probe 3"] == "stale_unadmitted"
        world.ledger.settle(two, key, "completed")
    assert gate.host.keys == ["retry", "keep alive", "probe 3"]


def test_a_successor_may_begin_with_nothing_and_admit_later(world: World) -> None:
    leave(world.ledger)
    two = world.ledger.succeed(S, "manager/2", "host")
    gate = Gate(world)
    nothing = gate.nothing([*LIST[:3], LIST[-1]], two)
    assert nothing.verdict is not None
    # The list came before its admission: it was stripped, and that stands.
    assert nothing.verdict.name == "stale_unadmitted"
    with world.refuses(AlreadyStripped):
        world.ledger.admit(two, "m2", "continue_relay")
    world.ledger.admit(two, "m2 again", "continue_relay")
    view = gate.apply([*LIST, user("m2 again")], two)
    assert view.acting == "m2 again"


def test_the_first_request_may_be_one_that_waited(world: World) -> None:
    leave(world.ledger)
    two = world.ledger.succeed(
        S, "manager/2", "host", first=First("w1", "human_successor_root")
    )
    view = Gate(world).apply(LIST[:-1], two)
    assert view.acting == "w1"
    assert verdicts(view)["w1"] == "successor"


def test_a_claim_carries_what_waited_for_the_very_first_term(world: World) -> None:
    world.ledger.accept(S, "w1", "inbox", human=True)
    gate = Gate(world)
    gate.nothing([user("w1")], None)
    one = world.ledger.claim(S, "manager/1", "host", first=First("m2", "assistant_run"))
    messages = [user("w1"), user("m2")]
    assert gate.apply(messages, one, acting="w1").acting == "w1"
    assert verdicts(gate.apply(messages, one, acting="m2")) == {
        "w1": "current",
        "m2": "current",
    }


# A hand-over, step by step. After each of them the process dies, and another one comes.
STEPS: list[Callable[[Ledger, list[Authority]], object]] = [
    lambda on, held: held.append(
        on.claim(S, "manager/1", "host", first=First("m1", "human"))
    ),
    lambda on, _: on.accept(S, "w1", "inbox", human=True),
    lambda on, held: on.start(held[0], "m1"),
    lambda on, held: on.admit(held[0], "retry", "assistant_run"),
    lambda on, held: on.settle(held[0], "m1", "completed"),
    lambda on, held: on.retire(held[0], "continue", None),
    lambda on, held: held.append(begin(on, "continue_relay")),
    lambda on, held: on.start(held[1], "w1"),
]
STARTED_AFTER = {"m1": 3, "w1": 8}
"""How many steps it takes until somebody has begun with the message."""


@pytest.mark.parametrize("done", range(1, len(STEPS) + 1))
def test_a_crash_after_any_step_leaves_no_message_of_a_person_unreachable(
    world: World, done: int
) -> None:
    dead = world.open("p1")
    held: list[Authority] = []
    for step in STEPS[:done]:
        step(dead, held)
    ledger = world.open("p2")
    owner = ledger.owner(S)
    if owner.status == "cut":
        ledger.succeed(S, "manager/9", "host")
    else:
        ledger.take_over(S, "manager/9", "host", Evidence.gone(owner, "killed"))
    nine = restarted(ledger)
    gate = Gate(ledger)
    people = ["m1"] if done < 2 else ["m1", "w1"]
    messages = [user(key, human=True) for key in people]
    for key in people:
        if done >= STARTED_AFTER[key]:
            # Then it is history, and told where it is unfinished.
            nothing = gate.nothing(messages, nine, acting=key)
            assert verdicts(nothing.view)[key] == "history"
        else:
            view = gate.apply(messages, nine, acting=key)
            assert verdicts(view)[key] == "successor"
            ledger.settle(nine, key, "completed")
    assert gate.host.asked == []
    told = [fact.key for one in notices(ledger) for fact in one.facts]
    unfinished = {3: ["m1"], 4: ["m1"], 8: ["w1"]}.get(done, [])
    assert told == unfinished
    for key in people:
        with pytest.raises(AlreadyDecided):
            ledger.admit(nine, key, "human")
    assert count(ledger, e.StaleRequestStripped) == 0


def restarted(ledger: Ledger) -> Authority:
    """The one that came begins anew too: another generation, the same term."""
    gone = Evidence.gone(ledger.owner(S), "killed")
    return ledger.take_over(S, "manager/9", "host", gone)


def notices(ledger: Ledger) -> list[e.NoticeIssued]:
    return [
        one.event for one in ledger.history(S) if isinstance(one.event, e.NoticeIssued)
    ]
