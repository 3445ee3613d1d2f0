"""Anthropic messages: blocks, results inside user messages, and what is refused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gate_homes import belonging
from tenure import InvalidInput, KeyReused
from tenure_gate.readers import AnthropicReader, Message
from tenure_gate.turns import split

READER = AnthropicReader()


def text(says: str) -> dict[str, Any]:
    return {"type": "text", "text": says}


def use(name: str, kind: str = "tool_use") -> dict[str, Any]:
    return {"type": kind, "id": name, "name": "run", "input": {}}


def result(name: str, kind: str = "tool_result") -> dict[str, Any]:
    return {"type": kind, "tool_use_id": name, "content": "ok"}


def user(*blocks: dict[str, Any], **more: object) -> Message:
    return {"role": "user", "content": [*blocks], **more}


def assistant(*blocks: dict[str, Any]) -> Message:
    return {"role": "assistant", "content": [*blocks]}


def test_a_user_message_of_results_alone_is_no_request() -> None:
    messages = [
        user(text("do"), id="m1"),
        assistant(use("c1"), use("c2")),
        user(result("c1"), result("c2")),
    ]
    parts = split(messages, READER)
    assert belonging(parts) == {"m1": (0, 1, 2)}


def test_a_message_of_results_and_text_is_both() -> None:
    messages = [
        user(text("do"), id="m1"),
        assistant(use("c1")),
        user(result("c1"), text("and that"), id="m2"),
        assistant(text("done")),
    ]
    parts = split(messages, READER)
    assert belonging(parts) == {"m1": (0, 1, 2), "m2": (2, 3)}
    assert [turn.index for turn in parts.requests] == [0, 2]


def test_a_part_of_a_message_holds_what_was_asked_for() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "x"}}
    message = user(result("c1"), result("c2"), image, text("that"), id="m2", x=1)
    before = deepcopy(message)
    part = READER.part(message, {1}, rest=False)
    assert part == {**before, "content": [result("c2")]}
    assert READER.part(message, (), rest=True)["content"] == [image, text("that")]
    assert READER.part(message, {0, 1}, rest=True) == before
    assert message == before


def test_a_replaced_message_keeps_its_results() -> None:
    message = user(result("c1"), text("secret"), id="m2")
    replaced = READER.replace(message, "gone")
    assert replaced == {**message, "content": [result("c1"), text("gone")]}


def test_tools_of_the_provider_stay_with_their_results() -> None:
    message = assistant(
        use("s1", "server_tool_use"),
        result("s1", "web_search_tool_result"),
        use("s2", "mcp_tool_use"),
        result("s2", "mcp_tool_result"),
        text("found"),
    )
    parts = split([user(text("find"), id="m1"), message], READER)
    assert belonging(parts) == {"m1": (0, 1)}
    assert (parts.unanswered, dict(parts.answers)) == ((), {})


def test_a_providers_result_may_come_in_the_next_message() -> None:
    messages = [
        user(text("find"), id="m1"),
        assistant(use("s1", "server_tool_use")),
        assistant(result("s1", "web_search_tool_result"), text("found")),
    ]
    parts = split(messages, READER)
    assert belonging(parts) == {"m1": (0, 1, 2)}
    assert parts.unanswered == ()


def test_plain_text_is_a_block_of_text() -> None:
    assert READER.same({"role": "user", "content": "x"}, user(text("x")))
    assert READER.role({"role": "user", "content": "x"}) == "user"
    assert READER.role(user()) == "user"
    assert READER.role({"role": "system", "content": "x"}) == "system"


def test_a_cache_breakpoint_makes_no_other_content() -> None:
    marked = {**text("x"), "cache_control": {"type": "ephemeral"}}
    assert READER.same(user(marked), user(text("x")))
    messages = [user(marked, id="m1"), user(text("y"), id="m1")]
    with pytest.raises(KeyReused) as refused:
        split(messages, READER)
    assert refused.value.evidence == {"key": "m1", "indices": (0, 1)}


def test_what_a_copy_answers_besides_is_no_matter() -> None:
    assert READER.same(user(result("c1"), text("x")), user(text("x")))
    assert not READER.same(user(result("c1"), text("x")), user(text("y")))


def test_the_host_vouches_by_mark_or_callable() -> None:
    assert READER.human(user(text("x"), human=True))
    assert READER.human(user(text("x"), metadata={"human": True}))
    assert not READER.human(user(text("x")))
    assert AnthropicReader(human=lambda _: True).human(user(text("x")))


BAD: list[tuple[Any, str]] = [
    (7, "a message must be a dict"),
    ({"role": "user"}, "a message has no content"),
    ({"role": "user", "content": None}, "a message has no content"),
    ({"role": "user", "content": {"type": "text"}}, "content must be a list"),
    ({"role": "user", "content": [7]}, "each of content must be a dict"),
    ({"role": "user", "content": [{"type": None}]}, "must have a type"),
    ({"role": "tool", "content": "x"}, "role must be user, assistant or system"),
    ({"role": None, "content": "x"}, "not a NoneType"),
    (assistant({"type": "tool_use"}), "id of a tool_use block is missing"),
    (assistant({"type": "tool_use", "id": 3}), "must be text"),
    (user({"type": "tool_result"}), "tool_use_id is missing"),
    (user({"type": "tool_result", "tool_use_id": ""}), "must be text, not empty"),
    (user(text("x"), id=4), "id must be text"),
]


@pytest.mark.parametrize(("message", "says"), BAD)
def test_a_bad_shape_is_refused_with_its_index(message: Message, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        split([user(text("x")), message], READER)
    assert refused.value.evidence["index"] == 1
