"""What is read fast, to fold or to verify, is what the models of the events say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from event_strategies import events, histories, unknowns
from tenure import Event, Unknown
from tenure_ledger.codec import EVENTS, decode, encode
from tenure_ledger.decisions.work import Envelope, made
from tenure_ledger.errors import Corrupt
from tenure_ledger.events import ExecutionStarted
from tenure_ledger.folds.stream import State, fold
from tenure_ledger.lean import load, read, write
from tenure_ledger.rows import EventRow, row_hash

STREAM = "owner:session:s1"
ALWAYS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
NEWER = "tea-served.v1"


def rows(history: Sequence[Event | Unknown]) -> list[EventRow]:
    """Return the rows that a store would hold of this history."""
    found: list[EventRow] = []
    for version, event in enumerate(history, 1):
        if isinstance(event, Unknown):
            state = b'{"ignorable":true}' if event.ignorable else b"{}"
            topic = NEWER
        else:
            topic, state = event.topic, encode(event)
        hashed = row_hash(STREAM, version, topic, state)
        found.append(EventRow(version, STREAM, version, topic, state, hashed))
    return found


def damaged(row: EventRow, change: Callable[[bytes], bytes]) -> EventRow:
    return row._replace(state=change(row.state))


@ALWAYS
@given(events())
def test_an_event_read_fast_has_every_field_of_its_model(event: Event) -> None:
    [row] = rows([event])
    fast, model = read(row), decode(row).event
    for name in type(event).model_fields:
        assert getattr(fast, name) == getattr(model, name) == getattr(event, name)


@ALWAYS
@given(events())
def test_an_event_written_fast_is_the_same_bytes(event: Event) -> None:
    assert write(event) == encode(event)


@ALWAYS
@given(events())
def test_an_event_made_by_a_decision_is_what_its_constructor_makes(
    event: Event,
) -> None:
    fields = {name: getattr(event, name) for name in type(event).model_fields}
    envelope = {name: fields.pop(name) for name in ("author", "generation", "fenced")}
    again = made(type(event), envelope, **fields)
    assert again == type(event)(**envelope, **fields) == event
    assert type(again) is type(event)


def test_an_event_made_by_a_decision_is_checked() -> None:
    envelope: Envelope = {"author": "a", "generation": 1}
    for fields in ({"key": ""}, {"key": "m1", "into": 1}, {"key": "m1", "odd": 1}, {}):
        with pytest.raises(ValidationError):
            made(ExecutionStarted, envelope, **fields)


def test_an_everyday_event_is_read_without_its_model() -> None:
    [row] = rows([ExecutionStarted(author="a", generation=1, key="m1")])
    assert not isinstance(read(row), Event)


@ALWAYS
@given(st.one_of(st.lists(st.one_of(events(), unknowns()), max_size=30), histories(30)))
def test_a_stream_loads_to_what_its_events_fold_to(
    history: Sequence[Event | Unknown],
) -> None:
    stored = rows(history)
    assert load(State(STREAM), stored) == fold(STREAM, map(decode, stored))


@ALWAYS
@given(histories(30))
def test_a_stream_loads_on_from_a_state_which_stays_as_it_was(
    history: Sequence[Event | Unknown],
) -> None:
    stored = rows(history)
    half = len(stored) // 2
    before = load(State(STREAM), stored[:half])
    after = load(before, stored[half:])
    assert before == fold(STREAM, map(decode, stored[:half]))
    assert after == load(State(STREAM), stored)


@ALWAYS
@given(histories(30))
def test_what_a_quarantine_keeps_are_events_of_their_class(
    history: Sequence[Event | Unknown],
) -> None:
    stopped = load(State(STREAM), rows(history)).quarantine
    if stopped is not None:
        kept = [stopped.event, *stopped.held.values()]
        assert all(isinstance(event, Event) for event in kept)


@ALWAYS
@given(events())
def test_no_event_is_read_fast_that_its_model_refuses(event: Event) -> None:
    [row] = rows([event])
    wrong: list[Callable[[bytes], bytes]] = [
        lambda state: state[:-1],
        lambda state: state[:-1] + b',"more":1}',
        lambda state: state.replace(b'"generation"', b'"degeneration"'),
        lambda state: state.replace(b'"author":"', b'"author":1,"x":"'),
        lambda _: b"[]",
        lambda _: b"\xff",
    ]
    for change in wrong:
        bad = damaged(row, change)
        with pytest.raises(Corrupt):
            decode(bad)
        with pytest.raises(Corrupt):
            read(bad)


@pytest.mark.parametrize("topic", sorted(EVENTS))
def test_bounds_and_missing_fields_are_those_of_the_model(topic: str) -> None:
    for state in (
        b"{}",
        b'{"author":"","generation":1}',
        b'{"author":"a","generation":-1}',
        b'{"author":"a","generation":1,"count":0}',
        b'{"author":"a","generation":1,"key":"","call_id":""}',
    ):
        row = EventRow(1, STREAM, 1, topic, state, b"")
        assert _outcome(read, row) == _outcome(lambda r: decode(r).event, row)


def _outcome(reader: Callable[[EventRow], Event | Unknown], row: EventRow) -> str:
    try:
        reader(row)
    except Corrupt:
        return "corrupt"
    return "read"
