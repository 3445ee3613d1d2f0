"""For any list, and any choice of what is left out: what holds of turns and views.

What the tests look at, they find for themselves: in the messages, never in the split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate_homes import hanging, orphans
from gate_lists import FORMATS, Format, Line, journal, verdict
from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import Message
from tenure_gate.reading import COPY, LOOSE, PREFIX, SYSTEM
from tenure_gate.turns import Split, split
from tenure_gate.verdicts import VerdictName
from tenure_gate.view import View, assemble

IDS = ["m1", "m2", "m3", "m4", None]
CALLS = ["c1", "c2", "c3"]
NAMES: list[VerdictName | None] = [*get_args(VerdictName), None]
PASSING = {"current", "successor", "history", None}


class Case(NamedTuple):
    """A list in one format, taken apart, and the view of it."""

    host: Format
    messages: list[Message]
    parts: Split
    names: dict[int, VerdictName | None]
    """Verdicts by place."""
    view: View
    floor: bool
    """The host rewrote its history."""


@st.composite
def rows(draw: st.DrawFn, *, unique: bool) -> list[Line]:
    """Draw a list in any order; ``unique``: no call id is used, or answered, twice."""
    lines: list[Line] = []
    fresh = iter(range(100))
    open_calls: list[str] = []
    for number in range(draw(st.integers(0, 10))):
        role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        calls: tuple[str, ...] = ()
        results: tuple[str, ...] = ()
        if role == "assistant":
            count = draw(st.integers(0, 2))
            if unique:
                calls = tuple(f"call_{next(fresh)}" for _ in range(count))
                open_calls += calls
            else:
                calls = tuple(draw(st.sampled_from(CALLS)) for _ in range(count))
        if role == "tool" or (role == "user" and draw(st.booleans())):
            pool = open_calls if unique else CALLS
            chosen = st.lists(st.sampled_from(pool), max_size=2, unique=True)
            results = tuple(draw(chosen)) if pool else ()
            open_calls = [call for call in open_calls if call not in results]
        if role == "tool" and not results:
            results = (f"nobody_{number}",)
        name = draw(st.sampled_from(IDS)) if role == "user" else f"x{number}"
        parents = st.sampled_from([None, None, "m1", "m2", "gone", "x1", "x3"])
        parent = draw(parents) if role == "assistant" else None
        lines.append(Line(role, f"says {name}", name, calls, results, parent))
    order = draw(st.permutations(lines)) if draw(st.booleans()) else lines
    return list(order)


EXECUTION = st.fixed_dictionaries(
    {},
    optional={
        "admitted": st.sampled_from([2, 8]),
        "started": st.just(9),
        "settled": st.just(10),
        "outcome": st.sampled_from(["completed", "cancelled"]),
        "stripped": st.just(11),
    },
)
FLOOR = st.sampled_from([None, "m1", "m2", "m3", "x2", "x4", "gone"])


@st.composite
def journals(draw: st.DrawFn) -> JournalSnapshot:
    """Draw what the ledger knows of some of the requests."""
    known = draw(st.dictionaries(st.sampled_from(["m1", "m2", "gone"]), EXECUTION))
    floors = draw(st.none() | st.tuples(FLOOR, FLOOR))
    return journal(known, cut=draw(st.sampled_from([0, 5])), floors=floors)


def cases(*, unique: bool) -> st.SearchStrategy[Case]:
    """Draw a list, verdicts, notes and a ledger; put the view together."""

    @st.composite
    def draw_case(draw: st.DrawFn) -> Case:
        host = FORMATS[draw(st.sampled_from(sorted(FORMATS)))]
        messages = host.make(draw(rows(unique=unique)))
        by = draw(journals())
        before = deepcopy(messages)
        parts = split(messages, host.reader, by)
        names: list[VerdictName | None] = [
            draw(st.sampled_from(NAMES)) for _ in parts.requests
        ]
        count = len(names)
        view = assemble(
            messages,
            parts,
            [
                None if name is None else verdict(name, key, by)
                for name, key in zip(names, parts.keys, strict=True)
            ],
            host.reader,
            by,
            acting=draw(st.none() | st.integers(0, count - 1)) if count else None,
            handover=draw(st.none() | st.just("Done: A. Next: B.")),
            notices=draw(st.lists(st.just("Look at this first."), max_size=2)),
        )
        assert messages == before, "the host's list was changed"
        floor = by.state.relay.rewrite is not None
        return Case(host, messages, parts, dict(enumerate(names)), view, floor)

    return draw_case()


def blocks(message: Message) -> list[Any]:
    content: Any = message.get("content")
    return [] if content is None or isinstance(content, str) else content


def calls_in(messages: Sequence[Message]) -> Counter[str]:
    found: Counter[str] = Counter()
    for message in messages:
        made = [one["id"] for one in blocks(message) if one["type"] == "tool_use"]
        found.update(made)
        found.update(call["id"] for call in message.get("tool_calls") or ())
    return found


def results_in(messages: Sequence[Message]) -> Counter[str]:
    found: Counter[str] = Counter()
    for message in messages:
        if "tool_call_id" in message:
            found[message["tool_call_id"]] += 1
        found.update(
            one["tool_use_id"]
            for one in blocks(message)
            if one["type"] == "tool_result"
        )
    return found


@given(case=cases(unique=True))
def test_no_call_loses_its_result_and_no_result_its_call(case: Case) -> None:
    shown = case.view.messages
    calls, results = calls_in(shown), results_in(shown)
    answered = results_in(case.messages)
    assert results.keys() <= calls.keys()
    assert {call for call in calls if call in answered} <= results.keys()


@given(case=cases(unique=False))
def test_a_result_is_never_shown_without_a_call_of_its_id(case: Case) -> None:
    shown = case.view.messages
    assert results_in(shown).keys() <= calls_in(shown).keys()


@given(case=cases(unique=False))
def test_the_order_is_kept_and_nothing_comes_from_nowhere(case: Case) -> None:
    sources = [source for source in case.view.sources if source is not None]
    assert sources == sorted(sources)
    assert len(case.view.messages) == len(case.view.sources)
    for message, source in zip(case.view.messages, case.view.sources, strict=True):
        if source is None:
            assert case.host.reader.role(message) == "user"
            continue
        whole = case.messages[source]
        if message is not whole:
            assert message.keys() == whole.keys()


@given(case=cases(unique=False))
def test_every_message_belongs_to_one_thing(case: Case) -> None:
    """To one turn, the prefix or what is loose; two only where results are beside."""
    parts, reader = case.parts, case.host.reader
    homes = [*range(len(parts.keys)), PREFIX, SYSTEM, LOOSE]
    owners = Counter(index for home in homes for index in hanging(parts, home))
    owners.update(index for index, home in enumerate(parts.homes) if home == COPY)
    for index, message in enumerate(case.messages):
        results = len(reader.results(message))
        says_more = reader.role(message) != "tool"
        least = 1 if says_more or index not in orphans(parts) else 0
        assert least <= owners[index] <= results + says_more
        if not results:
            assert owners[index] == 1
    keys = [key for key in parts.keys if key is not None]
    assert len(keys) == len(set(keys))


@given(case=cases(unique=False))
def test_a_request_is_shown_when_its_verdict_passes(case: Case) -> None:
    """Always, where no floor is; and what does not pass never is."""
    for turn in case.parts.requests:
        name, shown = case.names[turn.place], _says_it(case, turn.index)
        if not case.floor and name != "history":
            assert shown == (name in PASSING)
        assert name in PASSING or not shown
    for index, home in enumerate(case.parts.homes):
        assert home != COPY or not _says_it(case, index)


def _says_it(case: Case, index: int) -> bool:
    """Say whether the view holds what this request says, its results apart."""
    for message, source in zip(case.view.messages, case.view.sources, strict=True):
        if source == index:
            pieces = message.get("parts", message.get("content"))
            if isinstance(pieces, str) or any(p["type"] == "text" for p in pieces):
                return True
    return False


@given(rows=rows(unique=False), name=st.sampled_from(sorted(FORMATS)))
def test_with_nothing_left_out_the_view_is_the_list(
    rows: list[Line], name: str
) -> None:
    """But for copies, and for results whose call is not there."""
    host, by = FORMATS[name], journal()
    messages = host.make(rows)
    parts = split(messages, host.reader)
    view = assemble(messages, parts, [None] * len(parts.keys), host.reader, by)
    copies = {index for index, home in enumerate(parts.homes) if home == COPY}
    for index, message in enumerate(messages):
        shown = [
            one
            for one, source in zip(view.messages, view.sources, strict=True)
            if source == index
        ]
        if index not in copies and index not in orphans(parts):
            assert len(shown) == 1
            assert shown[0] is message


@given(case=cases(unique=False))
def test_the_same_is_said_every_time(case: Case) -> None:
    again = split(case.messages, case.host.reader)
    assert again == split(deepcopy(case.messages), case.host.reader)


@pytest.mark.parametrize("name", sorted(FORMATS))
@given(rows=rows(unique=True))
def test_taking_turns_apart_needs_no_ledger(name: str, rows: list[Line]) -> None:
    """A ledger that knows nothing changes nothing."""
    host = FORMATS[name]
    messages = host.make(rows)
    assert split(messages, host.reader) == split(messages, host.reader, journal())
