"""The order of a view: what a strict provider takes, whatever the list's own is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given

from gate_cases import Case, cases
from gate_lists import FORMATS, Line, a, journal, s, t, texts, u, verdict
from provider import complaint
from tenure_gate.arranging import arrange, in_order
from tenure_gate.choosing import choose
from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message
from tenure_gate.turns import split
from tenure_gate.view import View, assemble


def view(
    name: str,
    lines: Sequence[Line],
    acting: str | None = None,
    known: dict[str, dict[str, Any]] | None = None,
    out: Sequence[str] = (),
    notices: Sequence[str] = (),
    handover: str | None = None,
) -> View:
    """Put together a view that leaves out ``out``, and what is history."""
    host, by = FORMATS[name], journal(known)
    messages = host.make(lines)
    parts = split(messages, host.reader, by)
    names = {"m1": "history"} if handover else {}
    judged = [
        verdict(
            "queued" if key in out else names.get(key or "", "successor"),  # type: ignore[arg-type]
            key,
            by,
        )
        for key in parts.keys
    ]
    place = None if acting is None else parts.keys.index(acting)
    return assemble(
        messages,
        parts,
        judged,
        host.reader,
        by,
        acting=place,
        notices=notices,
        handover=handover,
    )


def shown(*asked: Any, **more: Any) -> list[str]:  # noqa: ANN401  as `view` takes them
    return texts(view(*asked, **more).messages)


WITH_RESULTS = pytest.mark.parametrize("name", ["openai", "anthropic"])
EVERY = pytest.mark.parametrize("name", FORMATS)


@WITH_RESULTS
def test_a_result_stands_right_behind_its_call(name: str) -> None:
    late = [u("m1"), a("", "c1"), u("m2"), a("two"), t("c1"), a("done")]
    assert shown(name, late) == ["do m1", ">c1", "<c1", "do m2", "two", "done"]
    early = [t("c1"), u("m1"), a("", "c1"), u("m2")]
    seen = view(name, early)
    assert texts(seen.messages) == ["do m1", ">c1", "<c1", "do m2"]
    assert seen.sources == (1, 2, 0, 3)
    assert seen.unanswered == ()


@WITH_RESULTS
def test_results_of_parallel_calls_stand_in_one_row(name: str) -> None:
    lines = [u("m1"), a("", "c1", "c2"), t("c2"), u("m2"), t("c1"), a("done")]
    assert shown(name, lines)[:4] == ["do m1", ">c1 >c2", "<c2", "<c1"]


@EVERY
def test_a_message_that_is_taken_up_later_stands_last_with_its_answers(
    name: str,
) -> None:
    lines = [u("m1"), u("q"), u("r1"), a("for r1", parent="r1")]
    seen = view(name, lines, "q")
    assert texts(seen.messages) == ["do m1", "do r1", "for r1", "do q"]
    assert seen.sources == (0, 2, 3, 1)
    more = [*lines, a("for q", parent="q")]
    assert shown(name, more, "q")[-2:] == ["do q", "for q"]
    # For another request each turn stands where its request does in the list.
    assert shown(name, [*more, u("m4")], "m4") == [
        "do m1",
        "do q",
        "for q",
        "do r1",
        "for r1",
        "do m4",
    ]


@EVERY
def test_a_turn_stands_in_one_piece_and_no_answer_before_its_request(
    name: str,
) -> None:
    lines = [a("early", parent="m2"), u("m1"), u("m2"), a("one", parent="m1")]
    assert shown(name, lines) == ["do m2", "early", "do m1", "one"]


@EVERY
def test_what_is_part_of_one_execution_is_one_turn(name: str) -> None:
    known = {
        "q": {"admitted": 2, "started": 3, "absorbed": ("a", "b")},
        "a": {"admitted": 2, "started": 3, "absorbed_by": "q"},
        "b": {"admitted": 2, "started": 3, "absorbed_by": "q"},
        "s": {"admitted": 4, "started": 5, "into": "q"},
    }
    lines = [u("a"), u("x"), u("b"), u("q"), a("one"), u("y"), u("s"), a("two")]
    for acting in ("q", "a", "s"):
        assert shown(name, lines, acting, known) == [
            "do x",
            "do y",
            "do a",
            "do b",
            "do q",
            "one",
            "do s",
            "two",
        ]
    assert shown(name, lines, None, known)[:3] == ["do a", "do b", "do q"]


@WITH_RESULTS
def test_a_message_that_steers_a_running_turn_does_not_part_a_call(name: str) -> None:
    known = {
        "m1": {"admitted": 2, "started": 3},
        "s": {"admitted": 4, "started": 5, "into": "m1"},
    }
    lines = [u("m1"), a("", "c1"), u("s"), t("c1"), a("done")]
    assert shown(name, lines, "m1", known) == ["do m1", ">c1", "<c1", "do s", "done"]


def test_the_model_acts_on_a_message_beside_results_when_its_turn_has_come() -> None:
    lines = [u("m1"), a("", "c1", "c2"), u("m2", "and B", ["c1"]), t("c2"), a("done")]
    known = {"m1": {"admitted": 2, "started": 3}}
    seen = view("anthropic", lines, "m2", known)
    done = ["do m1", ">c1 >c2", "<c1", "<c2", "done", "and B"]
    assert texts(seen.messages) == done
    assert seen.sources == (0, 1, 2, 3, 4, 2)
    assert seen.unanswered == ()
    told = shown("anthropic", lines, "m2", known, notices=["Look."])
    assert told == [*done[:-1], "Look.", "and B"]


@EVERY
def test_system_messages_stand_before_what_they_stood_before(name: str) -> None:
    lines = [s("first"), u("m1"), s("on q"), u("q"), s("on r"), u("r1"), s("last")]
    assert shown(name, lines, "q") == [
        "first",
        "do m1",
        "on r",
        "do r1",
        "on q",
        "do q",
        "last",
    ]
    # A prompt that stands before everything goes nowhere, whoever is served.
    assert shown(name, [s("first"), u("q"), u("r1")], "q")[0] == "first"


@EVERY
def test_a_loose_answer_behind_everything_is_not_the_last_word(name: str) -> None:
    lines = [u("m1"), a("lost", parent="gone"), s("last")]
    assert shown(name, lines, "m1") == ["lost", "do m1", "last"]


@EVERY
def test_the_hand_over_stands_first_whichever_request_is_served(name: str) -> None:
    lines = [s(), u("q"), u("m1"), a("past", parent="m1"), u("r1")]
    seen = shown(name, lines, "q", handover="B.", notices=["Look."])
    assert [text[:6] for text in seen] == ["You wo", "Handed", "do r1", "Look.", "do q"]


@WITH_RESULTS
def test_what_is_in_order_is_left_as_it_is(name: str) -> None:
    lines = [
        s(),
        a("hello"),
        u("m1"),
        a("", "c1", "c2"),
        t("c2"),
        t("c1"),
        s("Brief."),
        a("x"),
        u("m2"),
        a("", "c3"),
        t("c3"),
        s("now"),
    ]
    messages = FORMATS[name].make(lines)
    seen = view(name, lines, "m2")
    assert seen.messages == messages
    assert seen.sources == tuple(range(len(messages)))


@given(case=cases(unique=True))
def test_every_view_is_what_a_strict_provider_takes(case: Case) -> None:
    assume(all("role" in message for message in case.messages))
    assert complaint(case.view.messages) is None


@given(case=cases(unique=False))
def test_turns_are_in_one_piece_and_the_acting_one_is_last(case: Case) -> None:
    # A request that also holds results is in two places: each part in its own turn.
    both = {one.index for one in case.parts.requests} & case.parts.answers.keys()
    groups = [
        _group(case, source)
        for source in case.view.sources
        if source is not None and source not in both
    ]
    turns = [group for group in groups if group is not None]
    first_seen = list(dict.fromkeys(turns))
    assert turns == sorted(turns, key=first_seen.index)
    if case.acting is None:
        return
    at = case.parts.requests[case.acting].index
    if (
        at in case.view.sources
        and at not in both
        and case.names[case.acting] not in _OUT
    ):
        assert turns[-1] == _group(case, at)


_OUT = {"queued", "unadmitted_human", "not_admitted", "missing_physical_id"} | {
    "stale_admitted",
    "stale_unadmitted",
    "history",
}


def _group(case: Case, index: int) -> object:
    """Name the execution that a message is part of; None: of none."""
    home = case.parts.homes[index]
    if home < 0:
        return None
    key = case.parts.keys[home]
    seen: list[str] = []
    while key is not None and key not in seen:
        seen.append(key)
        known = case.by.execution(key)
        key = (known.absorbed_by or known.into) if known is not None else None
    return seen[-1] if seen else home


@given(case=cases(unique=True))
def test_a_view_is_in_order_already(case: Case) -> None:
    """Given the view as a list, nothing moves: so an ordered list stays as it is."""
    assume(not case.parts.beside)
    shown = [
        (message, source)
        for message, source in zip(case.view.messages, case.view.sources, strict=True)
        if source is not None
    ]
    given_again = [message for message, _ in shown]
    reader, by = case.host.reader, _unfloored(case.by)
    parts = split(given_again, reader, by)
    judged = [verdict("current", key, by) for key in parts.keys]
    acting = None
    if case.acting is not None:
        # Not by its key: several may have none.
        at = case.parts.requests[case.acting].index
        places = [turn.place for turn in parts.requests if shown[turn.index][1] == at]
        acting = places[0] if places else None
    again = assemble(given_again, parts, judged, reader, by, acting=acting)
    assert _same(again.messages, given_again)


def _unfloored(by: JournalSnapshot) -> JournalSnapshot:
    known = {
        key: {
            name: getattr(one, name)
            for name in ("absorbed_by", "into", "admitted", "started", "settled")
        }
        for key, one in by.executions.items()
    }
    return journal(known)


def _same(one: Sequence[Message], two: Sequence[Message]) -> bool:
    return len(one) == len(two) and all(map(lambda a, b: a is b, one, two))


@given(case=cases(unique=False))
def test_arranging_what_is_in_order_moves_nothing(case: Case) -> None:
    judged = iter(case.view.verdicts)
    names = [case.names[turn.place] for turn in case.parts.requests]
    choice = choose(
        case.messages,
        case.parts,
        [None if name is None else next(judged) for name in names],
        case.host.reader,
        case.by,
        acting=case.acting,
        keep_history=True,
    )
    acting = case.acting
    if acting is not None and not choice.kept[case.parts.requests[acting].index]:
        acting = None
    if in_order(case.parts, choice, acting):
        moved = [piece.at for piece in arrange(case.parts, choice, acting, None)]
        assert moved == sorted(moved)
