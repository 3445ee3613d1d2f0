"""What a reader says of a list: asked once, quick or slow, it is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from gate_lists import FORMATS, Line, a, s, t, u
from gates import Gate, relayed, said, user, verdicts
from tenure import AnthropicReader, InvalidInput, OpenAIReader, OpenCodeReader
from tenure_gate.readers import Message, MessageReader, Role, hear, ids
from tenure_gate.reading import LOOSE, SYSTEM
from tenure_gate.turns import split
from worlds import World

OPENAI = FORMATS["openai"]
OurReader = OpenAIReader | AnthropicReader | OpenCodeReader


class SlowOpenAI(OpenAIReader):
    """Made of ours, so that it is asked method by method."""


class SlowAnthropic(AnthropicReader):
    """The same."""


class SlowOpenCode(OpenCodeReader):
    """The same."""


READERS: dict[str, tuple[OurReader, OurReader]] = {
    "openai": (OpenAIReader(), SlowOpenAI()),
    "anthropic": (AnthropicReader(), SlowAnthropic()),
    "opencode": (OpenCodeReader(), SlowOpenCode()),
}


NO_FIELDS: dict[str, object] = {}
ODD: list[object] = [
    *["é", "x" * 256, "x" * 257, "\0", "", "\ud800", 7, None, True],
    *[NO_FIELDS, {"id": "m2"}, {"human": True}, {"type": "text"}, {"name": "f"}],
    *[[7], [NO_FIELDS], (), ({"type": "text"},)],
]
FIELDS = [
    *["role", "content", "id", "human", "parent_id", "metadata", "tool_calls"],
    *["tool_call_id", "function_call", "name", "info", "parts", "parentID"],
]
OF_A_BLOCK = ["type", "id", "tool_use_id", "callID", "state"]
BLOCKS: list[dict[str, object]] = [
    {"type": "text", "text": "hello"},
    {"type": "image", "source": "x"},
    {"type": "mcp_tool_use", "id": "c2"},
    {"type": "tool_result", "tool_use_id": "c1"},
    {"type": "web_search_tool_result", "tool_use_id": "c2"},
    {"type": "tool", "callID": "c1", "state": {"status": "completed"}},
    {"type": "tool", "callID": "c2", "state": {"status": "running"}},
]


def plain() -> Iterator[dict[str, Any]]:
    """Yield messages as they are, in the one format or the other, and between them."""
    contents = [[], *[[one] for one in BLOCKS], BLOCKS[1:4], BLOCKS[3:5], BLOCKS[5:]]
    for role in ("user", "assistant", "tool", "system", "developer", "function"):
        for mark in ({}, {"id": "m1", "human": True}):
            info = {"role": role, **mark}
            for content in contents:
                yield {**info, "content": content}
                yield {"info": info, "parts": content}
            for text in ("hello", None):
                yield {**info, "content": text, "tool_call_id": "c1"}
                yield {**info, "content": text, "tool_calls": [{"id": "c1"}]}


def odd() -> Iterator[Message]:
    """Yield each of them with one field of it, wherever, that says something odd."""
    for value in ODD:
        for message in plain():
            for field in FIELDS:
                yield {**message, field: value}
                if "info" in message:
                    yield {**message, "info": {**message["info"], field: value}}
            if "tool_calls" in message:
                yield {**message, "tool_calls": [{"id": value}]}
            name = "parts" if "info" in message else "content"
            if message[name] and isinstance(message[name], list):
                for field in OF_A_BLOCK:
                    blocks = [{**message[name][0], field: value}, *message[name][1:]]
                    yield {**message, name: blocks}
    yield from (7, None, "user", [], MappingProxyType({"role": "user"}))


def heard(message: Message, reader: MessageReader) -> tuple[object, ...]:
    """Return what is said of it, ids as a tuple; or the refusal, word for word."""
    try:
        (found,) = hear([message], reader)
    except InvalidInput as refused:
        return str(refused), refused.evidence
    role, key, human, parent, calls, results = found
    return role, key, human, parent, tuple(calls), tuple(results)


@pytest.mark.parametrize("name", READERS)
def test_a_glance_says_what_the_methods_say(name: str) -> None:
    quick, slow = READERS[name]
    seen: Counter[str] = Counter()
    for message in (*plain(), *odd()):
        said = heard(message, slow)
        assert heard(message, quick) == said, message
        refused = len(said) == len(("text", "evidence"))
        at_once = quick.glance(message) is not None
        seen["refused"] += refused
        seen["at once"] += at_once
        seen["asked"] += not refused and not at_once
        assert not (refused and at_once), message
    assert min(seen.values()) > 1000, seen


@pytest.mark.parametrize("name", FORMATS)
def test_messages_of_the_plainest_shape_need_no_more_than_a_glance(name: str) -> None:
    lines = [s(), u("m1"), a("", "c1", "c2"), t("c1", "c2"), a("done"), u(None)]
    messages = FORMATS[name].make(lines)
    if name == "openai":
        dumped = {"tool_calls": None, "function_call": None, "refusal": None}
        messages.append({"role": "assistant", "content": "x", **dumped})
    quick, slow = READERS[name]
    for message in messages:
        assert quick.glance(message) is not None
        assert heard(message, quick) == heard(message, slow)


@pytest.mark.parametrize("name", READERS)
def test_a_host_that_vouches_by_a_function_is_asked(name: str) -> None:
    messages = FORMATS[name].make([u("m1"), u("m2")])
    reader = type(READERS[name][0])(human=lambda message: message is messages[1])
    assert [one[2] for one in hear(messages, reader)] == [False, True]


class Renaming(OpenAIReader):
    """A host's own way to find an id, on ours."""

    def id(self, message: Message) -> str | None:
        name: str | None = message.get("uuid")
        return name


def test_a_reader_made_of_ours_is_asked_for_what_it_changed() -> None:
    message = {"role": "user", "content": "x", "id": "no", "uuid": "yes"}
    assert split([message], Renaming()).keys == ("yes",)


class Counting(OpenAIReader):
    """Counts how often it is asked what a message is."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[int] = Counter()

    def role(self, message: Message) -> Role:
        self.asked[id(message)] += 1
        return super().role(message)


def test_one_call_reads_each_message_once_however_much_it_writes(world: World) -> None:
    _, two = relayed(world.ledger, leaves=["probe"])
    reader = Counting()
    gate = Gate(world, reader=reader, record_verdicts=True)
    messages = [user("m1"), said("x"), user("ghost"), user("probe")]
    messages += [user("hey", human=True), user("m2")]
    with world.writes() as lines:
        view = gate.apply(messages, two, acting="m2")
    assert len(lines) > 5
    assert verdicts(view)["hey"] == "queued"
    assert reader.asked == {id(message): 1 for message in messages}


@pytest.mark.parametrize("wrong", [7, ""])
@pytest.mark.parametrize("at", [1, 2])
def test_an_id_that_is_wrong_is_named_with_its_index(at: int, wrong: object) -> None:
    """Also of a message that is no request: floors and parents are found by them."""
    lines = [u("m1"), a("one"), a("two"), a("three", parent="elsewhere")]
    messages: list[dict[str, Any]] = OPENAI.make(lines)
    messages[at]["id"] = wrong
    says = f"^message {at}: id must be text"
    with pytest.raises(InvalidInput, match=says) as refused:
        list(ids(messages, OPENAI.reader))
    assert refused.value.evidence["index"] == at
    with pytest.raises(InvalidInput) as refused:
        split(messages, OPENAI.reader)
    assert refused.value.evidence["index"] == at


def test_an_answer_to_a_system_message_hangs_on_no_request() -> None:
    system = Line("system", "You work.", "s1")
    for host in (FORMATS["openai"], FORMATS["anthropic"]):
        messages = host.make([u("m1"), system, a("hello", parent="s1")])
        parts = split(messages, host.reader)
        assert not parts.requests[0].answered
        assert parts.homes == [0, SYSTEM, LOOSE]
