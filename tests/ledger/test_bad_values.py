"""The values that methods take cannot be built invalid either, nor can a ledger."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenure import (
    Authority,
    Boundary,
    ChatExecutionKey,
    Evidence,
    First,
    Head,
    InvalidInput,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
    arguments_digest,
    open_ledger,
)

S = OwnerRef("session", "ses_1")
HUGE = 10**5000
THINGS: list[Any] = [object(), b"bytes", 1.5, {1: 2}, {"a"}, [], (), HUGE, -1]
BAD_IDS: list[Any] = [*THINGS, "", "a\0b", "\ud83d", "x" * 257, "\U0001f600" * 201]
BAD_NUMBERS: list[Any] = [*THINGS, "1", True, float("nan"), 2**63, -(2**63) - 1]

VALUES: dict[
    str, tuple[Callable[..., object], dict[str, Any], dict[str, list[Any]]]
] = {
    "OwnerRef": (
        OwnerRef,
        {"recovery_class": "session", "owner_id": "ses_1"},
        {
            "recovery_class": [*BAD_IDS, None, "Session", "a:b", "a\n"],
            "owner_id": [*BAD_IDS, None],
        },
    ),
    "ChatExecutionKey": (
        ChatExecutionKey,
        {"session_id": "ses_1", "physical_user_message_id": "m1"},
        {
            "session_id": [*BAD_IDS, None],
            "physical_user_message_id": [*BAD_IDS, None],
        },
    ),
    "Authority": (
        Authority,
        {"owner": S, "generation": 1, "incarnation": "e1", "agent_id": "a"},
        {
            "owner": [*THINGS, None, "ses_1"],
            "generation": [*BAD_NUMBERS, None, 0],
            "incarnation": [*BAD_IDS, None],
            "agent_id": BAD_IDS,
        },
    ),
    "First": (
        First,
        {"message_id": "m1", "origin": "human"},
        {
            "message_id": [*BAD_IDS, None],
            "origin": [*BAD_IDS, None, "HUMAN"],
            "sender": BAD_IDS,
            "digest": BAD_IDS,
        },
    ),
    "Boundary": (
        Boundary,
        {"message_id": "m1", "index": 0},
        {"message_id": [*BAD_IDS, None], "index": BAD_NUMBERS},
    ),
    "Evidence": (
        Evidence,
        {"kind": "gone", "incarnation": "e1", "version": 1, "detail": ""},
        {
            "kind": [*BAD_IDS, None, "dead"],
            "incarnation": BAD_IDS,
            "version": [*BAD_NUMBERS, None],
            "detail": [*THINGS, None, "a\0b", "\ud83d", "x" * 100_001],
        },
    ),
    "Head": (
        Head,
        {"position": 1, "count": 1, "digest": "0" * 64},
        {
            "position": [*BAD_NUMBERS, None],
            "count": [*BAD_NUMBERS, None],
            "digest": [*BAD_IDS, None, "0" * 63, "z" * 64, "0" * 64 + "\n"],
        },
    ),
    "open_ledger": (
        open_ledger,
        {"url": "memory://"},
        {
            "url": [*THINGS, "", "relay.db", "a\0b", "sqlite:///a\0b", "\ud83d"],
            "process": BAD_IDS,
            "clock": [*THINGS, "now"],
            "deadline_seconds": [None, "1", True, float("nan"), float("inf"), HUGE, -1],
        },
    ),
    "arguments_digest": (
        arguments_digest,
        {"arguments": {}},
        {"arguments": [object(), b"bytes", (), {"a"}, {1: 2}, HUGE, float("nan")]},
    ),
    "RuntimeRestartToolApprovalWait": (
        RuntimeRestartToolApprovalWait,
        {"wait_started_at_ms": 1, "dispatched_before_restart": False},
        {
            "wait_started_at_ms": [*THINGS[:2], None, "x", float("nan")],
            "dispatched_before_restart": [*THINGS[:2], None, "x"],
        },
    ),
    "RuntimeRestartQueuedSubmission": (
        RuntimeRestartQueuedSubmission,
        {"submission_key": "m1"},
        {"submission_key": [None, 5, object()], "absorbed_submission_keys": [5, [5]]},
    ),
    "RuntimeRestartReactionLoopState": (
        RuntimeRestartReactionLoopState,
        {"consecutive_batches": 1},
        {"consecutive_batches": [None, "x"], "pending_tool_calls": [5, [object()]]},
    ),
    "RuntimeRestartScheduledWorkContext": (
        RuntimeRestartScheduledWorkContext,
        {"job_id": "j", "attempt": 1, "version": 1},
        {"job_id": [None, 5], "attempt": [None, "x"], "version": [None, "x"]},
    ),
}
CASES = [(name, field) for name, (_, _, bad) in VALUES.items() for field in bad]


@pytest.mark.parametrize(("name", "field"), CASES)
def test_a_bad_field_is_invalid_input_while_it_is_built(name: str, field: str) -> None:
    build, good, bad = VALUES[name]
    build(**good)
    for value in bad[field]:
        with pytest.raises(InvalidInput) as refused:
            build(**{**good, field: value})
        assert type(refused.value) is InvalidInput


@pytest.mark.parametrize("name", ["OwnerRef", "Authority", "First", "Head", "Evidence"])
def test_every_field_of_a_value_is_under_test(name: str) -> None:
    build, _, bad = VALUES[name]
    assert isinstance(build, type)
    assert {one.name for one in dataclasses.fields(build)} == set(bad)


@pytest.mark.parametrize("seen", [None, object(), "ses_1", S, Authority(S, 1, "e1")])
def test_evidence_is_about_an_owner_that_was_looked_at(seen: object) -> None:
    ways: list[Callable[[Any], object]] = [
        Evidence.gone,
        Evidence.alive,
        Evidence.cannot_tell,
    ]
    for say in ways:
        with pytest.raises(InvalidInput):
            say(seen)


NOT_JSON_OF_OURS: list[Any] = [
    "",
    "{",
    "null",
    "[]",
    "5",
    '"x"',
    "{}",
    '{"owner": null}',
    '{"owner": {"recovery_class": "session"}, "generation": 1, "incarnation": "e"}',
    '{"position": "1", "count": 1, "digest": "00"}',
    "[" * 100_000,
    b"\xff",
    None,
    5,
    "NaN",
]


@pytest.mark.parametrize("read", [Authority.from_json, Head.from_json])
def test_other_json_is_no_authority_and_no_head(read: Callable[[Any], object]) -> None:
    for text in NOT_JSON_OF_OURS:
        with pytest.raises(InvalidInput):
            read(text)


def test_an_unknown_field_in_the_json_of_a_value_is_refused() -> None:
    fields = {**json.loads(Authority(S, 1, "e1").to_json()), "secret": "x"}
    with pytest.raises(InvalidInput):
        Authority.from_json(json.dumps(fields))


def test_what_is_shared_inside_a_body_counts_each_time_that_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred lists that would be 2**100 items of JSON end at the limit."""
    laughing: list[Any] = []
    for _ in range(100):
        laughing = [laughing, laughing]
    monkeypatch.setattr("tenure_ledger.bodies.BODY_BYTES_MAX", 100_000)
    with pytest.raises(InvalidInput, match="longer than 100000 bytes"):
        arguments_digest(laughing)
    arguments_digest(["x" * 1000] * 90)


def test_a_message_names_the_value_but_never_repeats_all_of_it() -> None:
    for bad in (HUGE, "x" * 10_000_000, [1] * 1_000_000):
        with pytest.raises(InvalidInput) as refused:
            OwnerRef("session", bad)  # type: ignore[arg-type]
        assert len(str(refused.value)) < 300
    assert sys.get_int_max_str_digits() < 5000


def test_a_ledger_that_could_not_be_opened_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        open_ledger(f"sqlite:///{tmp_path}/relay.db", process="")
    assert list(tmp_path.iterdir()) == []
