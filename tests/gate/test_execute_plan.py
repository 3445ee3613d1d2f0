"""The reference executor: calls, and what is on record of them."""

from __future__ import annotations

from typing import Literal

import pytest

from executing import DIGEST, Host, go, run
from resuming import ARGUMENTS, S, ask, begun
from tenure import (
    AwaitApproval,
    GoOn,
    Json,
    RunCall,
    arguments_digest,
)
from worlds import World


def test_a_call_is_run_with_its_key_completed_and_kept(world: World) -> None:
    held = begun(world)
    asked = go(world, held, run("x"))
    on_record = world.ledger.tool_call(S, "m1", "x")
    assert on_record is not None
    assert (on_record.state, on_record.result) == ("completed", "ran x")
    assert asked == [
        ("allowed?", "x"),
        ("ran", "x", ARGUMENTS, on_record.idempotency_key),
        ("kept", "x", "ran x"),
    ]
    # Once more: the record answers.
    assert go(world, held, run("x")) == [("allowed?", "x"), ("kept", "x", "ran x")]


def test_a_tool_that_breaks_leaves_a_call_of_which_nothing_is_known(
    world: World,
) -> None:
    held = begun(world)
    host = Host()

    def breaks(_: RunCall) -> Json:
        msg = "no network"
        raise ConnectionError(msg)

    host.when_run = breaks
    with pytest.raises(ConnectionError, match="no network"):
        go(world, held, run("x"), GoOn(("m1",), None), host=host)
    assert host.asked[-1][0] == "ran"
    assert go(world, held, run("x"))[-1] == ("told", "x", "unknown")


def test_the_hosts_policy_is_asked_before_what_no_person_approved(
    world: World,
) -> None:
    held = begun(world)
    host = Host()
    host.may_run = False
    assert go(world, held, run("x"), host=host) == [
        ("allowed?", "x"),
        ("told", "x", "never_started"),
    ]
    assert world.ledger.tool_call(S, "m1", "x") is None


def test_a_barred_call_is_told_as_never_started(world: World) -> None:
    held = begun(world)
    world.ledger.bar_replay(S, "model_switch", "host", ["m1"])
    assert go(world, held, run("x"))[-1] == ("told", "x", "never_started")


def test_arguments_that_nobody_has_any_more_run_nothing(world: World) -> None:
    held = begun(world)
    lost = RunCall("m1", "x", "write", None, DIGEST, None)
    assert go(world, held, lost) == [("told", "x", "never_started")]
    null = RunCall("m1", "y", "write", None, arguments_digest(None), None)
    assert go(world, held, null)[-1] == ("kept", "y", "ran y")


def test_an_approval_of_another_policy_is_not_used(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    world.ledger.decide_approval(S, request, "approved", "ann")
    step = run("x", request)
    told = ("told", "x", "never_started")
    assert go(world, held, step, policy="policy 2") == [told]
    # It was said that it did not run, so no later plan runs it.
    asked = world.ledger.approval(S, request)
    assert asked is not None
    assert asked.reason == "void"
    assert go(world, held, step, policy="policy 1") == [("told", "x", "void")]


def test_an_approval_of_the_policy_in_force_is_used(world: World) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    world.ledger.decide_approval(S, request, "approved", "ann")
    told = go(world, held, run("x", request), policy="policy 1")
    assert told[-1] == ("kept", "x", "ran x")


@pytest.mark.parametrize("what", ["denied", "expired", "void"])
def test_an_approval_that_ended_otherwise_since_is_told_as_it_ended(
    world: World, what: Literal["denied", "expired", "void"]
) -> None:
    held = begun(world)
    request = ask(world, held, "x")
    if what == "denied":
        world.ledger.decide_approval(S, request, what, "ann")
    else:
        world.ledger.close_approval(held, request, what)
    assert go(world, held, run("x", request)) == [("told", "x", what)]
    wait = AwaitApproval(request, run("x", request), None)
    assert go(world, held, wait) == [("told", "x", what)]
