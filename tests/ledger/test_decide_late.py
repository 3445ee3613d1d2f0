"""A late fact is not an act (design section 6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import JOB, ONE, SESSION, TWO, version_of
from tenure import (
    AlreadyDecided,
    Authority,
    ChatExecutionKey,
    Deleted,
    Event,
    Evidence,
    Execution,
    FencedOut,
    First,
    InvalidInput,
    Ledger,
    NotFound,
    OwnerEnded,
    Refused,
    TermRetired,
    ToolCall,
    UnknownOwner,
)
from tenure_ledger import events as e
from worlds import World

KEY = ChatExecutionKey("ses_1", "m1")


def begin(world: World) -> Authority:
    """Give a term in which ``m1`` runs and has called ``c1``."""
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    world.ledger.start(held, "m1")
    world.ledger.begin_tool_call(held, "m1", "c1", "mail", {})
    return held


def known(world: World) -> Execution:
    """Return what the ledger knows of ``m1``."""
    found = world.ledger.execution(KEY)
    assert found is not None
    return found


def called(world: World) -> ToolCall:
    """Return the call as it stands."""
    found = world.ledger.tool_call(SESSION, "m1", "c1")
    assert found is not None
    return found


End = Callable[[Ledger, Authority], object]

ENDS: dict[str, tuple[End, type[Refused]]] = {
    "retire": (lambda on, by: on.retire(by, "continue"), TermRetired),
    "terminate": (lambda on, by: on.terminate(by, "done", "ok"), OwnerEnded),
    "migration": (lambda on, by: on.advance(by, "migration"), FencedOut),
    "take_over": (
        lambda on, _: on.take_over(
            SESSION, TWO, "host", Evidence.gone(on.owner(SESSION))
        ),
        TermRetired,
    ),
}
ends = pytest.mark.parametrize("end", ENDS)


@ends
def test_a_late_settle_is_stored_once_and_refused_each_time(
    world: World, end: str
) -> None:
    held = begin(world)
    call, kind = ENDS[end]
    call(world.ledger, held)
    outcome, status = known(world).outcome, world.ledger.owner(SESSION)
    late = ("ses_1 LateResult@1 m1 completed", "ses_1 NoticeIssued@1 late_result")
    with world.refuses(kind, *late) as refusal:
        world.ledger.settle(held, "m1", "completed")
    at = version_of(world.ledger, SESSION, e.LateResult)
    assert refusal.value.evidence["late"] == at
    for again in ("completed", "failed"):
        with world.refuses(kind) as refusal:
            world.open("p2").settle(held, "m1", again)
        assert refusal.value.evidence["late"] == at
    now = world.ledger.owner(SESSION)
    assert (known(world).outcome, known(world).late) == (outcome, at)
    assert now._replace(version=0, open_executions=()) == status._replace(
        version=0, open_executions=()
    )


@pytest.mark.parametrize("end", ["retire", "terminate", "take_over"])
def test_a_late_result_of_a_call_replaces_unknown(world: World, end: str) -> None:
    held = begin(world)
    call, kind = ENDS[end]
    call(world.ledger, held)
    assert called(world).state == "unknown"
    for result in ("sent", "sent", "not sent"):
        with pytest.raises(kind) as refusal:
            world.ledger.complete_tool_call(held, ("m1", "c1"), result)
        assert refusal.type is kind
        at = version_of(world.ledger, SESSION, e.LateResult)
        assert refusal.value.evidence["late"] == at
    after = called(world)
    assert (after.state, after.result, after.late) == ("completed", "sent", True)


def test_the_refusal_says_where_the_late_result_is(world: World) -> None:
    held = begin(world)
    world.ledger.retire(held, "continue")
    at = world.ledger.late_result(SESSION, "host", "m1", "it was done")
    with world.refuses(TermRetired) as cut:
        world.ledger.settle(held, "m1", "completed")
    assert cut.value.late == at
    with world.refuses(TermRetired) as plain:
        world.ledger.start(held, "m1")
    assert plain.value.late is None


def test_what_is_unknown_or_was_settled_leaves_nothing_late(world: World) -> None:
    held = begin(world)
    world.ledger.settle(held, "m1", "completed")
    begun = called(world)
    world.ledger.complete_tool_call(held, begun, "sent")
    world.ledger.retire(held, "continue")
    writes: list[Callable[[], object]] = [
        lambda: world.ledger.settle(held, "m1", "completed"),
        lambda: world.ledger.settle(held, "never seen", "completed"),
        lambda: world.ledger.complete_tool_call(held, begun, "sent"),
        lambda: world.ledger.complete_tool_call(held, ("m1", "never seen"), "sent"),
    ]
    for write in writes:
        with world.refuses(TermRetired) as refusal:
            write()
        assert refusal.value.late is None


def test_nothing_late_is_stored_where_nothing_is_kept(world: World) -> None:
    held = begin(world)
    world.ledger.delete_conversation(SESSION, "ann")
    with world.refuses(Deleted):
        world.ledger.settle(held, "m1", "completed")
    with world.refuses(Deleted):
        world.ledger.complete_tool_call(held, ("m1", "c1"), "sent")
    with world.refuses(Deleted):
        world.ledger.late_result(SESSION, "host", "m1", "done")


@pytest.mark.parametrize("named", ["m1", KEY, ("m1", "c1"), "a tool call"])
def test_anybody_may_tell_what_became_of_ended_work_and_the_first_stands(
    world: World, named: str | ChatExecutionKey | tuple[str, str]
) -> None:
    held = begin(world)
    about = called(world) if named == "a tool call" else named
    with world.refuses(InvalidInput):
        world.ledger.late_result(SESSION, "watcher", about, "done")
    world.ledger.retire(held, "continue")
    at = world.ledger.late_result(SESSION, "watcher", about, "done")
    with world.writes() as lines:
        assert world.ledger.late_result(SESSION, "another", about, "failed") == at
    assert lines == []
    for one in world.ledger.history(SESSION)[-2:]:
        assert isinstance(one.event, Event)
        assert one.event.author == "watcher"


def test_a_late_result_is_about_something_on_record(world: World) -> None:
    with world.refuses(UnknownOwner):
        world.ledger.late_result(JOB, "watcher", "m1", "done")
    held = begin(world)
    world.ledger.complete_tool_call(held, ("m1", "c1"), "sent")
    with world.refuses(NotFound) as refusal:
        world.ledger.late_result(SESSION, "watcher", "never seen", "done")
    assert refusal.value.kind == "execution"
    with world.refuses(NotFound) as refusal:
        world.ledger.late_result(SESSION, "watcher", ("m1", "never seen"), "done")
    assert refusal.value.kind == "call"
    with world.refuses(AlreadyDecided):
        world.ledger.late_result(SESSION, "watcher", ("m1", "c1"), "done")


def test_the_next_holder_reports_an_old_call_as_a_fact(world: World) -> None:
    held = begin(world)
    world.ledger.retire(held, "continue")
    now = world.ledger.succeed(SESSION, TWO, "host")
    with world.writes() as lines:
        at = world.ledger.complete_tool_call(now, ("m1", "c1"), "sent")
        assert world.ledger.complete_tool_call(now, ("m1", "c1"), "sent") == at
    assert lines == ["ses_1 LateResult@2 m1 c1", "ses_1 NoticeIssued@2 late_result"]
    assert called(world).late is True
