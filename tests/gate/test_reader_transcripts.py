"""Transcripts: the project's own samples are read, and what is no transcript is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate_homes import belonging, orphans, outside
from gate_lists import FORMATS, a, t, u
from tenure import InvalidInput
from tenure_gate.readers import (
    AnthropicReader,
    MessageReader,
    OpenAIReader,
    OpenCodeReader,
    guess_reader,
    load_transcript,
)
from tenure_gate.turns import split

SAMPLES = Path(__file__).resolve().parents[2] / "docs" / "transcripts"
READERS = {
    "openai": OpenAIReader,
    "anthropic": AnthropicReader,
    "opencode": OpenCodeReader,
}
STORY = ["msg_1", "msg_2", "msg_3", "msg_1_retry"]
WITH_TOOLS = [u("m1"), a("", "c1"), t("c1")]


@pytest.mark.parametrize("name", READERS)
def test_each_sample_is_read_and_tells_the_same_story(name: str) -> None:
    (file,) = SAMPLES.glob(f"{name}.*")
    loaded = load_transcript(file.read_text(encoding="utf-8"))
    assert (loaded.format, type(loaded.reader)) == (name, READERS[name])
    parts = split(loaded.messages, loaded.reader)
    assert list(parts.keys) == STORY
    assert [turn.answered for turn in parts.requests] == [True, False, True, False]
    assert [turn.human for turn in parts.requests] == [True, True, False, False]
    assert orphans(parts) == ()
    homed = [*belonging(parts).values(), *outside(parts).values()]
    found = {index for indices in homed for index in indices}
    assert found == set(range(len(loaded.messages)))


def test_every_sample_is_tested() -> None:
    assert {file.stem for file in SAMPLES.glob("*.json*")} == set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_a_format_is_told_from_tools(name: str) -> None:
    messages = FORMATS[name].make(WITH_TOOLS)
    assert type(guess_reader(messages)) is READERS[name]


@pytest.mark.parametrize(
    ("message", "reader"),
    [
        ({"role": "user", "content": "x"}, OpenAIReader),
        ({"role": "developer", "content": "x"}, OpenAIReader),
        ({"role": "user", "content": [{"type": "image_url"}]}, OpenAIReader),
        ({"role": "user", "content": [{"type": "image"}]}, AnthropicReader),
        ({"role": "assistant", "content": [{"type": "thinking"}]}, AnthropicReader),
        ({"role": "assistant", "tool_calls": []}, OpenAIReader),
        ({"info": {}, "parts": []}, OpenCodeReader),
        ({"role": ["odd"], "content": [7, {"type": None}]}, OpenAIReader),
        (7, OpenAIReader),
    ],
)
def test_a_format_is_told_from_one_message(
    message: Any,  # noqa: ANN401  one message, or nonsense
    reader: type[MessageReader],
) -> None:
    assert type(guess_reader([message])) is reader
    assert type(guess_reader([])) is OpenAIReader


def test_two_formats_in_one_list_are_refused_unless_one_is_named() -> None:
    mixed = [*FORMATS["openai"].make(WITH_TOOLS), *FORMATS["opencode"].make([u("m2")])]
    with pytest.raises(InvalidInput, match="message 1 is in the format openai") as no:
        guess_reader(mixed)
    assert no.value.evidence["index"] == 3
    loaded = load_transcript(json.dumps(mixed), "opencode")
    assert type(loaded.reader) is OpenCodeReader


ONE = {"role": "user", "content": "x\u2028y", "id": "m1"}
TWO = {"role": "assistant", "content": "done"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([ONE, TWO]),
        json.dumps([ONE, TWO], indent=2),
        "\ufeff" + json.dumps({"messages": [ONE, TWO], "model": "x"}, indent=1),
        json.dumps(ONE, ensure_ascii=False) + "\n" + json.dumps(TWO),
        f"\n{json.dumps(ONE)}\r\n\n  {json.dumps(TWO)}\n\n",
    ],
)
def test_a_list_an_object_and_lines_are_read_alike(text: str) -> None:
    assert load_transcript(text).messages == [ONE, TWO]


def test_one_line_is_one_message() -> None:
    assert load_transcript(json.dumps(ONE)).messages == [ONE]
    assert load_transcript("").messages == []
    assert load_transcript("[]").messages == []


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('{"role": "user"}\n{"role": \n', 2, "line 2: this is no JSON"),
        ('{"role": "user"}\n\n7', 3, "line 3: a message must be a JSON object"),
        ("hello", 1, "line 1: this is no JSON"),
        ('[\n{"role": "user",}\n]', 2, "line 2: this is no JSON"),
        ('{"role": "user", "n": NaN}', 1, "NaN is no number"),
        ('{"role": "user"}\n' + "[" * 100_000, 2, "nested too deeply"),
        ('{"role": "user", "n": ' + "1" * 5_000 + "}", 1, "line 1: this is no JSON"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(text: str, line: int, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        load_transcript(text)
    assert refused.value.evidence["line"] == line


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("7", "must be a list of messages, not an int"),
        ('{"messages": {}}', "must be a list of messages, not a dict"),
        ("[" * 100_000, "nested too deeply"),
        ("[NaN]", "NaN is no number"),
        ("a\0b", "NUL"),
    ],
)
def test_what_is_no_transcript_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        load_transcript(text)


@pytest.mark.parametrize("format", ["gemini", "", None.__class__])
def test_a_format_of_no_reader_is_refused(format: Any) -> None:  # noqa: A002, ANN401  nonsense
    with pytest.raises(InvalidInput, match="format must be one of"):
        load_transcript("[]", format)


def test_a_format_that_is_named_must_not_be_another() -> None:
    call = {"role": "tool", "tool_call_id": "c1", "content": "x"}
    block = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}
    with pytest.raises(InvalidInput, match="no list in the format anthropic") as no:
        load_transcript(json.dumps([ONE, call]), "anthropic")
    assert no.value.evidence["index"] == 1
    with pytest.raises(InvalidInput, match="message 1 is in the format anthropic"):
        load_transcript(json.dumps([ONE, block]), "openai")
    # Where marks of both meet, the name decides.
    assert load_transcript(json.dumps([call, block]), "openai").format == "openai"
