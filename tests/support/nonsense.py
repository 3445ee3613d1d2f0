"""Histories that nobody decided: every kind of event, in any order, about few things.

An import, an older version or a mistake may have written them. Few names and numbers,
so that events meet: duplicates, contradictions, and now and then a sound history.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from tenure import Boundary, Event, Evidence, OwnerRef, Recorded, Unknown
from tenure_ledger.codec import EVENTS
from tenure_ledger.events import Fact
from tenure_ledger.folds.stream import State, evolve

__all__ = ["CHILD", "NOW", "OTHER", "S", "events", "histories", "recorded", "state_of"]

S, OTHER = OwnerRef("session", "s"), OwnerRef("session", "other")
CHILD = OwnerRef("subagent", "child")
NOW = datetime(2026, 1, 1, tzinfo=UTC)

FIELDS: dict[str, list[Any]] = {
    "author": ["a", "b"],
    "generation": [0, 1, 1, 2, 3],
    "fenced": [True, False],
    "event_id": ["e1", "e2", "e3"],
    "recorded_at": [NOW],
    "agent_id": [None, "a", "b"],
    "previous_agent_id": [None, "a"],
    "process": [None, "p1"],
    "lease_until": [None, NOW],
    "parent": [None, None, OTHER],
    "grants": [(), ("read",), ("read", "write")],
    "grants_until": [None, NOW],
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
EARLIER = {"LateResult": {"call_id": [None, "c1"]}, "ReplayBarred": {"keys": [None]}}


def _values(kind: type[Event], name: str, field: FieldInfo) -> list[Any]:
    special = EARLIER.get(kind.__name__, {}).get(name, [])
    if get_origin(field.annotation) is Literal:
        return list(get_args(field.annotation))
    if name == "outcome" and kind.__name__ == "InterruptSettled":
        return ["interrupted", "no_active_execution"]
    return [*special, *FIELDS[name]]


def _of(kind: type[Event]) -> st.SearchStrategy[Event]:
    fields = {
        name: st.sampled_from(_values(kind, name, field))
        for name, field in kind.model_fields.items()
        if name not in SEALED
    }
    return st.fixed_dictionaries(fields).map(lambda given: kind(**given))


def events() -> st.SearchStrategy[Event]:
    """Any event of any kind; a grant more often, so that something is ever live."""
    kinds = sorted(EVENTS)
    often = ["ownership-claimed.v1", "generation-advanced.v1", "execution-admitted.v1"]
    by_topic = {topic: _of(EVENTS[topic]) for topic in kinds}
    return st.sampled_from([*kinds, *often, *often]).flatmap(by_topic.__getitem__)


def histories(events_max: int = 25) -> st.SearchStrategy[list[Event | Unknown]]:
    """Any history of one stream; now and then a newer version wrote in it."""
    unknown = st.builds(Unknown, st.just("moon.v9"), st.booleans())
    one = st.one_of(*[events()] * 30, unknown)
    return st.lists(one, max_size=events_max)


def recorded(stream: str, history: list[Event | Unknown]) -> list[Recorded]:
    """Return the history as it would be read."""
    return [
        Recorded(at, stream, at, bytes([at % 256] * 32), event)
        for at, event in enumerate(history, 1)
    ]


def state_of(stream: str, history: list[Event | Unknown]) -> State:
    """Return the state after the history."""
    state = State(stream)
    for one in recorded(stream, history):
        state = evolve(state, one)
    return state
