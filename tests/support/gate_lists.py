"""Lists of messages for tests of the gate: one story, told in each of three formats.

A list is first a row of `Line`s, then made into messages by the functions in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from immutables import Map

from tenure_gate.journal import JournalSnapshot
from tenure_gate.readers import (
    AnthropicReader,
    Message,
    MessageReader,
    OpenAIReader,
    OpenCodeReader,
)
from tenure_gate.verdicts import ListFacts, RequestFacts, Verdict, VerdictName
from tenure_ledger.events import CutOutcome
from tenure_ledger.folds.executions import Execution, Executions
from tenure_ledger.folds.ownership import Cut, Ownership
from tenure_ledger.folds.relay import Relay, Rewrite
from tenure_ledger.folds.stream import State

__all__ = [
    "FORMATS",
    "Format",
    "Line",
    "a",
    "journal",
    "s",
    "t",
    "texts",
    "u",
    "verdict",
]


class Line(NamedTuple):
    """One message, in no format yet."""

    role: str
    text: str
    id: str | None = None
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    parent: str | None = None


def s(text: str = "You work.") -> Line:
    """Write a system message."""
    return Line("system", text)


def u(
    id: str | None,  # noqa: A002  as short as it can be
    text: str | None = None,
    results: Sequence[str] = (),
) -> Line:
    """Write a request; with results: one that answers calls besides (Anthropic)."""
    return Line("user", text or f"do {id}", id, results=tuple(results))


def a(text: str, *calls: str, parent: str | None = None) -> Line:
    """Write an answer with calls."""
    return Line("assistant", text, None, calls, parent=parent)


def t(*results: str) -> Line:
    """Write results of calls: in OpenAI's format each becomes a message."""
    return Line("tool", "", None, results=results)


class Format(NamedTuple):
    """How lines become messages, and who reads these."""

    make: Callable[[Sequence[Line]], list[Message]]
    reader: MessageReader


def _openai(lines: Sequence[Line]) -> list[Message]:
    made: list[Message] = []
    for line in lines:
        message: dict[str, Any] = {"role": line.role, "content": line.text}
        if line.id is not None:
            message["id"] = line.id
        if line.parent is not None:
            message["parent_id"] = line.parent
        if line.calls:
            message["content"] = None
            message["tool_calls"] = [
                {
                    "id": call,
                    "type": "function",
                    "function": {"name": "run", "arguments": "{}"},
                }
                for call in line.calls
            ]
        for call in line.results:
            result = {"role": "tool", "tool_call_id": call, "content": f"of {call}"}
            if line.role == "tool" and line.id is not None:
                result["id"] = line.id
            made.append(result)
        if line.role != "tool":
            made.append(message)
    return made


def _anthropic(lines: Sequence[Line]) -> list[Message]:
    made: list[Message] = []
    for line in lines:
        blocks: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": call, "content": f"of {call}"}
            for call in line.results
        ]
        if line.text:
            blocks.append({"type": "text", "text": line.text})
        blocks += [
            {"type": "tool_use", "id": call, "name": "run", "input": {}}
            for call in line.calls
        ]
        role = "user" if line.role == "tool" else line.role
        message: dict[str, Any] = {"role": role, "content": blocks}
        if line.id is not None:
            message["id"] = line.id
        if line.parent is not None:
            message["metadata"] = {"parent_id": line.parent}
        made.append(message)
    return made


def _opencode(lines: Sequence[Line]) -> list[Message]:
    """Answers hold their calls with the results; so `t` lines complete a call."""
    made: list[Message] = []
    asked: str | None = None
    by_call: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines):
        for call in line.results:
            if call in by_call:
                by_call[call]["state"] = {"status": "completed", "output": f"of {call}"}
        if line.role == "tool":
            continue
        info: dict[str, Any] = {"role": line.role, "sessionID": "ses_1"}
        parts: list[dict[str, Any]] = [{"type": "text", "text": line.text}]
        if line.role == "user":
            asked = line.id
            if line.id is not None:
                info["id"] = line.id
        else:
            info["id"] = line.id or f"answer_{number}"
            parent = line.parent or asked
            if parent is not None and line.role == "assistant":
                info["parentID"] = parent
        for call in line.calls:
            part: dict[str, Any] = {"type": "tool", "callID": call, "tool": "run"}
            part["state"] = {"status": "running"}
            by_call[call] = part
            parts.append(part)
        made.append({"info": info, "parts": parts})
    return made


FORMATS: Mapping[str, Format] = {
    "openai": Format(_openai, OpenAIReader()),
    "anthropic": Format(_anthropic, AnthropicReader()),
    "opencode": Format(_opencode, OpenCodeReader()),
}


def texts(messages: Sequence[Message]) -> list[str]:
    """Say what each message says, in one word or a few: its text, calls, results."""
    return [" ".join(_words(message)) for message in messages]


def _words(message: Message) -> list[str]:
    pieces: list[Any]
    if "info" in message:
        pieces = message["parts"]
    elif isinstance(message["content"], str):
        pieces = [{"type": "text", "text": message["content"]}]
    else:
        pieces = message["content"] or []
    words: list[str] = []
    if message.get("role") == "tool":
        return [f"<{message['tool_call_id']}"]
    for piece in pieces:
        match piece["type"]:
            case "text":
                words.append(piece["text"])
            case "tool_use":
                words.append(f">{piece['id']}")
            case "tool_result":
                words.append(f"<{piece['tool_use_id']}")
            case "tool":
                done = "<" if piece["state"]["status"] == "completed" else ""
                words.append(f">{done}{piece['callID']}")
            case _:
                pass
    return words + [f">{call['id']}" for call in message.get("tool_calls") or ()]


def journal(
    known: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    cut: int = 0,
    outcome: CutOutcome = "continue",
    floors: tuple[str | None, str | None] | None = None,
) -> JournalSnapshot:
    """Return what a ledger says: fields of executions, by message id."""
    executions = {
        key: Execution(key, **fields) for key, fields in (known or {}).items()
    }
    at = Cut(cut, 1, "one", outcome, None, "digest", "manager/1", "host", _WHEN)
    own = Ownership(status="live", generation=2, term=2, cut=at if cut else None)
    rewrite = None if floors is None else Rewrite(1, 1, *floors, None)
    state = State(
        "session:ses_1",
        ownership=own,
        executions=Executions(by_key=Map(executions)),
        relay=Relay(rewrite=rewrite),
    )
    return JournalSnapshot.of(state)


_WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def verdict(name: VerdictName, key: str | None, by: JournalSnapshot) -> Verdict:
    """Return a verdict of this name."""
    request = RequestFacts(key, answered=False, human=False, place=0, acting=False)
    known = None if key is None else by.execution(key)
    return Verdict(name, request, known, by, ListFacts(None, None))
