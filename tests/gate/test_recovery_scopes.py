"""A notice says of which messages a reason holds, where it is not all of them."""

from __future__ import annotations

from recovering import PAYLOADS, SESSION, begin, environment, restart
from tenure import (
    NOTICE,
    Authority,
    Evidence,
    Fact,
    Notice,
    RuntimeRestartQueuedSubmission,
    recover,
)
from worlds import World

LOOP = PAYLOADS["reaction_loop"]
CANCELLED = "The user cancelled this. Do not redo it unless asked."


def also(world: World, held: Authority, key: str) -> None:
    """Start one more message of a person."""
    world.ledger.admit(held, key, "human")
    world.ledger.start(held, key)


def told(world: World) -> Notice:
    """Return the one notice that waits."""
    (notice,) = world.ledger.pending_notices(SESSION)
    return notice


def under(notice: Notice) -> list[str]:
    """Return the lines under the verbatim text."""
    first, *lines = notice.text.splitlines()
    assert first == NOTICE
    return lines


def test_what_was_cancelled_does_not_stand_over_what_is_wanted(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m1"])
    also(world, held, "m2")
    restart(world)
    notice = told(world)
    assert notice.reasons == ("user_cancelled",)
    assert notice.facts == (
        Fact(kind="cancelled", key="m1", reasons=("user_cancelled",)),
        Fact(kind="unfinished", key="m2"),
    )
    assert under(notice) == [
        f"- message m1: it was cancelled. {CANCELLED}",
        "- message m2: started and not finished",
    ]


def test_a_cancel_of_all_that_was_begun_is_said_of_all(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.begin_tool_call(held, "m1", "c1", "pay", {})
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m1"])
    restart(world)
    assert under(told(world)) == [
        CANCELLED,
        "- call c1 of pay in message m1: it may or may not have happened",
    ]


def test_any_other_reason_stands_with_the_message_that_it_is_about(
    world: World,
) -> None:
    held = begin(world.ledger)
    also(world, held, "m2")
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.bar_replay(SESSION, "cron_exec_timeout", "host", ["m1"])
    restart(world)
    assert under(told(world)) == [
        "- message m1: started and not finished. The schedule's time for it was over.",
        "- message m2: started and not finished",
    ]


def test_a_reason_of_the_host_is_against_what_the_checkpoint_names(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP, {"model": "m-1"})
    also(world, held, "m2")
    restart(world, current_model=lambda _: "m-2")
    assert under(told(world)) == [
        "- message m1: started and not finished. The model was switched.",
        "- message m2: started and not finished",
    ]


def test_a_cancelled_part_of_a_merged_message_is_not_asked_to_be_finished(
    world: World,
) -> None:
    held = world.ledger.claim(SESSION, "manager/1", "host")
    for key, who in (("a", "ann"), ("b", "bert")):
        world.ledger.accept(SESSION, key, "inbox", sender=who, human=True)
    world.ledger.admit(held, "q", "assistant_run", absorbed=["a", "b"])
    world.ledger.start(held, "q")
    queued = RuntimeRestartQueuedSubmission(
        submission_key="q", absorbed_submission_keys=["a", "b"]
    )
    world.ledger.save_checkpoint(held, queued)
    world.ledger.bar_replay(SESSION, "user_cancelled", "bert", ["b"])
    restart(world)
    assert under(told(world)) == [
        f"- message b: it was cancelled. {CANCELLED}",
        "- message q: started and not finished",
        "- message a: started and not finished",
    ]


def test_what_came_after_a_cancel_of_everything_is_not_under_it(world: World) -> None:
    held = world.ledger.claim(SESSION, "manager/1", "host")
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.bar_replay(SESSION, "user_cancelled_whole_stream", "ann")
    also(world, held, "m5")
    restart(world)
    assert under(told(world)) == [
        f"- its earlier work: it was cancelled. {CANCELLED}",
        "- message m5: started and not finished",
    ]


def test_an_agent_that_comes_back_by_itself_is_told_in_the_same_way(
    world: World,
) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    also(world, held, "m2")
    world.ledger.mark_output_started(held, "m2")
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m1"])
    gone = Evidence.gone(world.ledger.owner(SESSION), "restarted")
    world.open("p2").take_over(SESSION, "manager/1", "host", gone)
    assert under(told(world)) == [
        "Output to the user had started.",
        f"- message m1: it was cancelled. {CANCELLED}",
        "- message m2: started and not finished",
        "- message m2: its output may or may not have been seen",
    ]


def test_the_table_has_the_reasons_of_each_fact(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, LOOP)
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m1"])
    also(world, held, "m2")
    assert recover(world.open("p2"), environment()).failed == ()
    (row,) = world.ledger.rows("notices")
    facts = str(row["facts_json"]).replace(" ", "")
    assert '"reasons":["user_cancelled"]' in facts
    assert facts.count('"reasons"') == 1
