"""Stored bytes: their names, older versions lifted, newer ones seen and left alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from nonsense import KINDS
from tenure import (
    Corrupt,
    Event,
    Ledger,
    OwnerRef,
    TooNew,
    Unknown,
)
from tenure_ledger import codec
from tenure_ledger.codec import EVENTS, check_chain, decode, encode
from tenure_ledger.events import SubmissionAccepted
from tenure_ledger.rows import EventRow
from worlds import World

S, OTHER = OwnerRef("session", "ses_1"), OwnerRef("session", "ses_2")

STORED_NAMES = """
agent-bound.v1 agent-released.v1 approval-closed.v1 approval-consumed.v1
approval-decided.v1 approval-requested.v1 authority-granted.v1 authority-revoked.v1
bodies-erased.v1 checkpoint-cleared.v1 checkpoint-saved.v1 child-spawned.v1
conversation-deleted.v1 execution-admitted.v1 execution-settled.v1
execution-started.v1 generation-advanced.v1 history-rewritten.v1
interrupt-settled.v1 late-result.v1 notice-delivered.v1 notice-issued.v1
output-started.v1 owner-terminated.v1 ownership-claimed.v1 quarantine-resolved.v1
recovery-decided.v1 replay-barred.v1 retirement-cut.v1 stale-request-stripped.v1
submission-accepted.v1 tool-call-closed.v1 tool-call-completed.v1
tool-call-dispatched.v1 tool-call-intended.v1 verdict-given.v1
""".split()  # noqa: SIM905  as one paragraph it can be read


def row(topic: str, state: bytes) -> EventRow:
    return EventRow(1, S.stream, 1, topic, state, bytes(32))


def test_a_stored_name_is_never_changed() -> None:
    assert sorted(EVENTS) == STORED_NAMES


@pytest.mark.parametrize("topic", STORED_NAMES)
def test_every_event_is_read_back_equal_and_its_defaults_are_not_stored(
    topic: str,
) -> None:
    chance = Random(topic)  # noqa: S311  a test that can be run again
    for _ in range(50):
        event = KINDS[topic](chance)
        state = encode(event)
        again = decode(row(topic, state))
        assert isinstance(again.event, EVENTS[topic])
        assert again.event == event
        assert encode(again.event) == state
        stored: dict[str, Any] = json.loads(state)
        fields = EVENTS[topic].model_fields
        assert "topic" not in stored
        for name, value in stored.items():
            assert fields[name].default != value


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"5",
        b"\xff",
        b'{"author": 5}',
        b'{"a": 1}',
        b"[" * 9999,
    ],
)
@pytest.mark.parametrize("topic", ["submission-accepted.v1", "moon.v9"])
def test_bytes_that_are_not_ours_are_corrupt_or_unknown(
    topic: str, state: bytes
) -> None:
    try:
        event = decode(row(topic, state)).event
    except Corrupt as problem:
        assert "event 1 of owner:session:ses_1" in str(problem)  # noqa: PT017  or none
    else:
        assert topic == "moon.v9"
        assert isinstance(event, Unknown)
        assert not event.ignorable


@pytest.mark.parametrize("ignorable", [1, "true", None, [True]])
def test_only_true_makes_an_unknown_event_ignorable(ignorable: object) -> None:
    state = json.dumps({"ignorable": ignorable}).encode()
    event = decode(row("moon.v9", state)).event
    assert isinstance(event, Unknown)
    assert event.ignorable is False


def begun(world: World) -> Ledger:
    world.ledger.claim(S, "t1", "host")
    world.ledger.claim(OTHER, "t2", "host")
    return world.ledger


def test_an_unknown_event_that_may_be_ignored_is_passed_over(world: World) -> None:
    ledger = begun(world)
    before = ledger.owner(S)
    world.append_unknown(S, ignorable=True)
    for again in (ledger, world.open()):
        assert again.owner(S) == before._replace(version=before.version + 1)
        assert again.verify().ok
    assert ledger.accept(S, "m1", "inbox") == before.version + 2
    assert isinstance(ledger.history(S)[-2].event, Unknown)


REFUSED: list[Callable[[Ledger], object]] = [
    lambda ledger: ledger.accept(S, "m1", "inbox"),
    lambda ledger: ledger.claim(S, "t3", "host"),
    lambda ledger: ledger.bar_replay(S, "user_cancelled", "host"),
    lambda ledger: ledger.delete_conversation(S, "host"),
    lambda ledger: ledger.resolve_quarantine(S, 1, "host"),
]


def test_an_unknown_event_that_may_not_makes_its_stream_read_only(
    world: World,
) -> None:
    ledger = begun(world)
    world.append_unknown(S, ignorable=False)
    at = len(ledger.history(S))
    head = ledger.head()
    for again in (ledger, world.open()):
        seen = again.owner(S)
        assert (seen.status, seen.positions, seen.version) == ("too_new", (at,), at)
        for refused in REFUSED:
            with pytest.raises(TooNew) as refusal:
                refused(again)
            assert refusal.value.evidence["version"] == at
        assert again.verify().ok
    assert ledger.head() == head
    assert isinstance(ledger.history(S)[-1].event, Unknown)
    assert ledger.accept(OTHER, "m1", "inbox") > 0
    # What is stored behind it changes nothing that this version may judge.
    world.append(S, SubmissionAccepted(author="x", generation=1, key="m9"))
    assert ledger.owner(S).positions == (at,)
    assert ledger.owner(S).waiting == ()


def test_an_old_version_is_lifted_hop_by_hop_when_it_is_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renamed(data: dict[str, Any]) -> dict[str, Any]:
        data["vouched"] = data.pop("human")
        return data

    def renamed_again(data: dict[str, Any]) -> dict[str, Any]:
        data["vouched_human"] = data.pop("vouched")
        data["key"] = data["key"].removeprefix("#")
        return data

    ledger = begun(world)
    old = {"author": "x", "generation": 1, "key": "#m1", "human": True}
    old |= {"command_id": "c", "event_id": "e", "count": 1}
    rows = world.store().tail(S.stream, 0)
    old["previous_hash"] = rows[-1].hash.hex()
    world._insert(  # pyright: ignore[reportPrivateUsage]
        S, "submission-taken.v1", json.dumps(old).encode()
    )
    assert ledger.owner(S).status == "too_new"
    hops = {
        "submission-taken.v1": ("submission-taken.v2", renamed),
        "submission-taken.v2": ("submission-accepted.v1", renamed_again),
    }
    for topic, hop in hops.items():
        monkeypatch.setitem(codec.UPCASTERS, topic, hop)
    newer = world.open()
    last = newer.history(S)[-1].event
    assert isinstance(last, SubmissionAccepted)
    assert (last.key, last.vouched_human) == ("m1", True)
    assert newer.owner(S).waiting == ("m1",)
    # The chain is over the bytes as they are stored, so it still holds.
    assert newer.verify().ok
    assert newer.accept(S, "m2", "inbox") == len(rows) + 2


def test_an_upcaster_that_fails_is_a_fault_that_names_the_event(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(data: dict[str, Any]) -> dict[str, Any]:
        return {"key": data["nowhere"]}

    ledger = begun(world)
    world.append_unknown(S, ignorable=False)
    hop = ("submission-accepted.v1", broken)
    monkeypatch.setitem(codec.UPCASTERS, "moon-phase-noted.v7", hop)
    with pytest.raises(Corrupt, match="moon-phase-noted"):
        ledger.history(S)
    assert ledger.accept(OTHER, "m1", "inbox") > 0


def same(data: dict[str, Any]) -> dict[str, Any]:
    return data


def test_a_missing_hop_stops_the_program_at_its_start() -> None:
    events: dict[str, type[Event]] = {"moon.v3": Event}
    whole = {"moon.v1": ("moon.v2", same), "moon.v2": ("moon.v3", same)}
    check_chain(events, whole)
    for missing in whole:
        with pytest.raises(RuntimeError, match=missing):
            check_chain(events, {k: v for k, v in whole.items() if k != missing})
    with pytest.raises(RuntimeError, match=r"moon\.v1"):
        check_chain(events, {**whole, "moon.v1": ("moon.v3", same)})
    with pytest.raises(RuntimeError, match="present version"):
        check_chain(events, {**whole, "moon.v3": ("moon.v4", same)})
    for name in ("moon", "moon.v0", "Moon.v1", "moon.v1 "):
        with pytest.raises(RuntimeError, match="name"):
            check_chain({name: Event}, {})
