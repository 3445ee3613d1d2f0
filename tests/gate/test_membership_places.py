"""Where a term ends in a host's list, and which request a call serves."""

from __future__ import annotations

import pytest

from tenure import Authority, Boundary, First
from tenure_gate.membership import (
    ListFacts,
    acting_request,
    is_admitted_successor_request,
    locate,
    may_act,
    serving,
)
from verdict_scenes import SCENES, S, first_term, journal_of, third_term
from worlds import World


def test_there_is_no_boundary_before_a_term_has_ended(world: World) -> None:
    first_term(world)
    journal = journal_of(world.ledger)
    assert locate(journal, ["old", None, "h1", "m1"]) == ListFacts(None, 2)
    assert locate(journal, ["new", None]) == ListFacts(None, None)
    assert locate(journal, []) == ListFacts(None, None)


@pytest.mark.parametrize(
    ("keys", "boundary"),
    [
        (["m1", "m2", "new"], 2),  # the latest cut's own message
        (["new", "m2", "m1"], 2),  # wherever it stands
        (["m2", "new", "m2"], 1),  # of two with one id the first is the message
        (["old", "m1", "new", "aa3"], 2),  # lost: behind what was started before
        (["old", None, "zz1", "new"], 2),  # else before the first that is known
        (["old", "aa3", "new"], 1),
        (["old", None, "new"], 0),  # a list without any has no past
        ([], 0),
    ],
)
def test_the_boundary_is_found_in_whatever_is_left_of_the_list(
    world: World, keys: list[str | None], boundary: int
) -> None:
    third_term(world)
    assert locate(journal_of(world.ledger), keys).boundary == boundary


def test_a_boundary_that_the_host_named_wins_over_what_was_started(
    world: World,
) -> None:
    held = third_term(world)
    world.ledger.retire(held, "accepted", boundary=Boundary("h3", 99))
    journal = journal_of(world.ledger)
    assert locate(journal, ["h3", "m1", "aa3", "new"]).boundary == 1
    assert locate(journal, ["m1", "aa3", "new"]).boundary == 2


def test_a_terminal_event_has_no_boundary_but_what_was_started(world: World) -> None:
    held = third_term(world)
    world.ledger.terminate(held, "done", "ok")
    journal = journal_of(world.ledger)
    assert locate(journal, ["m2", "aa3", "new"]).boundary == 2
    assert locate(journal, ["m2", "new"]).boundary == 1


def test_an_absorbed_key_stands_for_the_execution_that_was_cut(world: World) -> None:
    held = third_term(world)
    world.ledger.start(held, "q3")
    world.ledger.retire(held, "continue")
    journal = journal_of(world.ledger)
    assert journal.cut is not None
    assert journal.cut.boundary == Boundary("q3")
    assert locate(journal, ["m2", "x3", "y3", "new"]).boundary == 3


@pytest.mark.parametrize(
    ("keys", "acting"),
    [
        (["aa3", "d3", "w"], 0),  # running; what was settled and what waits are not
        (["w", "new", "aa3"], 2),
        (["m1", "m2"], 1),  # nothing runs: the last of the list
        (["m1", None], 1),
        ([], None),
    ],
)
def test_the_acting_request_is_the_one_started_last_else_the_last(
    world: World, keys: list[str | None], acting: int | None
) -> None:
    third_term(world)
    assert acting_request(journal_of(world.ledger), keys) == acting


def test_of_what_runs_the_one_started_last_acts(world: World) -> None:
    held = third_term(world)
    world.ledger.start(held, "w", into="aa3")
    journal = journal_of(world.ledger)
    assert acting_request(journal, ["w", "aa3", "h3"]) == 0
    world.ledger.start(held, "q3")
    journal = journal_of(world.ledger)
    assert acting_request(journal, ["w", "x3", "y3", "aa3"]) == 2
    assert serving(journal, "y3") == {"q3", "x3", "y3"} == serving(journal, "q3")
    assert serving(journal, "w") == {"w"}
    assert serving(journal, "new") == {"new"}
    assert serving(journal, None) == frozenset()


def test_what_was_absorbed_by_what_ended_is_by_itself_again(world: World) -> None:
    on = world.ledger
    one = on.claim(S, "a1", "host")
    on.accept(S, "x", "inbox", human=True)
    on.admit(one, "q", "assistant_run", absorbed=["x", "y"])
    on.retire(one, "continue")
    on.succeed(S, "a2", "host")
    journal = journal_of(on)
    assert serving(journal, "q") == {"q"}
    assert serving(journal, "x") == {"x"}
    assert [journal.lead(key) for key in ("q", "x", "y")] == ["q", "x", "y"]


def codes(world: World, *keys: str | None) -> list[str | None]:
    """Return why each may not act, None where it may."""
    found = [may_act(journal_of(world.ledger), key) for key in keys]
    assert all(one is None or one.text for one in found)
    return [one.code if one else None for one in found]


def test_only_what_the_live_term_has_and_nobody_settled_may_act(world: World) -> None:
    third_term(world)
    assert codes(world, "aa3", "w", "q3", "x3") == [None] * 4
    assert codes(world, "h3", "zz1", "new", None, "g") == ["not_admitted"] * 5
    assert codes(world, "d3", "m1", "m2", "c3") == ["settled"] * 4


@pytest.mark.parametrize("scene", ["waiting", "ended"])
def test_nothing_may_act_while_nobody_holds_the_session(
    world: World, scene: str
) -> None:
    SCENES[scene](world)
    assert codes(world, "aa3", "w", "m1", None) == ["no_holding"] * 4
    hindrance = may_act(journal_of(world.ledger), "m1")
    assert hindrance is not None
    assert hindrance.version == journal_of(world.ledger).ended


@pytest.mark.parametrize(
    ("reason", "stops"),
    [
        ("user_cancelled", True),
        ("user_cancelled_whole_stream", True),
        ("context_reset", True),
        ("agent_closed", True),
        ("model_switch", False),
        ("runtime_work_reap", False),
    ],
)
def test_what_a_person_wants_no_more_may_not_act(
    world: World, reason: str, *, stops: bool
) -> None:
    held = third_term(world)
    world.ledger.start(held, "q3")
    world.ledger.bar_replay(S, reason, "a person", ["q3", "aa3"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    wanted = "cancelled" if stops else None
    assert codes(world, "aa3", "q3", "x3") == [wanted] * 3


def test_the_seeds_question_is_about_one_cut_and_later_ones_change_nothing(
    world: World,
) -> None:
    held = third_term(world)
    first, second = sorted(journal_of(world.ledger).cuts)

    def asked(cut: int) -> list[bool]:
        journal = journal_of(world.ledger)
        keys = ("m1", "zz1", "w", "m2", "zz2", "aa3", "q3", "x3", "h3", "g", "new")
        return [is_admitted_successor_request(cut, key, journal) for key in keys]

    yes, no = True, False
    of_the_first = [no, no, yes, yes, yes, yes, yes, yes, no, no, no]
    of_the_second = [no, no, yes, no, no, yes, yes, yes, no, no, no]
    assert (asked(first), asked(second)) == (of_the_first, of_the_second)
    world.ledger.retire(held, "accepted")
    assert (asked(first), asked(second)) == (of_the_first, of_the_second)
    third = journal_of(world.ledger).cut_version
    assert not any(asked(third))
    world.ledger.succeed(S, "a4", "host", first=First("m4", "human"))
    assert asked(third)[2] is True  # carried over again
    assert asked(second)[5] is True


def test_a_journal_shows_who_holds_and_what_is_open(world: World) -> None:
    held: Authority = third_term(world)
    journal = journal_of(world.ledger)
    assert journal.holding is not None
    assert journal.holding.incarnation == held.incarnation
    assert [one.key for one in journal.open_interrupts()] == ["g"]
    assert list(journal.cuts) == sorted(journal.cuts)
    assert str(journal.version) in repr(journal)
    waiting_now = journal_of(world.ledger)
    world.ledger.retire(held, "continue")
    assert waiting_now.holding is not None  # a look is of one version
    assert journal_of(world.ledger).holding is None
