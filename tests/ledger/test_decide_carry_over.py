"""What a cut carries over: accepted, not started, once, in order (section 6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import NEXT, ONE, SESSION, TWO
from tenure import (
    Authority,
    ChatExecutionKey,
    Evidence,
    First,
    KeyReused,
    Ledger,
    NotAdmitted,
)
from tenure_ledger import events as e
from worlds import World

GRANTS: dict[str, Callable[[Ledger, First | None], Authority]] = {
    "claim": lambda on, first: on.claim(SESSION, TWO, "host", first=first),
    "succeed": lambda on, first: on.succeed(SESSION, TWO, "host", first=first),
    "take_over": lambda on, first: on.take_over(
        SESSION, TWO, "host", Evidence.gone(on.owner(SESSION)), first=first
    ),
    "reclaim": lambda on, first: on.claim(SESSION, TWO, "host", first=first),
}


def waiting(world: World, grant: str) -> None:
    """Let messages wait for the grant of that name."""
    ledger = world.ledger
    if grant != "claim":
        held = ledger.claim(SESSION, ONE, "host")
        if grant == "succeed":
            ledger.retire(held, "continue")
        if grant == "reclaim":
            ledger.terminate(held, "done", "ok")
    for key in ("c", "a", "b"):
        ledger.accept(SESSION, key, "gateway", f"sender {key}", f"text {key}")


def admissions(world: World) -> list[e.ExecutionAdmitted]:
    """Return every admission on record."""
    history = [one.event for one in world.ledger.history(SESSION)]
    return [one for one in history if isinstance(one, e.ExecutionAdmitted)]


@pytest.mark.parametrize("grant", GRANTS)
def test_what_waits_is_admitted_in_stream_order_before_first(
    world: World, grant: str
) -> None:
    waiting(world, grant)
    versions = [
        one.version
        for one in world.ledger.history(SESSION)
        if isinstance(one.event, e.SubmissionAccepted)
    ]
    held = GRANTS[grant](world.ledger, First("z", "continue_relay"))
    found = admissions(world)
    assert [one.key for one in found] == ["c", "a", "b", "z"]
    assert [one.carried_from for one in found] == [*versions, None]
    assert [one.sender for one in found[:3]] == ["sender c", "sender a", "sender b"]
    assert {one.content_digest for one in found[:3]} == {"text a", "text b", "text c"}
    for key in ("c", "a", "b", "z"):
        world.ledger.start(held, key)


@pytest.mark.parametrize("grant", GRANTS)
def test_first_among_what_waits_is_admitted_once_in_its_place(
    world: World, grant: str
) -> None:
    waiting(world, grant)
    GRANTS[grant](world.ledger, First("a", "human_successor_root"))
    found = admissions(world)
    assert [(one.key, one.origin) for one in found] == [
        ("c", "continue_relay"),
        ("a", "human_successor_root"),
        ("b", "continue_relay"),
    ]


def test_first_among_what_waits_gives_the_content_that_was_not_given(
    world: World,
) -> None:
    world.ledger.accept(SESSION, "m1", "gateway")
    held = world.ledger.claim(
        SESSION, ONE, "host", first=First("m1", "human", "ann", "text")
    )
    assert [(one.sender, one.content_digest) for one in admissions(world)] == [
        ("ann", "text")
    ]
    with world.refuses(KeyReused):
        world.ledger.admit(held, "m1", "human", digest="other text")


def test_a_waiting_message_keeps_how_it_came(world: World) -> None:
    ledger = world.ledger
    ledger.accept(SESSION, "person", "gateway", human=True)
    ledger.accept(SESSION, "machine", "gateway")
    held = ledger.claim(SESSION, ONE, "host")
    ledger.accept(SESSION, "run", "gateway")
    ledger.admit(held, "run", "assistant_run")
    ledger.retire(held, "continue")
    ledger.succeed(SESSION, TWO, "host")
    assert [(one.key, one.origin) for one in admissions(world)[-3:]] == [
        ("person", "human"),
        ("machine", "continue_relay"),
        ("run", "assistant_run"),
    ]


def test_what_was_only_admitted_is_carried_once_it_is_accepted(world: World) -> None:
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host")
    for key in ("accepted later", "never accepted"):
        ledger.admit(held, key, "assistant_run")
    at = ledger.accept(SESSION, "accepted later", "gateway")
    assert at > ledger.owner(SESSION).granted + 2
    assert ledger.accept(SESSION, "accepted later", "gateway") == at
    ledger.retire(held, "continue")
    ledger.succeed(SESSION, TWO, "host")
    assert [one.key for one in admissions(world)[2:]] == ["accepted later"]


def test_only_what_is_accepted_and_untouched_is_carried(world: World) -> None:
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host")
    for key in ("started", "settled", "cancelled", "stripped", "untouched"):
        ledger.accept(SESSION, key, "gateway", human=True)
    ledger.admit(held, "probe", "tool_probe")
    for key in ("started", "settled"):
        ledger.admit(held, key, "human")
        ledger.start(held, key)
    ledger.settle(held, "settled", "completed")
    ledger.bar_replay(SESSION, "user_cancelled", "ann", ["cancelled"])
    world.append(
        SESSION,
        e.StaleRequestStripped(
            author="gate",
            generation=1,
            key="stripped",
            verdict="stale_unadmitted",
            cut=1,
            interrupt_id="i1",
        ),
    )
    ledger.retire(held, "continue")
    with world.writes() as lines:
        held = ledger.succeed(SESSION, TWO, "host")
    assert lines[2:] == ["ses_1 ExecutionAdmitted@2 untouched"]
    for key in ("started", "settled", "cancelled", "stripped", "probe"):
        with world.refuses(NotAdmitted):
            ledger.start(held, key)


def test_a_message_is_carried_until_somebody_takes_it_up(world: World) -> None:
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host")
    ledger.accept(SESSION, "before", "gateway", human=True)
    for agent in (TWO, NEXT, ONE):
        ledger.retire(held, "continue")
        ledger.accept(SESSION, f"between {agent}", "gateway")
        held = ledger.succeed(SESSION, agent, "host")
    assert ledger.owner(SESSION).waiting == (
        "before",
        f"between {TWO}",
        f"between {NEXT}",
        f"between {ONE}",
    )
    found = ledger.execution(ChatExecutionKey("ses_1", "before"))
    assert found is not None
    assert (found.generation, found.term) == (4, 4)
    assert [one.key for one in admissions(world)].count("before") == 3
    ledger.start(held, "before")


def test_what_only_its_term_admitted_ends_with_it_and_may_be_sent_again(
    world: World,
) -> None:
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host", first=First("go on", "continue_relay"))
    ledger.retire(held, "continue")
    with world.writes() as lines:
        ledger.accept(SESSION, "go on", "gateway")
        ledger.succeed(SESSION, TWO, "host")
    assert lines == [
        "ses_1 SubmissionAccepted@1 go on",
        "ses_1 GenerationAdvanced@2 succession",
        "manager/2 AgentBound@2",
        "ses_1 ExecutionAdmitted@2 go on",
    ]


def test_renewals_restarts_and_moves_carry_nothing_over(world: World) -> None:
    ledger = world.ledger
    held = ledger.claim(SESSION, ONE, "host", first=First("m1", "human"))
    ledger.accept(SESSION, "m2", "gateway", human=True)
    with world.writes() as lines:
        held = ledger.advance(held, "lease_renewal")
        held = ledger.advance(held, "migration")
        evidence = Evidence.gone(ledger.owner(SESSION))
        held = ledger.take_over(SESSION, ONE, "host", evidence)
    assert [one.split()[1] for one in lines] == [
        "GenerationAdvanced@2",
        "GenerationAdvanced@3",
        "GenerationAdvanced@4",
    ]
    ledger.start(held, "m1")
    with world.refuses(NotAdmitted):
        ledger.start(held, "m2")
