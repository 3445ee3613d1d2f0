"""The floor: where a view starts after the host rewrote its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from gate_lists import FORMATS, Format, Line, a, journal, s, t, texts, u, verdict
from tenure_gate.turns import split
from tenure_gate.verdicts import VerdictName
from tenure_gate.view import HANDOVER, assemble

SUMMARY = Line("assistant", "summary", "sum")
LIST = [s(), a("hi"), u("m1"), a("one"), u("m2"), SUMMARY, s("Brief."), u("m3"), a("x")]
THREE: list[VerdictName] = ["current", "current", "current"]
OPEN = {"admitted": 5}
DONE = {"admitted": 5, "started": 6, "settled": 7, "outcome": "completed"}


@pytest.fixture(params=FORMATS)
def host(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


def floored(
    host: Format,
    floors: tuple[str | None, str | None],
    known: Mapping[str, Mapping[str, object]],
    names: Sequence[VerdictName] = THREE,
    *,
    cut: int = 0,
    acting: int | None = None,
    lines: Sequence[Line] = LIST,
    handover: str | None = None,
) -> list[str]:
    messages = host.make(lines)
    by = journal(known, cut=cut, floors=floors)
    parts = split(messages, host.reader, by)
    judged = [
        verdict(name, turn.key, by)
        for name, turn in zip(names, parts.requests, strict=True)
    ]
    seen = assemble(
        messages, parts, judged, host.reader, by, acting=acting, handover=handover
    )
    return texts(seen.messages)


def test_a_view_starts_at_the_floor_but_system_messages_stay(host: Format) -> None:
    assert floored(host, ("sum", None), {}) == [
        "You work.",
        "summary",
        "Brief.",
        "do m3",
        "x",
    ]


@pytest.mark.parametrize(
    ("floors", "first"),
    [
        (("m2", "sum"), "summary"),
        (("m3", "m2"), "Brief."),
        (("m2", None), "do m2"),
        ((None, "m2"), "do m2"),
        (("gone", "m2"), "do m2"),
    ],
)
def test_the_floor_that_stands_further_down_counts(
    host: Format, floors: tuple[str | None, str | None], first: str
) -> None:
    assert floored(host, floors, {})[1] == first


@pytest.mark.parametrize("floors", [("gone", "lost"), (None, None)])
def test_a_floor_that_is_not_in_the_list_is_ignored(
    host: Format, floors: tuple[str | None, str | None]
) -> None:
    assert len(floored(host, floors, {})) == len(LIST)


def test_work_admitted_after_the_cut_and_not_settled_stays(host: Format) -> None:
    known: dict[str, Mapping[str, object]] = {"m1": OPEN, "m2": DONE}
    names: list[VerdictName] = ["successor", "successor", "successor"]
    seen = floored(host, ("m3", None), known, names, cut=4)
    assert seen == ["You work.", "do m1", "one", "Brief.", "do m3", "x"]


def test_work_admitted_before_the_cut_goes(host: Format) -> None:
    seen = floored(host, ("m3", None), {"m1": OPEN}, cut=6)
    assert seen == ["You work.", "Brief.", "do m3", "x"]


def test_what_waits_stays_out_although_no_floor_takes_it(host: Format) -> None:
    names: list[VerdictName] = ["queued", "current", "current"]
    assert "do m1" not in floored(host, ("m3", None), {"m1": OPEN}, names)


def test_the_acting_request_stays(host: Format) -> None:
    seen = floored(host, ("m3", None), {}, acting=0)
    assert seen == ["You work.", "Brief.", "do m3", "x", "do m1", "one"]


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_result_below_the_floor_goes_with_its_call_above(name: str) -> None:
    lines = [u("m1"), a("", "c1"), u("m2"), t("c1"), a("x")]
    host, names = FORMATS[name], THREE[:2]
    assert floored(host, ("m2", None), {}, names, lines=lines) == ["do m2", "x"]
    kept = floored(host, ("m2", None), {"m1": OPEN}, names, lines=lines)
    assert kept == ["do m1", ">c1", "<c1", "do m2", "x"]


def test_a_cancelled_message_above_the_floor_leaves_nothing_but_results() -> None:
    lines = [u("m1"), a("", "c1"), u("m2", "secret", ["c1"]), u("m3")]
    names: list[VerdictName] = ["current", "history", "current"]
    cancelled = {"started": 2, "settled": 3, "outcome": "cancelled"}
    seen = floored(
        FORMATS["anthropic"],
        ("m3", None),
        {"m1": OPEN, "m2": cancelled},
        names,
        lines=lines,
    )
    assert seen == ["do m1", ">c1", "<c1", "do m3"]


def test_no_hand_over_for_history_that_the_floor_took(host: Format) -> None:
    names: list[VerdictName] = ["history", "history", "successor"]
    seen = floored(host, ("m3", None), {}, names, handover="B.")
    assert seen == ["You work.", "Brief.", "do m3", "x"]
    part = floored(host, ("m2", None), {}, names, handover="B.")
    assert part == ["You work.", f"{HANDOVER}B.", "Brief.", "do m3", "x"]
