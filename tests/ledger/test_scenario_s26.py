"""S26: a NUL, half an emoji or NaN in tool output stops the turn.

Here: what is taken is read back equal, by another process too, and ids are compared as
given. What is refused is in `test_bad_input.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenure import (
    Authority,
    ChatExecutionKey,
    First,
    InvalidInput,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
)
from tenure_ledger.events import CheckpointSaved, HistoryRewritten, RetirementCut
from worlds import World

S = OwnerRef("session", "ses_1")


def nested(depth: int) -> object:
    inner: object = "deep"
    for level in range(depth):
        inner = {"in": inner} if level % 2 else [inner]
    return inner


BODIES: dict[str, Any] = {
    "NUL": "a\0b",
    "only NUL": "\0",
    "a key with NUL": {"a\0b": 1, "\0": 2, "": 3},
    "an emoji": "\U0001f600 and \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "composed": "\u00e9",
    "decomposed": "e\u0301",
    "noncharacters": "\ufffe\uffff\U0010ffff\ufeff",
    "line ends": "a\r\nb\rc\u2028d\u2029e\x7f\x1b[0m",
    "2**63": 2**63,
    "-2**63-1": -(2**63) - 1,
    "the longest number": 2**4096 - 1,
    "floats": [1.0, 0.1, 1e308, 5e-324, 1e22, 123456789.123456789, -1.5e-7],
    "minus nothing": [-0.0],
    "kinds": [True, 1, 1.0, "1", False, 0, 0.0, "", None],
    "empty": {"a": {}, "b": [], "c": ""},
    "nothing": None,
    "deep": nested(200),
    "many keys": {f"k{number}": number for number in range(2000)},
    "quotes": "\"\\'`$(rm)%s{0}; DROP TABLE stored_events; --",
    "20 MB": "\u00e9" * 10_000_000,
    "wide": list(range(50_000)),
}


def same(one: object, other: object) -> bool:
    """Equal, and of the same types all through: True is not 1, -0.0 is not 0."""
    texts = [json.dumps(value, sort_keys=True) for value in (one, other)]
    return one == other and texts[0] == texts[1]


def begin(world: World) -> Authority:
    one = world.ledger.claim(S, "t1", "host", first=First("m1", "human"))
    world.ledger.start(one, "m1")
    return one


@pytest.mark.parametrize("name", BODIES)
def test_s26_a_tools_arguments_and_result_are_read_back_equal(
    world: World, name: str
) -> None:
    value, one = BODIES[name], begin(world)
    call = world.ledger.begin_tool_call(one, "m1", "c1", "shell", value)
    assert call.state == "fresh"
    world.ledger.complete_tool_call(one, call, value)
    for ledger in (world.ledger, world.open("p2")):
        stored = ledger.tool_call(S, "m1", "c1")
        assert stored is not None
        assert stored.state == "completed"
        assert same(stored.result, value)
    again = world.ledger.begin_tool_call(one, "m1", "c1", "shell", value)
    assert (again.state, same(again.result, value)) == ("completed", True)
    assert world.ledger.verify().ok


@pytest.mark.parametrize("name", ["NUL", "a key with NUL", "2**63", "kinds", "empty"])
def test_s26_every_other_body_is_read_back_equal(world: World, name: str) -> None:
    ledger, value, one = world.ledger, BODIES[name], begin(world)
    ledger.history_rewritten(one, 1, "m1", state=["state", value])
    payload = RuntimeRestartQueuedSubmission(
        submission_key="m1", tool_call_prefill=value
    )
    ledger.save_checkpoint(one, payload, value)
    ledger.retire(one, "continue", str(value))
    events = [at.event for at in world.open("p2").history(S)]
    for event in events:
        match event:
            case HistoryRewritten():
                assert event.state is not None
                assert same(ledger.body(S, event.state), ["state", value])
            case CheckpointSaved():
                stored = ledger.body(S, event.payload)
                assert isinstance(stored, dict)
                assert stored["payload"] == payload.model_dump()
                assert same(stored["execution_config"], value)
            case RetirementCut():
                assert event.handover is not None
                assert ledger.body(S, event.handover) == str(value)
            case _:
                pass
    kinds = {type(event) for event in events}
    assert kinds >= {HistoryRewritten, CheckpointSaved, RetirementCut}


UNKNOWN_FIELDS: dict[str, Any] = {
    "a tuple": (1, 2),
    "bytes": b"x",
    "a set": {1},
    "an object": object(),
    "NaN": float("nan"),
    "half an emoji": "\ud83d",
    "deep": nested(500),
}


@pytest.mark.parametrize("name", UNKNOWN_FIELDS)
def test_s26_an_unknown_field_of_a_checkpoint_is_kept_equal_or_refused(
    world: World, name: str
) -> None:
    one = begin(world)
    known: dict[str, Any] = {"submission_key": "m1", "newer": {"a": [1, "b"]}}
    world.ledger.save_checkpoint(one, RuntimeRestartQueuedSubmission(**known))
    (saved,) = [
        at.event
        for at in world.ledger.history(S)
        if isinstance(at.event, CheckpointSaved)
    ]
    stored = world.ledger.body(S, saved.payload)
    assert isinstance(stored, dict)
    assert stored["payload"] == RuntimeRestartQueuedSubmission(**known).model_dump()
    payload = RuntimeRestartQueuedSubmission(**{**known, "odd": UNKNOWN_FIELDS[name]})
    head = world.ledger.head()
    with pytest.raises(InvalidInput):
        world.ledger.save_checkpoint(one, payload)
    assert world.ledger.head() == head


IDS = [
    "x" * 256,
    "\U0001f600" * 200,
    "\u20ac" * 256,
    "\u00e9",
    "e\u0301",
    "\u212b",
    "\u00c5",
    "a",
    "A",
    " a",
    "a ",
    "a\n",
    "owner:session:a",
    "agent:a",
    "a:b",
    "a%3Ab",
    "a/../b",
    "%",
    "_",
    "'; DROP TABLE stored_events; --",
    "\u200f\u05d0",
    "\ufeffa",
    "\x01",
    "0",
    "00",
]


def test_s26_ids_are_compared_as_given_and_none_is_another(world: World) -> None:
    ledger = world.ledger
    for number, name in enumerate(IDS):
        owner = OwnerRef("session", name)
        one = ledger.claim(owner, agent_id=name, author=name)
        ledger.accept(owner, name, author=name, sender=name, digest=f"d{number}")
        ledger.admit(one, name, "human", sender=name, digest=f"d{number}")
        ledger.begin_tool_call(one, name, name, name, name)
        ledger.terminate(one, "done", name)
    again = world.open("p2")
    for number, name in enumerate(IDS):
        view = again.owner(OwnerRef("session", name))
        assert view.terminal is not None
        assert (view.generation, view.terminal.status) == (1, name)
        known = again.execution(ChatExecutionKey(name, name))
        assert known is not None
        assert (known.key, known.sender, known.digest) == (name, name, f"d{number}")
        call = again.tool_call(OwnerRef("session", name), name, name)
        assert call is not None
        assert (call.call_id, call.tool) == (name, name)
    assert again.verify().ok


def test_s26_two_classes_and_an_agent_of_one_id_are_three_streams(world: World) -> None:
    ledger = world.ledger
    for number, kind in enumerate(["session", "cron", "session.a", "a-b_c.9"]):
        one = ledger.claim(OwnerRef(kind, "x"), agent_id=f"x{number}", author="host")
        assert one.generation == 1
    streams = {at.stream for at in ledger.events()}
    assert len(streams) == 8
    owners = [OwnerRef.of_stream(stream) for stream in streams]
    assert sum(owner is None for owner in owners) == 4
    assert {owner.stream for owner in owners if owner is not None} < streams


def test_s26_a_command_id_is_any_id_too(world: World) -> None:
    for name in IDS:
        first = world.ledger.accept(S, name, author="inbox", command_id=name)
        assert world.ledger.accept(S, name, "inbox", command_id=name) == first
    assert world.ledger.owner(S).version == len(IDS)
