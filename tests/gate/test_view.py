"""The view: what is left of a list, and where notes stand in it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gate_lists import FORMATS, Format, Line, a, journal, s, t, texts, u, verdict
from tenure_gate.journal import JournalSnapshot
from tenure_gate.turns import split
from tenure_gate.verdicts import VerdictName
from tenure_gate.view import CANCELLED, HANDOVER, View, assemble, handover_due

NOTHING = journal()
OUT: list[VerdictName] = [
    "queued",
    "unadmitted_human",
    "not_admitted",
    "stale_admitted",
    "stale_unadmitted",
    "missing_physical_id",
]
OPENAI, ANTHROPIC = FORMATS["openai"], FORMATS["anthropic"]


@pytest.fixture(params=FORMATS)
def host(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


def view(
    host: Format,
    lines: Sequence[Line],
    verdicts: Sequence[VerdictName | None],
    by: JournalSnapshot = NOTHING,
    *,
    acting: int | None = None,
    handover: str | None = None,
    notices: Sequence[str] = (),
) -> View:
    messages = host.make(lines)
    parts = split(messages, host.reader, by)
    judged = [
        None if name is None else verdict(name, turn.key, by)
        for name, turn in zip(verdicts, parts.requests, strict=True)
    ]
    return assemble(
        messages,
        parts,
        judged,
        host.reader,
        by,
        acting=acting,
        handover=handover,
        notices=notices,
    )


TALK = [s(), u("m1"), a("one"), u("m2"), a("two"), u("m3")]


def test_what_passes_is_the_hosts_own_objects_in_its_order(host: Format) -> None:
    messages = host.make(TALK)
    parts = split(messages, host.reader)
    names: list[VerdictName | None] = ["history", "current", None]
    judged = [n and verdict(n, None, NOTHING) for n in names]
    seen = assemble(messages, parts, judged, host.reader, NOTHING)
    assert len(seen.messages) == len(messages)
    assert all(map(lambda one, two: one is two, seen.messages, messages))
    assert seen.sources == tuple(range(len(messages)))
    assert [one.name for one in seen.verdicts] == ["history", "current"]


@pytest.mark.parametrize("out", OUT)
def test_what_does_not_pass_stays_out_whole(host: Format, out: VerdictName) -> None:
    seen = view(host, TALK, ["current", out, "successor"])
    assert texts(seen.messages) == ["You work.", "do m1", "one", "do m3"]
    assert seen.sources == (0, 1, 2, 5)


def test_leftovers_are_named(host: Format) -> None:
    seen = view(host, TALK, ["stale_admitted", "queued", "stale_unadmitted"])
    assert seen.stripped == ("m1", "m3")


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_late_result_goes_with_its_call(name: str) -> None:
    lines = [u("m1"), a("", "c1"), u("m2"), a("x"), t("c1"), a("y")]
    gone = view(FORMATS[name], lines, ["stale_admitted", "successor"])
    assert texts(gone.messages) == ["do m2", "x", "y"]
    kept = view(FORMATS[name], lines, ["successor", "queued"])
    assert texts(kept.messages) == ["do m1", ">c1", "<c1"]


def test_results_of_two_turns_in_one_message_are_parted() -> None:
    lines = [u("m1"), a("", "c1"), u("m2"), a("", "c2"), t("c1", "c2")]
    seen = view(ANTHROPIC, lines, ["stale_admitted", "successor"])
    assert texts(seen.messages) == ["do m2", ">c2", "<c2"]
    assert seen.sources == (2, 3, 4)


def test_results_and_a_request_in_one_message_are_parted() -> None:
    lines = [u("m1"), a("", "c1"), u("m2", "and that", ["c1"]), a("done")]
    first = view(ANTHROPIC, lines, ["current", "queued"])
    assert texts(first.messages) == ["do m1", ">c1", "<c1"]
    second = view(ANTHROPIC, lines, ["stale_admitted", "successor"])
    assert texts(second.messages) == ["and that", "done"]
    both = view(ANTHROPIC, lines, ["current", "current"])
    assert texts(both.messages) == ["do m1", ">c1", "<c1 and that", "done"]


def test_a_provider_may_want_results_that_never_came(host: Format) -> None:
    lines = [u("m1"), a("", "c1", "c2"), t("c1"), u("m2"), a("", "c3")]
    seen = view(host, lines, ["current", "current"])
    assert seen.unanswered == ("c2", "c3")
    assert view(host, lines, ["queued", "current"]).unanswered == ("c3",)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_result_without_its_call_stays_out(name: str) -> None:
    seen = view(FORMATS[name], [t("lost"), u("m1"), a("x"), t("gone")], ["current"])
    assert texts(seen.messages) == ["do m1", "x"]


def test_a_result_without_its_call_is_cut_out_of_a_message() -> None:
    lines = [u("m1"), a("", "c1"), t("c1", "lost"), u("m2", None, ["gone"])]
    seen = view(ANTHROPIC, lines, ["current", "current"])
    assert texts(seen.messages) == ["do m1", ">c1", "<c1", "do m2"]


def test_a_result_of_the_providers_own_tool_stays_with_its_call() -> None:
    def block(kind: str, **fields: str) -> dict[str, str]:
        return {"type": kind, **fields}

    own = [
        block("server_tool_use", id="s1"),
        block("web_search_tool_result", tool_use_id="s1"),
    ]
    lost = block("web_search_tool_result", tool_use_id="lost")
    messages = [
        {"role": "user", "content": "find", "id": "m1"},
        {"role": "assistant", "content": [*own, lost]},
    ]
    parts = split(messages, ANTHROPIC.reader)
    seen = assemble(messages, parts, [None], ANTHROPIC.reader, NOTHING)
    assert seen.messages == [messages[0], {"role": "assistant", "content": own}]


def test_a_copy_stays_out_and_what_hangs_on_it_stays_in(host: Format) -> None:
    lines = [u("m1"), a("half"), u("m1"), a("whole")]
    seen = view(host, lines, ["current"])
    assert texts(seen.messages) == ["do m1", "half", "whole"]


def test_an_answer_to_a_leftover_that_is_not_here_stays_out(host: Format) -> None:
    lines = [u("m1"), a("ghost", parent="gone"), a("past", parent="old")]
    seen = view(host, lines, ["current"], journal({"gone": {"stripped": 7}}))
    assert texts(seen.messages) == ["do m1", "past"]


def test_one_note_stands_for_all_history(host: Format) -> None:
    lines = [s(), a("hello"), u("m1"), a("one"), s("Be brief."), u("m2"), u("m3")]
    seen = view(host, lines, ["history", "history", "successor"], handover="Next: B.")
    assert texts(seen.messages) == [
        "You work.",
        "hello",
        f"{HANDOVER}Next: B.",
        "Be brief.",
        "do m3",
    ]
    assert seen.sources == (0, 1, None, 4, 6)


def test_the_hand_over_stands_before_every_request(host: Format) -> None:
    lines = [s(), u("m3"), u("m1"), a("one")]
    seen = view(host, lines, ["successor", "history"], handover="Next: B.")
    assert texts(seen.messages) == ["You work.", f"{HANDOVER}Next: B.", "do m3"]


def test_without_history_there_is_nothing_to_hand_over(host: Format) -> None:
    seen = view(host, [u("m3")], ["successor"], handover="Next: B.")
    assert texts(seen.messages) == ["do m3"]


def test_a_late_result_of_history_goes_with_it() -> None:
    lines = [u("m1"), a("", "c1"), u("m2", None, ["c1"]), a("x")]
    seen = view(ANTHROPIC, lines, ["history", "successor"], handover="B.")
    assert texts(seen.messages) == [f"{HANDOVER}B.", "do m2", "x"]


def test_what_was_cancelled_says_so_where_history_is_kept(host: Format) -> None:
    known = {"m1": {"started": 2, "settled": 3, "outcome": "cancelled"}}
    seen = view(host, TALK, ["history", "history", "successor"], journal(known))
    assert texts(seen.messages)[1:4] == [CANCELLED, "one", "do m2"]
    current = view(host, TALK, ["current", "current", "current"], journal(known))
    assert texts(current.messages)[1] == "do m1"


def test_cancelled_keeps_the_results_that_stand_beside_it() -> None:
    known = {"m2": {"started": 2, "settled": 3, "outcome": "cancelled"}}
    lines = [u("m1"), a("", "c1"), u("m2", "secret", ["c1"])]
    kept = view(ANTHROPIC, lines, ["current", "history"], journal(known))
    assert texts(kept.messages)[2] == f"<c1 {CANCELLED}"
    alone = view(ANTHROPIC, lines, ["queued", "history"], journal(known))
    assert texts(alone.messages) == [CANCELLED]


@pytest.mark.parametrize("notices", [["First."], ["First.", "Second."]])
def test_notices_stand_in_one_note_before_the_acting_request(
    host: Format, notices: list[str]
) -> None:
    names: list[VerdictName] = ["current", "current", "current"]
    seen = view(host, TALK, names, acting=1, notices=notices)
    told = "\n\n".join(notices)
    assert texts(seen.messages)[2:] == ["one", "do m3", told, "do m2", "two"]
    assert (seen.acting, seen.notices) == ("m2", tuple(notices))
    assert seen.sources == (0, 1, 2, 5, None, 3, 4)


def test_notices_stay_where_they_are_while_the_turn_grows(host: Format) -> None:
    names: list[VerdictName] = ["current", "current", "current"]
    before = view(host, TALK, names, acting=2, notices=["Look."])
    more = [*TALK, a("", "c1"), t("c1"), a("three")]
    after = view(host, more, names, acting=2, notices=["Look."])
    assert after.messages[: len(before.messages)] == before.messages


def test_notices_do_not_part_a_call_from_its_result() -> None:
    lines = [u("m1"), a("", "c1"), u("m2", "and that", ["c1"])]
    seen = view(ANTHROPIC, lines, ["current", "current"], acting=1, notices=["Look."])
    assert texts(seen.messages) == ["do m1", ">c1", "<c1", "Look.", "and that"]
    assert seen.sources == (0, 1, 2, None, 2)


def test_no_notices_without_the_request_that_they_are_for(host: Format) -> None:
    seen = view(host, [u("m1")], ["queued"], acting=0, notices=["Look."])
    assert (seen.messages, seen.notices, seen.acting) == ([], (), "m1")
    assert view(host, [u("m1")], ["current"], notices=["Look."]).notices == ()


@pytest.mark.parametrize(
    ("history", "outcome", "due"),
    [
        ("auto", "continue", True),
        ("auto", "accepted", False),
        ("auto", "forced", False),
        ("keep", "continue", False),
        ("handover", "accepted", True),
        ("handover", "continue", True),
    ],
)
def test_when_a_hand_over_is_due(history: str, outcome: str, due: bool) -> None:  # noqa: FBT001  a case of the table
    cut = journal(cut=9, outcome=outcome).cut  # type: ignore[arg-type]
    assert handover_due(history, cut) is due  # type: ignore[arg-type]
    assert not handover_due(history, None)  # type: ignore[arg-type]


def test_verdicts_and_requests_are_as_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        assemble(
            OPENAI.make(TALK),
            split(OPENAI.make(TALK), OPENAI.reader),
            [None],
            OPENAI.reader,
            NOTHING,
        )
