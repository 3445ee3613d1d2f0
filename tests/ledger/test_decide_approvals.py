"""Approvals: the first decision wins and is used once (design section 7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Literal

import pytest

from scenes import ONE, SESSION, TWO
from tenure import (
    AlreadyDecided,
    Approval,
    Authority,
    Evidence,
    First,
    KeyReused,
    Ledger,
    NotAdmitted,
    NotFound,
    ToolCall,
    UnknownOwner,
    arguments_digest,
)
from worlds import World

MAIL = {"to": "bob"}
DIGEST = arguments_digest(MAIL)


def begin(world: World) -> Authority:
    """Give a term in which ``m1`` runs."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    return held


def ask(world: World, held: Authority, timeout: float | None = None) -> Approval:
    """Ask a person about the call ``c1``."""
    return world.ledger.request_approval(
        held, "c1", "mail", DIGEST, "policy 1", timeout
    )


def call(
    ledger: Ledger, held: Authority, approval: str | None = None, call_id: str = "c1"
) -> ToolCall:
    """Begin the call."""
    return ledger.begin_tool_call(held, "m1", call_id, "mail", MAIL, approval)


def test_the_same_call_asked_again_has_the_request_that_is_open(world: World) -> None:
    held = begin(world)
    first = ask(world, held, 60)
    assert first.expires_at == world.now + timedelta(seconds=60)
    with world.writes() as lines:
        assert ask(world, held, 60) == first
        assert ask(world, held) == first
    assert lines == []
    for tool, digest, policy in (
        ("post", DIGEST, "policy 1"),
        ("mail", arguments_digest({}), "policy 1"),
        ("mail", DIGEST, "policy 2"),
    ):
        with world.refuses(KeyReused) as refusal:
            world.ledger.request_approval(held, "c1", tool, digest, policy)
        assert refusal.value.evidence["request_id"] == first.request_id


@pytest.mark.parametrize("decision", ["approved", "denied"])
@pytest.mark.parametrize("second", ["approved", "denied"])
def test_the_first_decision_wins(
    world: World,
    decision: Literal["approved", "denied"],
    second: Literal["approved", "denied"],
) -> None:
    asked = ask(world, begin(world))
    decided = world.ledger.decide_approval(SESSION, asked.request_id, decision, "ann")
    assert (decided.decision, decided.author) == (decision, "ann")
    with world.refuses(AlreadyDecided) as refusal:
        world.open("p2").decide_approval(SESSION, asked.request_id, second, "bob")
    assert refusal.value.first == decision
    assert refusal.value.evidence["author"] == "ann"
    assert refusal.value.evidence["version"] == decided.decided


def test_a_decision_after_the_time_out_closes_the_request_as_expired(
    world: World,
) -> None:
    asked = ask(world, begin(world), 60)
    world.pass_seconds(60)
    with world.writes() as lines:
        late = world.ledger.decide_approval(
            SESSION, asked.request_id, "approved", "ann"
        )
    assert lines == ["ses_1 ApprovalClosed@1 expired"]
    assert (late.decision, late.reason) == (None, "expired")
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    assert refusal.value.first == "expired"


def test_a_stored_decision_is_never_expired_by_a_clock(world: World) -> None:
    held = begin(world)
    asked = ask(world, held, 60)
    world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    world.pass_seconds(3600)
    assert call(world.ledger, held, asked.request_id).state == "fresh"


def test_a_decision_names_a_request_that_is_on_record(world: World) -> None:
    with world.refuses(UnknownOwner):
        world.ledger.decide_approval(SESSION, "r1", "approved", "ann")
    begin(world)
    with world.refuses(NotFound) as refusal:
        world.ledger.decide_approval(SESSION, "r1", "approved", "ann")
    assert (refusal.value.kind, refusal.value.id) == ("approval", "r1")


def test_an_approved_call_is_dispatched_and_uses_its_approval_up(
    world: World,
) -> None:
    held = begin(world)
    asked = ask(world, held)
    world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    with world.writes() as lines:
        assert call(world.ledger, held, asked.request_id).state == "fresh"
        assert call(world.ledger, held, asked.request_id).state == "unknown"
    assert lines == [
        "ses_1 ToolCallIntended@1 m1 c1",
        "ses_1 ApprovalConsumed@1 m1 c1",
        "ses_1 ToolCallDispatched@1 m1 c1",
    ]


Prepare = Callable[[World, Authority], str | None]


def _approve(world: World, held: Authority) -> str:
    asked = ask(world, held)
    world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    return asked.request_id


def _deny(world: World, held: Authority) -> str:
    asked = ask(world, held)
    world.ledger.decide_approval(SESSION, asked.request_id, "denied", "ann")
    return asked.request_id


def _let_expire(world: World, held: Authority) -> str:
    asked = ask(world, held, 60)
    world.pass_seconds(61)
    world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    return asked.request_id


def _use_for_another(world: World, held: Authority) -> str:
    asked = world.ledger.request_approval(held, "c2", "mail", DIGEST, "policy 1")
    world.ledger.decide_approval(SESSION, asked.request_id, "approved", "ann")
    return asked.request_id


def _hide(world: World, held: Authority) -> None:
    _approve(world, held)


NOT_YET: dict[str, tuple[Prepare, type[Exception]]] = {
    "undecided": (lambda world, held: ask(world, held).request_id, NotAdmitted),
    "denied": (_deny, AlreadyDecided),
    "expired": (_let_expire, AlreadyDecided),
    "approved but not named": (_hide, NotAdmitted),
    "of another call": (_use_for_another, KeyReused),
    "unknown": (lambda _, __: "never asked", NotFound),
}


@pytest.mark.parametrize("state", NOT_YET)
def test_a_call_is_not_dispatched_under_an_approval_that_is(
    world: World, state: str
) -> None:
    held = begin(world)
    prepare, kind = NOT_YET[state]
    approval = prepare(world, held)
    with world.writes() as lines, pytest.raises(kind) as refusal:
        call(world.ledger, held, approval)
    assert refusal.type is kind
    assert lines == []


def test_an_approval_binds_the_arguments(world: World) -> None:
    held = begin(world)
    approval = _approve(world, held)
    with world.refuses(KeyReused):
        world.ledger.begin_tool_call(held, "m1", "c1", "mail", {"to": "eve"}, approval)


def test_a_dead_terms_approval_is_used_by_nobody(world: World) -> None:
    held = begin(world)
    approval = _approve(world, held)
    evidence = Evidence.gone(world.ledger.owner(SESSION))
    held = world.ledger.take_over(
        SESSION, TWO, "host", evidence, first=First("m2", "human")
    )
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.begin_tool_call(held, "m2", "c1", "mail", MAIL, approval)
    assert refusal.value.first == "void"
