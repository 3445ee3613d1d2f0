"""Stored checkpoints are read whole, or it is said why they are not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure import (
    ExecutionConfig,
    First,
    InvalidInput,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
)
from tenure_ledger.bodies import Json, encode_body
from tenure_ledger.payloads import PAYLOADS, RestartPayload, call_id_of
from tenure_ledger.snapshots import (
    RestartSnapshot,
    Unreadable,
    read_payload,
    to_store,
)
from worlds import World

S = OwnerRef("session", "ses_1")
SEED: Mapping[str, str] = {
    "tool_approval_wait": """wait_started_at_ms timeout_remaining_ms
        authenticated_user_inputs dispatched_before_restart
        producer_inference_request_id producer_inference_attempt_id
        presentation_locale client_language_chain client_ip location_freshness""",
    "queued_submission": """submission_key absorbed_submission_keys
        override_system_prompt append_system_prompt requested_model
        reasoning_strength_override tools_allowed_override tool_call_prefill
        transient_companion_wake_start_seq""",
    "reaction_loop": """consecutive_batches pending_compact pending_tool_calls
        completed_unpersisted_tool_outputs lifetime_inference_count
        lifetime_tool_call_count""",
    "scheduled_work": """job_id attempt version scheduled_work_context
        replay_disposition""",
}
"""Seed 000, section 2."""
FULL: Mapping[str, RestartPayload] = {
    "tool_approval_wait": RuntimeRestartToolApprovalWait(
        wait_started_at_ms=1, dispatched_before_restart=False, client_ip="::1"
    ),
    "queued_submission": RuntimeRestartQueuedSubmission(
        submission_key="m1", absorbed_submission_keys=["m2", "m3"]
    ),
    "reaction_loop": RuntimeRestartReactionLoopState(
        consecutive_batches=3,
        pending_tool_calls=[{"call_id": "c1"}, "c2"],
        completed_unpersisted_tool_outputs=[{"tool_use_id": "c3", "content": 1}],
    ),
    "scheduled_work": RuntimeRestartScheduledWorkContext(
        job_id="nightly", attempt=1, version=4
    ),
}
REQUIRED = [
    (mode, name)
    for mode, kind in PAYLOADS.items()
    for name, field in kind.model_fields.items()
    if field.is_required()
]


def stored(payload: RestartPayload, config: object = None, **changes: object) -> bytes:
    """The bytes that `save_checkpoint` stores, with changes to the payload's fields."""
    whole = to_store(payload, config)
    whole["payload"] = {**dict(payload), **changes}
    return encode_body("checkpoint", whole)


def why(mode: str, data: bytes | None) -> Unreadable:
    read = read_payload(mode, data)
    assert isinstance(read, Unreadable)
    assert read.detail
    return read


@pytest.mark.parametrize("mode", SEED)
def test_a_payload_has_exactly_the_seeds_fields(mode: str) -> None:
    assert list(PAYLOADS[mode].model_fields) == SEED[mode].split()
    assert PAYLOADS.keys() == SEED.keys()


@pytest.mark.parametrize("mode", SEED)
def test_what_a_ledger_stored_is_read_back_as_it_was(world: World, mode: str) -> None:
    held = world.ledger.claim(S, "t1", "host", first=First("m1", "human"))
    config = ExecutionConfig(branch="subagent", model="large", grants=["read"], odd=1)
    world.ledger.save_checkpoint(held, FULL[mode], config)
    live = world.ledger.owner(S).checkpoint
    assert live is not None
    data = world.store().body(S.stream, live.payload)
    asked: Json = {"branch": "subagent", "model": "large", "grants": ["read"], "odd": 1}
    assert read_payload(mode, data) == RestartSnapshot(FULL[mode], config, asked)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
    ),
    max_leaves=8,
)


@given(st.sampled_from(sorted(SEED)), st.dictionaries(st.text(max_size=8), JSON))
def test_unknown_fields_are_kept(mode: str, odd: dict[str, Any]) -> None:
    odd = {name: value for name, value in odd.items() if name not in SEED[mode]}
    payload = PAYLOADS[mode](**{**dict(FULL[mode]), **odd})
    read = read_payload(mode, stored(payload))
    assert isinstance(read, RestartSnapshot)
    assert {name: dict(read.payload)[name] for name in odd} == odd


@pytest.mark.parametrize(("mode", "field"), REQUIRED)
def test_a_payload_without_a_field_that_it_needs_is_partial(
    mode: str, field: str
) -> None:
    whole = json.loads(stored(FULL[mode]))
    del whole["payload"][field]
    read = why(mode, json.dumps(whole).encode())
    assert read.kind == "partial"
    assert field in read.detail


@pytest.mark.parametrize("mode", SEED)
def test_a_text_that_ends_too_early_is_partial(mode: str) -> None:
    data = stored(FULL[mode], {"model": "gross ü"})
    for length in range(len(data)):
        assert why(mode, data[:length]).kind == "partial"


@pytest.mark.parametrize(
    "data",
    [None, b"null", b"{}", b'{"version": 1}', b'{"payload": null}', b"\xff\xfe"],
    ids=["erased", "null", "empty", "no payload", "null payload", "no text"],
)
def test_what_is_not_there_is_partial(data: bytes | None) -> None:
    assert why("reaction_loop", data).kind == "partial"


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.0, True])
def test_a_version_that_is_not_ours_is_invalid_whatever_else_is_missing(
    version: object,
) -> None:
    data = json.dumps({"payload": {}, "version": version}).encode()
    assert why("reaction_loop", data).kind == "invalid"


def test_a_body_without_a_version_is_of_the_first() -> None:
    data = b'{"payload": {"consecutive_batches": 3}, "execution_config": null}'
    read = read_payload("reaction_loop", data)
    assert isinstance(read, RestartSnapshot)
    assert read.payload == RuntimeRestartReactionLoopState(consecutive_batches=3)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("reaction_loop", {"consecutive_batches": "3"}),
    ("reaction_loop", {"consecutive_batches": None}),
    ("reaction_loop", {"consecutive_batches": True}),
    ("reaction_loop", {"consecutive_batches": -1}),
    ("reaction_loop", {"lifetime_tool_call_count": 2**63}),
    ("reaction_loop", {"pending_tool_calls": {}}),
    ("reaction_loop", {"pending_tool_calls": [{"tool": "pay"}]}),
    ("reaction_loop", {"pending_tool_calls": [{"call_id": ""}]}),
    ("reaction_loop", {"completed_unpersisted_tool_outputs": [7]}),
    ("queued_submission", {"submission_key": ""}),
    ("queued_submission", {"absorbed_submission_keys": ["m2", 3]}),
    ("queued_submission", {"absorbed_submission_keys": ["x" * 257]}),
    ("tool_approval_wait", {"dispatched_before_restart": "no"}),
    ("tool_approval_wait", {"wait_started_at_ms": 1.5}),
    ("scheduled_work", {"job_id": ""}),
    ("scheduled_work", {"scheduled_work_context": {"slot": "2026-01-01T00:00"}}),
    ("scheduled_work", {"scheduled_work_context": {"slot": 7}}),
    ("scheduled_work", {"scheduled_work_context": {"window_seconds": -1}}),
    (
        "scheduled_work",
        {
            "scheduled_work_context": {
                "slot": "9999-12-31T23:00:00Z",
                "window_seconds": 86400,
            }
        },
    ),
]


@pytest.mark.parametrize(("mode", "changes"), WRONG, ids=str)
def test_what_is_there_and_wrong_is_invalid_and_never_made_up(
    mode: str, changes: dict[str, Any]
) -> None:
    assert why(mode, stored(FULL[mode], **changes)).kind == "invalid"
    with pytest.raises(InvalidInput):
        PAYLOADS[mode](**{**dict(FULL[mode]), **changes})


@pytest.mark.parametrize(
    "config",
    [
        {"model": 7},
        {"grants": "read"},
        {"grants": [1]},
        {"branch": None, "tenant": []},
        {"branch": "root", "grants": ["read"]},
    ],
    ids=str,
)
def test_a_config_that_says_a_known_thing_wrongly_is_refused_and_invalid(
    world: World, config: object
) -> None:
    held = world.ledger.claim(S, "t1", "host")
    with world.refuses(InvalidInput):
        world.ledger.save_checkpoint(held, FULL["reaction_loop"], config)
    data = stored(FULL["reaction_loop"], config)
    assert why("reaction_loop", data).kind == "invalid"


@pytest.mark.parametrize("config", [None, "fast", 7, [1], {"branch": "moon", "a": {}}])
def test_an_unknown_branch_is_kept_and_nothing_is_read_into_it(config: Json) -> None:
    read = read_payload("reaction_loop", stored(FULL["reaction_loop"], config))
    assert isinstance(read, RestartSnapshot)
    assert read.execution_config == config
    assert (read.config.model, read.config.grants) == (None, None)


@pytest.mark.parametrize("data", [b"7", b"[]", b'"text"', b'{"payload": []}', b"NaN"])
def test_what_is_no_object_is_invalid(data: bytes) -> None:
    assert why("queued_submission", data).kind == "invalid"


def test_a_mode_of_another_version_is_invalid() -> None:
    assert why("dreaming", stored(FULL["reaction_loop"])).kind == "invalid"


def test_what_no_body_may_hold_is_invalid() -> None:
    deep = b'{"payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert why("reaction_loop", deep).kind == "invalid"
    long = b'{"payload": {"consecutive_batches": ' + b"9" * 5000 + b"}}"
    assert why("reaction_loop", long).kind == "invalid"


@given(st.sampled_from(sorted(SEED)), st.binary(max_size=40) | JSON.map(json.dumps))
def test_reading_answers_for_any_bytes(mode: str, data: bytes | str) -> None:
    raw = data.encode() if isinstance(data, str) else data
    assert isinstance(read_payload(mode, raw), RestartSnapshot | Unreadable)


@given(st.sampled_from(sorted(SEED)), st.dictionaries(st.text(max_size=9), JSON))
def test_reading_answers_for_any_fields(mode: str, fields: dict[str, Any]) -> None:
    names = SEED[mode].split()
    named = {names[len(at) % len(names)]: value for at, value in fields.items()}
    for payload in (fields, named, {**dict(FULL[mode]), **named}):
        data = json.dumps({"payload": payload, "execution_config": payload}).encode()
        assert isinstance(read_payload(mode, data), RestartSnapshot | Unreadable)


def test_the_slot_is_told_in_utc_and_the_window_begins_with_it() -> None:
    job = RuntimeRestartScheduledWorkContext(
        job_id="j",
        attempt=0,
        version=1,
        scheduled_work_context={
            "slot": "2026-10-25T02:30:00+02:00",
            "window_seconds": 90,
            "host": "keeps this",
        },
    )
    assert job.slot == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert str(job.slot).endswith("+00:00")
    assert job.window_ends_at == datetime(2026, 10, 25, 0, 31, 30, tzinfo=UTC)
    bare = RuntimeRestartScheduledWorkContext(job_id="j", attempt=0, version=1)
    assert (bare.slot, bare.window_ends_at) == (None, None)


@pytest.mark.parametrize(
    ("item", "call_id"),
    [
        ("c1", "c1"),
        ({"type": "function_call", "id": "fc_1", "call_id": "c1"}, "c1"),
        ({"role": "tool", "tool_call_id": "c1"}, "c1"),
        ({"type": "tool_result", "tool_use_id": "c1"}, "c1"),
        ({"type": "tool_use", "id": "c1"}, "c1"),
    ],
    ids=["text", "responses", "chat result", "messages result", "messages call"],
)
def test_a_call_is_known_by_its_id_in_every_format_in_use(
    item: object, call_id: str
) -> None:
    assert call_id_of(item) == call_id


def test_a_payload_that_is_not_whole_any_more_is_not_stored(world: World) -> None:
    held = world.ledger.claim(S, "t1", "host")
    changed = RuntimeRestartReactionLoopState(consecutive_batches=1)
    changed.pending_tool_calls.append(7)
    half = RuntimeRestartQueuedSubmission.model_construct()
    for payload in (changed, half):
        with world.refuses(InvalidInput):
            world.ledger.save_checkpoint(held, payload)
