"""Three terms and two cuts; what was stripped once; admission racing a strip."""

from __future__ import annotations

from gates import (
    Gate,
    Message,
    S,
    asks,
    count,
    first_term,
    next_term,
    relayed,
    result,
    said,
    texts,
    user,
    verdicts,
)
from tenure import (
    Authority,
    Evidence,
    First,
    Ledger,
    OwnerRef,
    TermRetired,
    is_admitted_successor_request,
)
from tenure_gate.journal import JournalSnapshot
from tenure_ledger import events as e
from worlds import World


class Three:
    """Three terms: each left a probe that it only admitted."""

    def __init__(self, ledger: Ledger) -> None:
        self.one = first_term(ledger)
        ledger.admit(self.one, "p1", "tool_probe")
        self.first_cut = ledger.retire(self.one, "continue", "Done: one.")
        self.two = next_term(ledger, "m2", 2)
        ledger.admit(self.two, "p2", "tool_probe")
        ledger.start(self.two, "m2")
        self.second_cut = ledger.retire(self.two, "accepted", None)
        self.three = next_term(ledger, "m3", 3)
        ledger.admit(self.three, "p3", "tool_probe")


LIST: list[Message] = [
    user("m1"),
    asks("c1"),
    result("c1"),
    user("p1"),
    said("the probe of the first"),
    user("m2"),
    said("the work of the second"),
    user("p2"),
    user("ghost"),
    user("m3"),
    user("p3"),
]
EXPECTED = {
    "m1": "history",
    "p1": "stale_admitted",
    "m2": "history",
    "p2": "stale_admitted",
    "ghost": "stale_unadmitted",
    "m3": "successor",
    "p3": "queued",
}


def test_of_three_terms_the_last_one_sees_the_others_as_history(world: World) -> None:
    three = Three(world.ledger)
    gate = Gate(world)
    for zombie in (three.one, three.two):
        with world.refuses(TermRetired):
            gate.apply(LIST, zombie)
    view = gate.apply(LIST, three.three, acting="m3")
    assert verdicts(view) == EXPECTED
    assert texts(view) == [
        "text of m1",
        "",
        "done",
        "text of m2",
        "the work of the second",
        "text of m3",
    ]
    assert gate.host.keys == ["p1", "p2", "ghost"]
    ended = [one.ended.incarnation if one.ended else None for one in gate.host.asked]
    assert ended == [three.one.incarnation, three.two.incarnation, None]
    cuts = [
        one.event.cut
        for one in world.ledger.history(S)
        if isinstance(one.event, e.StaleRequestStripped)
    ]
    assert cuts == [three.second_cut] * 3


def test_the_seeds_one_question_is_asked_of_each_cut_by_itself(world: World) -> None:
    three = Three(world.ledger)
    journal = JournalSnapshot.of(world.ledger.fresh_state(S))
    asked = {
        key: [
            is_admitted_successor_request(cut, key, journal)
            for cut in (0, three.first_cut, three.second_cut)
        ]
        for key in ("m1", "p1", "m2", "p2", "m3", "p3", "ghost")
    }
    assert asked == {
        "m1": [True, False, False],
        "p1": [True, False, False],
        "m2": [True, True, False],
        "p2": [True, True, False],
        "m3": [True, True, True],
        "p3": [True, True, True],
        "ghost": [False, False, False],
    }


def test_restart_renewal_and_takeover_in_a_term_change_no_verdict(world: World) -> None:
    three = Three(world.ledger).three
    gate = Gate(world)
    ledger = world.ledger
    assert verdicts(gate.apply(LIST, three, acting="m3")) == EXPECTED
    renewed = ledger.advance(three, "lease_renewal", lease_seconds=5)
    world.pass_seconds(3600)
    assert verdicts(gate.apply(LIST, renewed, acting="m3")) == EXPECTED
    gone = Evidence.gone(ledger.owner(S), "its process is not there")
    again = world.open("p2").take_over(S, f"{S}/3", "host", gone)
    for process in (world.ledger, world.open("p3")):
        view = Gate(process).apply(LIST, again, acting="m3")
        assert verdicts(view) == EXPECTED
    assert count(ledger, e.StaleRequestStripped) == 3


def test_a_host_that_never_calls_start_gets_the_same_answers(world: World) -> None:
    """The gate starts what it serves; a cut settles it like any other."""
    ledger = world.ledger
    gate = Gate(world)
    held = ledger.claim(S, "manager/1", "host", first=First("m1", "human"))
    messages: list[Message] = []
    for number in range(1, 5):
        messages.append(user(f"m{number}"))
        assert texts(gate.apply(messages, held))[-1] == f"text of m{number}"
        messages.append(said(f"answer {number}"))
        if number % 2:
            ledger.settle(held, f"m{number}", "completed")
        ledger.retire(held, "accepted", None)
        held = next_term(ledger, f"m{number + 1}", number + 1)
    view = gate.apply([*messages, user("m5")], held)
    assert verdicts(view) == {
        **{f"m{number}": "history" for number in range(1, 5)},
        "m5": "successor",
    }
    assert texts(view)[:4] == ["text of m1", "answer 1", "text of m2", "answer 2"]
    assert gate.host.asked == []


def test_a_list_copied_into_a_session_of_its_own_is_judged_there_alone(
    world: World,
) -> None:
    """A fork: the same messages, another session that never had a cut."""
    ledger = world.ledger
    fork = OwnerRef("session", "ses_fork")
    _, two = relayed(ledger, leaves=["probe"])
    gate = Gate(world)
    messages = [user("m1"), said("an answer"), user("probe"), user("m2")]
    gate.apply(messages, two)
    held = ledger.claim(fork, "fork/1", "host", first=First("f1", "human"))
    beside = Gate(world, owner=fork)
    copied = [*messages, user("f1")]
    view = beside.apply(copied, held)
    # What stands before the first request that the fork knows is its past.
    assert set(verdicts(view).values()) == {"current"}
    assert texts(view) == [str(message["content"]) for message in copied]
    assert beside.host.asked == []
    assert gate.host.keys == ["probe"]
    # And the fork may admit a key anew that the first session stripped.
    ledger.settle(held, "f1", "completed")
    ledger.admit(held, "probe", "human")
    again = beside.apply([*copied, said("done")], held, acting="probe")
    assert verdicts(again)["probe"] == "current"
    assert verdicts(gate.apply(messages, two))["probe"] == "stale_admitted"


def test_after_an_end_and_a_new_claim_the_old_work_is_history(world: World) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "probe", "tool_probe")
    ledger.terminate(one, "closed", "Closed by the host.")
    two = ledger.claim(S, "manager/2", "host", first=First("m2", "human"))
    gate = Gate(world)
    view = gate.apply([user("m1"), user("probe"), user("ghost"), user("m2")], two)
    assert verdicts(view) == {
        "m1": "history",
        "probe": "stale_admitted",
        "ghost": "stale_unadmitted",
        "m2": "successor",
    }


def test_a_zombie_of_any_term_is_refused_whatever_it_serves(world: World) -> None:
    three = Three(world.ledger)
    zombies: list[Authority] = [three.one, three.two]
    for zombie in zombies:
        for acting in (None, "m1", "m3", "ghost"):
            with world.refuses(TermRetired):
                Gate(world).apply(LIST, zombie, acting=acting)


def test_a_boundary_that_the_host_names_is_the_last_of_the_past(world: World) -> None:
    """The host's own message, which the ledger never heard of, ends the past."""
    ledger = world.ledger
    ledger.retire(first_term(ledger), "accepted", None, boundary="x")
    two = next_term(ledger, "m2")
    messages = [user("m1"), user("old"), user("x"), user("new"), user("m2")]
    gate = Gate(world)
    assert verdicts(gate.apply(messages, two)) == {
        "m1": "history",
        "old": "history",
        "x": "history",
        "new": "stale_unadmitted",
        "m2": "successor",
    }


def test_a_list_that_lost_the_boundary_has_its_past_up_to_what_was_started_last(
    world: World,
) -> None:
    ledger = world.ledger
    one = first_term(ledger)
    for key in ("m2", "m3"):
        ledger.admit(one, key, "human")
        ledger.start(one, key)
    ledger.retire(one, "accepted", None)
    two = next_term(ledger, "m4")
    # `m3`, the boundary, was compacted away.
    messages = [user("m1"), user("a"), user("m2"), user("b"), user("m4")]
    gate = Gate(world)
    assert verdicts(gate.apply(messages, two)) == {
        "m1": "history",
        "a": "history",
        "m2": "history",
        "b": "stale_unadmitted",
        "m4": "successor",
    }
    # And here everything that was started: only what stands before is the past.
    view = gate.apply([user("c"), user("m4"), user("d")], two, acting="m4")
    assert verdicts(view) == {
        "c": "history",
        "m4": "successor",
        "d": "stale_unadmitted",
    }
