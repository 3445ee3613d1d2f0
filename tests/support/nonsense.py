"""Histories that nobody decided: every kind of event, in any order, about few things.

An import, an older version or a mistake may have written them. Few names and numbers,
so that events meet: duplicates, contradictions, and now and then a sound history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic.fields import FieldInfo

from tenure import Boundary, Event, Evidence, OwnerRef, Recorded, Unknown
from tenure_ledger.codec import EVENTS
from tenure_ledger.events import Fact
from tenure_ledger.folds.stream import State, evolve

__all__ = [
    "CHILD",
    "KINDS",
    "NOW",
    "OTHER",
    "S",
    "Sample",
    "build",
    "either",
    "history",
    "pick",
    "plausible",
    "recorded",
    "state_of",
]

S, OTHER = OwnerRef("session", "s"), OwnerRef("session", "other")
CHILD = OwnerRef("subagent", "child")
NOW = datetime(2026, 1, 1, tzinfo=UTC)

FIELDS: dict[str, list[Any]] = {
    "author": ["a", "b"],
    "generation": [0, 1, 1, 1, 2, 2, 3],
    "fenced": [True, False],
    "event_id": ["e1", "e2", "e3"],
    "recorded_at": [NOW],
    "agent_id": [None, "a", "a", "b", "b"],
    "previous_agent_id": [None, "a"],
    "process": [None, "p1"],
    "lease_until": [None, NOW],
    "parent": [None, None, OTHER],
    "grants": [(), ("read",), ("read", "write")],
    "grants_until": [None, NOW],
    "floor": [0, 0, 5],
    "until": [None, NOW],
    "child": [CHILD, S],
    "child_generation": [1, 2],
    "ends_holding": [True, False],
    "event_type": ["done", "closed"],
    "terminal_status": ["", "done"],
    "owner": [S, OTHER],
    "boundary": [None, Boundary("m1", 3)],
    "handover": [None, "d1"],
    "key": ["m1", "m2", "m3"],
    "sender": [None, "ann"],
    "content_digest": [None, None, "d1", "d2"],
    "vouched_human": [True, False],
    "absorbed": [(), (), ("m2",), ("m2", "m3"), ("m1",)],
    "carried_from": [None, 1],
    "into": [None, "m1", "m2"],
    "cut": [0, 3],
    "interrupt_id": ["i1", "i2"],
    "history_rewrite_generation": [0, 1, 2],
    "prompt_floor": [None, "m1"],
    "checkpoint_seq": [None, "m2"],
    "state": [None, "d1"],
    "keys": [(), ("m1",), ("m1", "m2")],
    "revision": [0, 1, 2],
    "payload": ["d1", "d2"],
    "above": [None, OTHER],
    "disposition": ["closed"],
    "assertion": [None, "missing_conversation"],
    "detail": ["", "it is gone"],
    "reasons": [(), ("user_cancelled",)],
    "evidence": [None, Evidence("gone", "e1", 1)],
    "override": [False, True],
    "notice": ["n1", "n2"],
    "about": [S, CHILD],
    "about_generation": [0, 1],
    "facts": [(), (Fact(kind="unfinished", key="m1"),)],
    "call_id": ["c1", "c2"],
    "result": ["d1", "d2"],
    "request_id": ["r1", "r2"],
    "tool": ["shell", "read"],
    "arguments": ["d1", "d2"],
    "arguments_digest": ["d1", "d2"],
    "policy_version": ["p1"],
    "timeout_seconds": [None, 60.0],
    "expires_at": [None, NOW],
    "idempotency_key": ["k1"],
    "keep": [0, 1, 2, 3],
    "drop": [0, 1, 2, 3],
    "reason": ["done"],
    "outcome": ["reported", None],
    "verdict": ["current"],
    "ignorable": [False],
}
"""What a field may hold, where its type does not list it."""
SEALED = {"topic", "command_id", "index", "count", "schema_version", "previous_hash"}
EARLIER: dict[str, dict[str, list[Any]]] = {
    "LateResult": {"call_id": [None, "c1"]},
    "ReplayBarred": {"keys": [None]},
    "RetirementCut": {"terminal_status": [None]},
}


def _values(kind: type[Event], name: str, field: FieldInfo) -> list[Any]:
    special = EARLIER.get(kind.__name__, {}).get(name, [])
    if get_origin(field.annotation) is Literal:
        return list(get_args(field.annotation))
    if name == "outcome" and kind.__name__ == "InterruptSettled":
        return ["interrupted", "no_active_execution"]
    return [*special, *FIELDS[name]]


T = TypeVar("T")
Sample = Callable[[Random], T]
"""Returns one value by chance; the same for the same seed."""


def pick(values: Sequence[T]) -> Sample[T]:
    """Sample one of these."""
    return lambda chance: chance.choice(values)


def either(*samples: Sample[Any]) -> Sample[Any]:
    """Sample by one of these."""
    return lambda chance: chance.choice(samples)(chance)


def build(make: Callable[..., T], *samples: Sample[Any]) -> Sample[T]:
    """Sample each argument, and make the value of them."""
    return lambda chance: make(*(sample(chance) for sample in samples))


def _of(kind: type[Event]) -> Sample[Event]:
    values = {
        name: _values(kind, name, field)
        for name, field in kind.model_fields.items()
        if name not in SEALED
    }
    return lambda chance: kind(**{n: chance.choice(v) for n, v in values.items()})


KINDS = {topic: _of(kind) for topic, kind in sorted(EVENTS.items())}
ENDS = {
    "conversation-deleted.v1": 0.02,
    "owner-terminated.v1": 0.2,
    "retirement-cut.v1": 0.3,
    "authority-revoked.v1": 0.2,
}
"""How often an end is an end: else nothing would be live for long."""
OFTEN = ["ownership-claimed.v1", "generation-advanced.v1", "execution-admitted.v1"]


def history(chance: Random, events_max: int) -> list[Event | Unknown]:
    """Any history of one stream; now and then a newer version wrote in it.

    A grant is more frequent than the rest, so that something is ever live.
    """
    topics = [*KINDS, *OFTEN, *OFTEN]
    events: list[Event | Unknown] = []
    for _ in range(chance.randrange(events_max + 1)):
        if chance.random() < 0.02:
            events.append(Unknown("moon.v9", ignorable=chance.random() < 0.5))
        else:
            events.append(KINDS[chance.choice(topics)](chance))
    return events


def plausible(
    chance: Random, stream: str, events_max: int, last: str | None = None
) -> State:
    """The state after events that contradict nothing, though nobody decided them.

    A random history contradicts itself soon, and then no command gets far.
    """
    state = State(stream)
    for number in range(events_max):
        topic = chance.choice([*KINDS, *OFTEN, *OFTEN, *OFTEN])
        if last is not None and number > events_max - 10:
            topic = last
        elif chance.random() > ENDS.get(topic, 1):
            continue
        event = KINDS[topic](chance)
        at = state.version + 1
        next_state = evolve(state, Recorded(at, stream, at, bytes([at]) * 32, event))
        if next_state.quarantine is None:
            state = next_state
    return state


def recorded(stream: str, events: list[Event | Unknown]) -> list[Recorded]:
    """Return the history as it would be read."""
    return [
        Recorded(at, stream, at, bytes([at % 256] * 32), event)
        for at, event in enumerate(events, 1)
    ]


def state_of(stream: str, events: list[Event | Unknown]) -> State:
    """Return the state after the history."""
    state = State(stream)
    for one in recorded(stream, events):
        state = evolve(state, one)
    return state
