"""Seven assertions: each fails alone, and of several the first in the order decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from recovering import CLOSED, KID, SESSION, again, begin, environment, restart, the
from tenure import (
    Authority,
    Closed,
    ExecutionConfig,
    First,
    Identity,
    OwnerRef,
    Resumed,
    RuntimeRestartReactionLoopState,
    recover,
)
from tenure_ledger import events as e
from tenure_ledger.codec import decode
from tenure_ledger.decisions.recovering.assertions import ASSERTIONS, CHECKS, Case
from tenure_ledger.folds.stream import State, fold
from tenure_ledger.snapshots import RestartSnapshot, Unreadable, read_payload
from worlds import World

LOOP = RuntimeRestartReactionLoopState(consecutive_batches=1)
AGENT = "agent:kid/1"


class Broken(NamedTuple):
    """A sub-agent with a checkpoint, and what the host will answer."""

    world: World
    parent: Authority
    kid: Authority
    answers: dict[str, Callable[[OwnerRef], Any]]


def child(world: World) -> Broken:
    """A session whose agent lives, and a sub-agent that was killed at work."""
    parent = begin(world.open("host"))
    grants = ["read", "write"]
    kid = world.ledger.spawn(parent, KID, "kid/1", grants=grants, author="manager/1")
    world.ledger.admit(kid, "t1", "assistant_run")
    world.ledger.start(kid, "t1")
    config = ExecutionConfig(branch="subagent", agent_type="coder", tenant="acme")
    world.ledger.save_checkpoint(kid, LOOP, config)
    answers: dict[str, Callable[[OwnerRef], Any]] = {
        "conversation_exists": lambda _: True,
        "parent": lambda owner: SESSION if owner == KID else None,
        "identity": lambda _: Identity("coder", "acme"),
        "current_grants": lambda _: ["read", "write", "mail"],
    }
    return Broken(world, parent, kid, answers)


def _saved_as(broken: Broken, digest: str) -> None:
    """Put a checkpoint with this body on record, as another release might have."""
    saved = e.CheckpointSaved(
        author="kid/1",
        generation=1,
        fenced=True,
        keys=("t1",),
        revision=9,
        mode="reaction_loop",
        payload=digest,
    )
    broken.world.append(KID, saved)


def partial(broken: Broken) -> None:
    """Its body was erased."""
    _saved_as(broken, "erased")


def invalid(broken: Broken) -> None:
    """Its body is of a version to come."""
    ledger = broken.world.ledger
    body = {"version": 2, "payload": {"consecutive_batches": 1}}
    ledger.intend_tool_call(broken.kid, "t1", "c1", "keep", body)
    (call,) = ledger.owner(KID).open_calls
    _saved_as(broken, call.arguments)


def conversation(broken: Broken) -> None:
    """The host has deleted it."""
    broken.answers["conversation_exists"] = lambda owner: owner != KID


def structure(broken: Broken) -> None:
    """The host hangs it under another session."""
    broken.answers["parent"] = lambda _: OwnerRef("session", "ses_2")


def identity(broken: Broken) -> None:
    """The same id is another tenant's now."""
    broken.answers["identity"] = lambda _: Identity("coder", "other")


def durable(broken: Broken) -> None:
    """Its agent's own stream says that it was let go."""
    released = e.AgentReleased(author="import", generation=1, owner=KID)
    broken.world.append(AGENT, released)


def authority(broken: Broken) -> None:
    """A grant was taken back after it was saved."""
    broken.world.ledger.revoke(broken.parent, KID, ["write"])


BREAK: dict[str, Callable[[Broken], None]] = dict(
    zip(
        ASSERTIONS,
        [partial, invalid, conversation, structure, identity, durable, authority],
        strict=True,
    )
)


def together() -> Iterator[tuple[str, ...]]:
    """Every set of things that can be wrong at once: a body is wrong in one way."""
    for count in range(2, len(ASSERTIONS) + 1):
        for some in combinations(ASSERTIONS, count):
            if not {ASSERTIONS[0], ASSERTIONS[1]} <= {*some}:
                yield some


def recovered(broken: Broken) -> Closed | Resumed:
    """Recover while the session's own agent lives; return what became of the child."""
    ledger = broken.world.open("p2")
    report = recover(ledger, environment("host", **broken.answers), only=[KID])
    assert report.failed == ()
    (one,) = report.results
    assert isinstance(one, Closed | Resumed)
    return one


def snapshot_of(world: World, seen: State) -> RestartSnapshot | Unreadable | None:
    """Return what the live checkpoint holds."""
    live = seen.recovery.checkpoint
    if live is None:
        return None
    return read_payload(live.mode, world.store().body(seen.stream, live.payload))


def failing(broken: Broken) -> set[str]:
    """Ask every assertion, also behind the first that fails."""
    ledger = broken.world.ledger
    states = {one.stream: ledger.fresh_state(one) for one in (KID, SESSION)}
    rows = broken.world.store().tail(AGENT, 0)
    states[AGENT] = fold(AGENT, map(decode, rows))
    seen: State = states[KID.stream]
    case = Case(
        states,
        KID,
        snapshot_of(broken.world, seen),
        environment(**broken.answers).answers(KID),
        ledger.now(),
    )
    return {name for name, check in CHECKS.items() if check(case) is not None}


def test_with_nothing_broken_all_hold(world: World) -> None:
    broken = child(world)
    assert failing(broken) == set()
    resumed = recovered(broken)
    assert isinstance(resumed, Resumed)
    assert (resumed.plan.mode, resumed.grants) == ("reaction_loop", ("read", "write"))


@pytest.mark.parametrize("name", ASSERTIONS)
def test_each_assertion_fails_alone(world: World, name: str) -> None:
    broken = child(world)
    BREAK[name](broken)
    assert failing(broken) == {name}
    with world.writes() as lines:
        closed = recovered(broken)
    assert isinstance(closed, Closed)
    assert (closed.assertion, closed.reasons) == (name, ())
    assert closed.detail
    assert closed.told == SESSION
    assert [line for line in lines if "kid_1 OwnerTerminated" in line] == [
        "kid_1 OwnerTerminated@1 closed_in_recovery"
    ]
    assert f"kid_1 CheckpointCleared@1 {name}" in lines
    (notice,) = world.ledger.pending_notices(SESSION)
    assert (notice.about, notice.event_type, notice.reasons) == (KID, CLOSED, (name,))
    assert name not in notice.text  # a sentence, not a name
    assert "- of subagent kid_1:\n- message t1: started" in notice.text
    decided = [one.event for one in world.ledger.history(KID)]
    (found,) = [one for one in decided if isinstance(one, e.RecoveryDecided)]
    assert (found.assertion, found.detail) == (name, closed.detail)


@pytest.mark.parametrize("wrong", [*together()], ids="+".join)
def test_of_several_the_first_in_the_order_decides(
    world: World, wrong: tuple[str, ...]
) -> None:
    broken = child(world)
    for name in wrong:
        BREAK[name](broken)
    closed = recovered(broken)
    assert isinstance(closed, Closed)
    assert closed.assertion == wrong[0]


def test_a_newer_holding_is_judged_without_the_leftover(world: World) -> None:
    """Another agent's grant that cleared nothing, from an older release."""
    broken = child(world)
    moved = e.GenerationAdvanced(
        author="import",
        generation=2,
        reason="takeover",
        agent_id="kid/9",
        process="p1",
    )
    world.append(KID, moved)
    world.append(AGENT, e.AgentReleased(author="import", generation=1, owner=KID))
    bound = e.AgentBound(author="import", generation=2, owner=KID)
    world.append("agent:kid/9", bound)
    resumed = recovered(broken)
    assert isinstance(resumed, Resumed)
    assert resumed.discarded == "invalid_durable_owner_identity"
    assert (resumed.authority.agent_id, resumed.authority.generation) == ("kid/9", 3)
    assert world.ledger.owner(KID).checkpoint is None


def test_a_grant_that_ran_out_forbids_too(world: World) -> None:
    broken = child(world)
    soon = world.ledger.now().replace(second=30)
    world.ledger.grant(broken.parent, KID, ["read", "write"], until=soon)
    world.ledger.save_checkpoint(broken.kid, LOOP)
    world.pass_seconds(60)
    closed = recovered(broken)
    assert isinstance(closed, Closed)
    assert closed.assertion == "invalid_inherited_execution_authority"
    assert closed.detail == "it may not read, write any more"


def test_what_the_config_needs_counts_not_all_that_was_granted(world: World) -> None:
    broken = child(world)
    config = ExecutionConfig(grants=["read"])
    world.ledger.save_checkpoint(broken.kid, LOOP, config)
    world.ledger.revoke(broken.parent, KID, ["write"])
    resumed = recovered(broken)
    assert isinstance(resumed, Resumed)
    assert resumed.grants == ("read",)


def test_a_root_session_is_asked_as_well(world: World) -> None:
    begin(world.ledger)
    world.ledger.save_checkpoint(
        _held(world), LOOP, ExecutionConfig(grants=["pay"]), keys=["m1"]
    )
    report = restart(world, current_grants=lambda _: ["read"])
    closed = the(report, Closed)
    assert closed.assertion == "invalid_inherited_execution_authority"
    assert again(world, current_grants=lambda _: ["read"]).closed == ()


def _held(world: World) -> Authority:
    view = world.ledger.owner(SESSION)
    assert view.incarnation is not None
    return Authority(SESSION, view.generation, view.incarnation, view.agent_id)


def test_without_a_checkpoint_the_conversation_is_asked_about(world: World) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    report = restart(world, conversation_exists=lambda _: False)
    assert the(report, Closed).assertion == "missing_conversation"
