"""Closing a request, and the policy version that an approval is bound to."""

from __future__ import annotations

from typing import Literal

import pytest

from scenes import ONE, SESSION
from tenure import (
    AlreadyDecided,
    Approval,
    Authority,
    First,
    InvalidInput,
    KeyReused,
    NotFound,
    OwnerRef,
    arguments_digest,
)
from worlds import World

MAIL = {"to": "bob"}
DIGEST = arguments_digest(MAIL)
Reason = Literal["expired", "void"]
reasons = pytest.mark.parametrize("reason", ["expired", "void"])


def begin(world: World) -> Authority:
    """Give a term in which ``m1`` runs."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    return held


def ask(world: World, held: Authority, policy: str = "policy 1") -> Approval:
    return world.ledger.request_approval(held, "c1", "mail", DIGEST, policy)


@reasons
def test_a_request_that_nobody_decided_is_closed_once_and_is_no_denial(
    world: World, reason: Reason
) -> None:
    held = begin(world)
    asked = ask(world, held)
    with world.writes() as lines:
        closed = world.ledger.close_approval(held, asked.request_id, reason)
        again = world.open("p2").close_approval(held, asked.request_id, reason)
    assert lines == [f"ses_1 ApprovalClosed@1 {reason}"]
    assert closed == again == world.ledger.approval(SESSION, asked.request_id)
    assert (closed.reason, closed.decision, closed.open) == (reason, None, False)
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    assert refusal.value.first == reason


@pytest.mark.parametrize("decision", ["approved", "denied"])
def test_what_was_decided_never_expires(
    world: World, decision: Literal["approved", "denied"]
) -> None:
    held = begin(world)
    asked = ask(world, held)
    world.ledger.decide_approval(SESSION, asked.request_id, decision, "ann")
    world.pass_seconds(10**6)
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.close_approval(held, asked.request_id)
    assert refusal.value.first == decision
    assert refusal.value.evidence["author"] == "ann"


def test_an_approval_that_is_not_to_be_used_is_void(world: World) -> None:
    held = begin(world)
    asked = ask(world, held)
    world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    closed = world.ledger.close_approval(held, asked.request_id, "void")
    assert (closed.decision, closed.reason) == ("approved", "void")
    with world.refuses(AlreadyDecided):
        world.ledger.begin_tool_call(held, "m1", "c1", "mail", MAIL, asked.request_id)


@reasons
def test_what_was_used_denied_or_closed_otherwise_stands(
    world: World, reason: Reason
) -> None:
    held = begin(world)
    ledger = world.ledger
    used = ask(world, held)
    ledger.decide_approval(SESSION, used.request_id, "approved", "ann")
    ledger.begin_tool_call(held, "m1", "c1", "mail", MAIL, used.request_id)
    other = ledger.request_approval(held, "c2", "mail", DIGEST, "policy 1")
    ledger.close_approval(held, other.request_id, _other(reason))
    denied = ledger.request_approval(held, "c3", "mail", DIGEST, "policy 1")
    ledger.decide_approval(SESSION, denied.request_id, "denied", "ann")
    first = {used: "consumed", other: _other(reason), denied: "denied"}
    for asked, stands in first.items():
        with world.refuses(AlreadyDecided) as refusal:
            ledger.close_approval(held, asked.request_id, reason)
        assert refusal.value.first == stands


def _other(reason: Reason) -> Reason:
    return "void" if reason == "expired" else "expired"


def test_a_request_is_closed_by_its_own_holder_for_a_reason_of_his(
    world: World,
) -> None:
    held = begin(world)
    asked = ask(world, held)
    job = world.ledger.claim(OwnerRef("job", "j"), "worker", "host")
    for by, name in ((held, "nobody asked"), (job, asked.request_id)):
        with world.refuses(NotFound):
            world.ledger.close_approval(by, name)
    with world.refuses(InvalidInput):
        world.ledger.close_approval(held, asked.request_id, "cut")


def test_after_a_close_the_same_call_is_asked_about_anew(world: World) -> None:
    held = begin(world)
    first = ask(world, held)
    with world.refuses(KeyReused):
        ask(world, held, "policy 2")
    world.ledger.close_approval(held, first.request_id, "void")
    second = ask(world, held, "policy 2")
    assert second.request_id != first.request_id
    assert second.policy_version == "policy 2"


def test_an_approval_of_another_policy_version_dispatches_nothing(
    world: World,
) -> None:
    held = begin(world)
    asked = ask(world, held)
    ledger = world.ledger
    ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    with world.refuses(KeyReused) as refusal:
        ledger.begin_tool_call(
            held,
            "m1",
            "c1",
            "mail",
            MAIL,
            asked.request_id,
            policy_version="policy 2",
        )
    assert refusal.value.evidence["policy_version"] == "policy 1"
    call = ledger.begin_tool_call(
        held, "m1", "c1", "mail", MAIL, asked.request_id, policy_version="policy 1"
    )
    assert call.state == "fresh"


def test_a_policy_version_is_not_asked_of_a_call_without_approval(
    world: World,
) -> None:
    held = begin(world)
    call = world.ledger.begin_tool_call(
        held, "m1", "c1", "mail", MAIL, policy_version="policy 9"
    )
    assert call.state == "fresh"
