"""For any list, and any choice of what is left out: what holds of turns and views.

What the tests look at, they find for themselves: in the messages, never in the split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate_cases import PASSING, Case, cases, rows
from gate_homes import hanging, orphans
from gate_lists import FORMATS, Line, journal
from tenure_gate.readers import Message
from tenure_gate.reading import COPY, LOOSE, PREFIX, SYSTEM
from tenure_gate.turns import split
from tenure_gate.view import assemble


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
def test_nothing_comes_from_nowhere(case: Case) -> None:
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
    """But for copies, for results whose call is not there, and for what is moved."""
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
            assert shown
            assert shown[0] is message or (len(shown) > 1 and not parts.orderly)


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
