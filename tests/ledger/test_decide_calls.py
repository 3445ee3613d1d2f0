"""Tool calls: run once, or known to be unknown (design section 7)."""

from __future__ import annotations

import pytest

from scenes import ONE, SESSION
from tenure import (
    AlreadyDecided,
    Authority,
    First,
    InvalidInput,
    KeyReused,
    Ledger,
    NotAdmitted,
    NotFound,
    ToolCall,
)
from worlds import World

MAIL = {"to": "bob"}


def begin(world: World) -> Authority:
    """Give a term in which ``m1`` runs."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    return held


def call(ledger: Ledger, held: Authority, call_id: str = "c1") -> ToolCall:
    """Begin the call."""
    return ledger.begin_tool_call(held, "m1", call_id, "mail", MAIL)


@pytest.mark.parametrize("how", ["the same call", "the same command id"])
def test_run_it_is_said_once_for_ever(world: World, how: str) -> None:
    held = begin(world)
    command_id = "run 1" if how == "the same command id" else None

    def begin_call(ledger: Ledger) -> ToolCall:
        return ledger.begin_tool_call(
            held, "m1", "c1", "mail", MAIL, command_id=command_id
        )

    first = begin_call(world.ledger)
    assert first.state == "fresh"
    with world.writes() as lines:
        again = [begin_call(world.ledger), begin_call(world.open("p2"))]
    assert [one.state for one in again] == ["unknown", "unknown"]
    assert {one.idempotency_key for one in again} == {first.idempotency_key}
    assert lines == []
    world.ledger.complete_tool_call(held, first, {"sent": True})
    done = begin_call(world.open("p1"))
    assert (done.state, done.result, done.late) == ("completed", {"sent": True}, False)


def test_an_intent_waits_and_is_dispatched_once(world: World) -> None:
    held = begin(world)
    with world.writes() as lines:
        asked = [
            world.ledger.intend_tool_call(held, "m1", "c1", "mail", MAIL)
            for _ in range(2)
        ]
        assert call(world.ledger, held).state == "fresh"
        asked.append(world.ledger.intend_tool_call(held, "m1", "c1", "mail", MAIL))
    assert [one.state for one in asked] == ["intended", "intended", "unknown"]
    assert lines == [
        "ses_1 ToolCallIntended@1 m1 c1",
        "ses_1 ToolCallDispatched@1 m1 c1",
    ]


def test_the_same_call_id_with_other_content_is_refused(world: World) -> None:
    held = begin(world)
    call(world.ledger, held)
    for tool, arguments in (("post", MAIL), ("mail", {"to": "eve"})):
        with world.refuses(KeyReused):
            world.ledger.begin_tool_call(held, "m1", "c1", tool, arguments)
        with world.refuses(KeyReused):
            world.ledger.intend_tool_call(held, "m1", "c1", tool, arguments)
    world.ledger.admit(held, "m2", "human")
    again = world.ledger.begin_tool_call(held, "m2", "c1", "post", {})
    assert again.state == "fresh"


def test_only_an_open_execution_of_the_live_term_calls(world: World) -> None:
    held = begin(world)
    for begin_or_intend in (
        world.ledger.begin_tool_call,
        world.ledger.intend_tool_call,
    ):
        with world.refuses(NotAdmitted):
            begin_or_intend(held, "m2", "c1", "mail", MAIL)
    call(world.ledger, held)
    world.ledger.settle(held, "m1", "completed")
    with world.refuses(AlreadyDecided):
        call(world.ledger, held, call_id="c2")
    assert call(world.ledger, held).state == "unknown"


def test_the_first_result_stands(world: World) -> None:
    held = begin(world)
    begun = call(world.ledger, held)
    at = world.ledger.complete_tool_call(held, begun, "sent")
    with world.writes() as lines:
        assert world.ledger.complete_tool_call(held, ("m1", "c1"), "sent") == at
    assert lines == []
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.complete_tool_call(held, begun, "not sent")
    assert refusal.value.evidence["version"] == at


def test_what_was_never_dispatched_is_not_completed(world: World) -> None:
    held = begin(world)
    with world.refuses(NotFound) as refusal:
        world.ledger.complete_tool_call(held, ("m1", "c1"), "sent")
    assert refusal.value.kind == "call"
    world.ledger.intend_tool_call(held, "m1", "c1", "mail", MAIL)
    with world.refuses(NotAdmitted):
        world.ledger.complete_tool_call(held, ("m1", "c1"), "sent")


@pytest.mark.parametrize("call_", ["m1", ("m1",), 7, None])
def test_a_call_is_named_by_message_and_call_id(world: World, call_: object) -> None:
    held = begin(world)
    with world.refuses(InvalidInput):
        world.ledger.complete_tool_call(held, call_, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
