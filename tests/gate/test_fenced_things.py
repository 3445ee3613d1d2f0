"""A browser and a compaction as owners of their own: what their fence must hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from processes import other
from resuming import GONE
from tenure import (
    Authority,
    FencedOut,
    First,
    InvalidInput,
    Ledger,
    OwnerIsLive,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    StaleCheckpoint,
    ToolCall,
    open_ledger,
    recover,
)
from worlds import World

S = OwnerRef("session", "ses_1")
BROWSER = OwnerRef("browser", "ses_1/shopping")
LOOP = RuntimeRestartReactionLoopState(consecutive_batches=1)


def seated(world: World, agent: str = "t1") -> Authority:
    first = First("m1", "human")
    held = world.ledger.claim(S, agent, "host", first=first)
    world.ledger.start(held, "m1")
    world.ledger.save_checkpoint(held, LOOP)
    return held


def leased(ledger: Ledger, held: Authority) -> Authority:
    lease = ledger.spawn(held, BROWSER, author="host", lease_seconds=60)
    ledger.admit(lease, "task", "assistant_run")
    ledger.start(lease, "task")
    return lease


def click(ledger: Ledger, lease: Authority, call: str, watermark: int) -> ToolCall:
    arguments = {"persona": "shopping", "watermark": watermark}
    return ledger.begin_tool_call(lease, "task", call, "click", arguments)


# A browser.


def test_a_persona_is_leased_to_one_at_a_time(world: World) -> None:
    held = seated(world)
    leased(world.ledger, held)
    with world.refuses(OwnerIsLive):
        world.ledger.spawn(held, BROWSER, author="host")
    rival = world.ledger.claim(OwnerRef("session", "ses_2"), "t9", "host")
    with world.refuses(OwnerIsLive):
        world.ledger.spawn(rival, BROWSER, author="host")


@pytest.mark.parametrize("end", ["relay", "restart", "released"])
def test_the_old_lease_clicks_no_more(world: World, end: str) -> None:
    ledger = world.ledger
    held = seated(world)
    lease = leased(ledger, held)
    assert click(ledger, lease, "c1", 0).state == "fresh"
    match end:
        case "relay":
            ledger.retire(held, "continue")
            ledger.succeed(S, "t2", "host")
            ledger.take_over(BROWSER, None, "host")
        case "restart":
            recover(world.open("p2"), GONE, only=[S])
            ledger.take_over(BROWSER, None, "host")
        case _:
            ledger.terminate(lease, "released", "Done.")
            ledger.spawn(held, BROWSER, author="host")
    stale = world.open("the old driver")
    for call in ("c1", "c2"):
        with pytest.raises(FencedOut):
            click(stale, lease, call, 1)
    assert ledger.owner(BROWSER).generation == 2


def test_a_lease_goes_with_the_one_who_holds_the_session(world: World) -> None:
    ledger = world.ledger
    held = seated(world)
    leased(ledger, held)
    ledger.retire(held, "continue")
    ledger.succeed(S, "t2", "host")
    with world.refuses(FencedOut):
        ledger.take_over(BROWSER, "t1", "host")
    assert ledger.take_over(BROWSER, "t2", "host").generation == 2


DRIVER = """
from tenure import *
S = OwnerRef("session", "ses_1")
BROWSER = OwnerRef("browser", "ses_1/shopping")
ledger = open_ledger(f"sqlite:///{sys.argv[1]}")
page = open(f"{sys.argv[1]}.page", "a")
held = ledger.claim(S, "t1", "host", first=First("m1", "human"))
ledger.start(held, "m1")
ledger.save_checkpoint(held, RuntimeRestartReactionLoopState(consecutive_batches=1))
lease = ledger.spawn(held, BROWSER, author="host")
ledger.admit(lease, "task", "assistant_run")
ledger.start(lease, "task")
for watermark in range(3):
    call = ledger.begin_tool_call(
        lease, "task", f"c{watermark}", "click",
        {"persona": "shopping", "watermark": watermark},
    )
    say("dispatched"); hear()
    page.write(call.idempotency_key + "\\n"); page.flush()
    say("clicked"); hear()
    ledger.complete_tool_call(lease, call, {"watermark": watermark + 1})
    say("recorded"); hear()
"""
"""The page is a file: one line for each mutation."""


@pytest.mark.parametrize(
    "stops", [1, 2, 3, 7, 8], ids=lambda stops: f"at its word {stops}"
)
def test_the_watermark_says_whether_an_open_task_happened(
    stops: int, tmp_path: Path
) -> None:
    path = tmp_path / "relay.db"
    with other(DRIVER, path) as driver:
        for _ in range(stops - 1):
            driver.hear()
            driver.say()
        last = driver.hear()
        driver.kill()
    page = (tmp_path / "relay.db.page").read_text().splitlines()
    with open_ledger(f"sqlite:///{path}") as ledger:
        recover(ledger, only=[S])
        lease = ledger.take_over(BROWSER, None, "host")
        open_tasks = [
            (row, call)
            for row in ledger.rows("tool_calls", BROWSER)
            if (call := ledger.tool_call(BROWSER, "task", str(row["call_id"])))
            and call.state == "unknown"
        ]
        if last == "recorded":
            assert open_tasks == []
            assert len(page) == (stops + 2) // 3
            return
        ((row, call),) = open_tasks
        arguments = ledger.body(BROWSER, str(row["arguments_digest"]))
        assert isinstance(arguments, dict)
        meant_for = arguments["watermark"]
        assert isinstance(meant_for, int)
        happened = len(page) > meant_for
        assert happened == (last == "clicked") == (call.idempotency_key in page)
        if happened:
            ledger.late_result(BROWSER, "host", call, {"watermark": len(page)})
        else:
            ledger.admit(lease, "task again", "assistant_run")
            again = ledger.begin_tool_call(
                lease, "task again", "c9", "click", {"watermark": len(page)}
            )
            assert again.state == "fresh"
            assert again.idempotency_key not in page


@pytest.mark.parametrize(
    ("end", "status"),
    [("released", "Done."), ("needs_user_runway", "The payment may have gone out.")],
)
def test_how_a_lease_ended_is_on_record(world: World, end: str, status: str) -> None:
    ledger = world.ledger
    lease = leased(ledger, seated(world))
    ledger.terminate(lease, end, status)
    terminal = ledger.owner(BROWSER).terminal
    assert terminal is not None
    assert (terminal.event_type, terminal.status) == (end, status)
    (row,) = ledger.rows("recovery_owner_terminal_events", BROWSER)
    assert (row["event_type"], row["generation"]) == (end, 1)
    assert ledger.owner(S).status == "live"


# A compaction.


def compaction(ledger: Ledger, held: Authority, generation: int) -> Authority:
    work = OwnerRef("compaction", f"ses_1/{generation}")
    return ledger.spawn(held, work, author="host", lease_seconds=60)


def test_of_two_compactions_the_later_rewrite_stands(world: World) -> None:
    ledger = world.ledger
    held = seated(world)
    compaction(ledger, held, 1)
    compaction(ledger, held, 2)
    ledger.history_rewritten(held, 2, "m1", "m1", {"summary": "two"})
    with world.refuses(StaleCheckpoint):
        ledger.history_rewritten(held, 1, "m0", "m0", {"summary": "one"})
    with world.writes() as lines:
        ledger.history_rewritten(held, 2, "m1", "m1", {"summary": "two"})
    assert lines == []


@pytest.mark.parametrize("end", ["relay", "restart"])
def test_a_compaction_ends_with_the_holding_that_began_it(
    world: World, end: str
) -> None:
    ledger = world.ledger
    held = seated(world)
    work = compaction(ledger, held, 1)
    if end == "relay":
        ledger.retire(held, "continue")
        held_now = ledger.succeed(S, "t2", "host")
    else:
        (back,) = recover(world.open("p2"), GONE, only=[S]).resumed
        held_now = back.authority
    worker = world.open("the worker")
    with pytest.raises(FencedOut):
        worker.check(work)
    with pytest.raises(FencedOut):
        worker.history_rewritten(held, 1, "m1", "m1", {"summary": "stale"})
    # The foreground computes anew, under the next rewrite generation.
    again = compaction(ledger, held_now, 2)
    ledger.history_rewritten(held_now, 2, "m1", "m1", {"summary": "anew"})
    ledger.terminate(again, "done", "In place.")
    ledger.check(held_now)


def test_a_thing_has_no_checkpoint_of_its_own(world: World) -> None:
    work = compaction(world.ledger, seated(world), 1)
    with world.refuses(InvalidInput):
        world.ledger.save_checkpoint(work, LOOP)
