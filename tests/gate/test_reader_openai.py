"""OpenAI chat messages: what each field is taken for, and what is refused."""

from __future__ import annotations

from copy import deepcopy
from types import MappingProxyType
from typing import Any

import pytest

from gate_homes import belonging
from tenure import InvalidInput
from tenure_gate.readers import Message, OpenAIReader
from tenure_gate.turns import split

READER = OpenAIReader()
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("system", "system"),
        ("developer", "system"),
        ("user", "user"),
        ("assistant", "assistant"),
        ("tool", "tool"),
        ("function", "tool"),
    ],
)
def test_each_role_is_one_of_four(name: str, role: str) -> None:
    assert READER.role({"role": name, "content": "x"}) == role


def test_an_id_lies_under_id_or_in_metadata() -> None:
    assert READER.id({"role": "user", "content": "x", "id": "m1"}) == "m1"
    assert READER.id({"role": "user", "metadata": {"id": "m1"}}) == "m1"
    assert READER.id({"role": "user", "id": "m1", "metadata": {"id": "m1"}}) == "m1"
    assert READER.id({"role": "user", "id": None, "metadata": None}) is None
    assert READER.id({"role": "user", "metadata": "what a host noted"}) is None


def test_two_ids_are_never_chosen_from() -> None:
    with pytest.raises(InvalidInput, match="differ"):
        READER.id({"role": "user", "id": "m1", "metadata": {"id": "m2"}})


def test_calls_of_every_kind_are_found() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [CALL, CUSTOM]}
    assert READER.calls(message) == ["c1", "c2"]
    assert READER.calls({"role": "assistant", "content": "x"}) == ()
    assert READER.calls({"role": "assistant", "tool_calls": []}) == []


def test_a_tool_message_answers_its_call() -> None:
    message = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    assert READER.results(message) == ("c1",)
    assert READER.results({"role": "user", "content": "x"}) == ()


def test_calls_of_older_lists_are_paired_in_order() -> None:
    call = {"name": "f", "arguments": "{}"}
    messages = [
        {"role": "user", "content": "one", "id": "m1"},
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "user", "content": "two", "id": "m2"},
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "f", "content": "2"},
    ]
    found = belonging(split(messages, READER))
    assert found == {"m1": (0, 1, 2), "m2": (3, 4, 5)}


@pytest.mark.parametrize(
    ("fields", "vouched"),
    [
        ({}, False),
        ({"human": None}, False),
        ({"human": False}, False),
        ({"human": True}, True),
        ({"metadata": {"human": True}}, True),
    ],
)
def test_only_true_vouches_for_a_person(fields: dict[str, Any], vouched: bool) -> None:  # noqa: FBT001  a case of the table
    assert READER.human({"role": "user", "content": "x", **fields}) is vouched


def test_a_hosts_callable_vouches_in_place_of_the_mark() -> None:
    reader = OpenAIReader(human=lambda message: message["name"] == "ada")
    assert reader.human({"role": "user", "content": "x", "name": "ada"})
    assert not reader.human({"role": "user", "name": "cron", "human": True})


BAD: list[tuple[Any, str]] = [
    (None, "a message must be a dict, not a NoneType"),
    ("text", "a message must be a dict, not a str"),
    ([], "a message must be a dict"),
    ({}, "role must be one of"),
    ({"role": "robot", "content": "x"}, "not 'robot'"),
    ({"role": ["user"], "content": "x"}, "role must be one of"),
    ({"role": "user"}, "a user message has no content"),
    ({"role": "user", "content": 1}, "content must be a list, not an int"),
    ({"role": "user", "content": ["x"]}, "each of content must be a dict"),
    ({"role": "user", "content": [{}]}, "each of content must have a type"),
    ({"role": "user", "content": "x", "id": 1}, "id must be text, not an int"),
    ({"role": "user", "content": "x", "id": ""}, "id must be text, not empty"),
    ({"role": "user", "content": "x", "id": "a\0"}, "NUL"),
    ({"role": "user", "content": "x", "id": "a" * 257}, "257 characters"),
    ({"role": "user", "content": "x", "id": "\ud83d"}, "surrogate"),
    ({"role": "user", "content": "x", "human": "yes"}, "true or false"),
    ({"role": "assistant", "tool_calls": {}}, "tool_calls must be a list"),
    ({"role": "assistant", "tool_calls": ["c1"]}, "each of tool_calls"),
    ({"role": "assistant", "tool_calls": [{}]}, "id of a tool call is missing"),
    ({"role": "assistant", "tool_calls": [{"id": 7}]}, "must be text"),
    ({"role": "assistant", "parent_id": 7}, "parent_id must be text"),
    ({"role": "assistant", "function_call": "f"}, "function_call must be a dict"),
    ({"role": "tool", "content": "x"}, "tool_call_id is missing"),
    ({"role": "tool", "tool_call_id": 1}, "tool_call_id must be text"),
    ({"role": "function", "content": "x"}, "name of a function's message"),
]


@pytest.mark.parametrize(("message", "says"), BAD)
def test_a_bad_shape_is_refused_with_its_index(message: Message, says: str) -> None:
    fine = {"role": "user", "content": "x", "id": "m1"}
    with pytest.raises(InvalidInput, match=says) as refused:
        split([fine, fine, message], READER)
    assert refused.value.evidence["index"] == 2
    assert str(refused.value).startswith("message 2: ")


@pytest.mark.parametrize("messages", ["text", b"text", None, {"role": "user"}, 7])
def test_what_is_no_list_is_refused(messages: Any) -> None:  # noqa: ANN401  nonsense
    with pytest.raises(InvalidInput, match="messages must be a list"):
        split(messages, READER)


def test_what_the_reader_does_not_know_is_no_matter() -> None:
    odd = {
        "role": "user",
        "content": [{"type": "hologram", "depth": 3}],
        "id": "m1",
        "weather": object(),
    }
    assert split((MappingProxyType(odd),), READER).keys == ("m1",)


def test_the_same_text_in_two_shapes_is_the_same() -> None:
    text = {"role": "user", "content": "x"}
    part = {"role": "user", "content": [{"type": "text", "text": "x"}], "id": "m1"}
    assert READER.same(text, part)
    assert not READER.same(text, {"role": "user", "content": "y"})


def test_copies_leave_the_hosts_message_alone() -> None:
    message = {"role": "user", "content": "secret", "id": "m1", "name": "ada"}
    before = deepcopy(message)
    assert READER.replace(message, "gone") == {**before, "content": "gone"}
    assert READER.note("hello", message) == {"role": "user", "content": "hello"}
    assert message == before
