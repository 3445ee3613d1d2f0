"""Strips: atomic, at the version they were judged at, once, for ever (design 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Final

import pytest

from scenes import JOB, ONE, SESSION, TWO, version_of
from tenure import (
    AlreadyStripped,
    Authority,
    ChatExecutionKey,
    Evidence,
    Execution,
    FencedOut,
    First,
    InvalidInput,
    Ledger,
    OwnerEnded,
    OwnerMoved,
    OwnerRef,
    TermRetired,
    UnknownOwner,
)
from tenure_ledger import events as e
from together import together
from worlds import World

Strips = Sequence[tuple[str, e.StripVerdict, int]]
Verdicts = Mapping[str, e.StripVerdict]
AD: Final = "stale_admitted"
UN: Final = "stale_unadmitted"


def second_term(world: World) -> Authority:
    """A cut, and then a term: ``probe`` is left over, ``w`` was carried over."""
    on = world.ledger
    one = on.claim(SESSION, ONE, "host", first=First("m1", "human"))
    on.start(one, "m1")
    on.admit(one, "probe", "tool_probe")
    on.accept(SESSION, "w", "inbox", human=True)
    on.retire(one, "continue")
    return on.succeed(SESSION, TWO, "host", first=First("m2", "continue_relay"))


def strips(on: Ledger, verdicts: Verdicts) -> Strips:
    """Return these keys with these verdicts, by the latest cut."""
    cut = on.owner(SESSION).cut
    assert cut is not None
    return [(key, verdict, cut.version) for key, verdict in verdicts.items()]


def strip(on: Ledger, verdicts: Verdicts) -> int:
    """Strip at the version that is read now."""
    version = on.owner(SESSION).version
    return on.strip_requests(SESSION, strips(on, verdicts), "gate", version)


def known(world: World, key: str) -> Execution:
    """Return what became of a message."""
    found = world.ledger.execution(ChatExecutionKey("ses_1", key))
    assert found is not None
    return found


def test_a_strip_settles_what_is_open_and_opens_an_interrupt_in_one_command(
    world: World,
) -> None:
    second_term(world)
    with world.writes() as lines:
        at = strip(world.ledger, {"probe": AD, "ghost": UN})
    assert lines == [
        "ses_1 ExecutionSettled@1 probe stripped",
        "ses_1 StaleRequestStripped@1 probe",
        "ses_1 StaleRequestStripped@2 ghost",
    ]
    assert at == world.ledger.owner(SESSION).version
    assert (known(world, "probe").outcome, known(world, "ghost").outcome) == (
        "stripped",
        None,
    )
    events = [one.event for one in world.ledger.history(SESSION)[-3:]]
    found = [one for one in events if isinstance(one, e.StaleRequestStripped)]
    assert len({one.interrupt_id for one in found}) == 2
    assert len({one.command_id for one in events if isinstance(one, e.Event)}) == 1
    for one in found:
        world.ledger.settle_interrupt(SESSION, one.interrupt_id, "gone", "gate")


def test_a_strip_is_no_sign_of_life_of_the_holder(world: World) -> None:
    second_term(world)
    strip(world.ledger, {"ghost": UN})
    (event,) = [
        one.event
        for one in world.ledger.history(SESSION)
        if isinstance(one.event, e.StaleRequestStripped)
    ]
    assert (event.fenced, event.author) == (False, "gate")


def test_stripped_again_it_adds_nothing_at_whatever_version(world: World) -> None:
    second_term(world)
    at = strip(world.ledger, {"ghost": UN})
    old = strips(world.ledger, {"ghost": UN})
    with world.writes() as lines:
        assert strip(world.ledger, {"ghost": UN}) == at
        assert strip(world.open("p2"), {"ghost": AD}) == at
        assert world.ledger.strip_requests(SESSION, old, "other", 0) == at
    assert lines == []
    with world.writes() as lines:
        strip(world.ledger, {"ghost": UN, "late": UN})
    assert lines == ["ses_1 StaleRequestStripped@2 late"]


def test_another_version_is_judged_again_and_all_or_nothing_is_written(
    world: World,
) -> None:
    held = second_term(world)
    before = world.ledger.owner(SESSION).version
    due = strips(world.ledger, {"probe": AD, "ghost": UN})
    now = world.ledger.accept(SESSION, "m3", "inbox", human=True)
    for version in (before, before - 1, now + 1, 0):
        with world.refuses(OwnerMoved) as refusal:
            world.ledger.strip_requests(SESSION, due, "gate", version)
        assert refusal.value.evidence == {"version": now}
        assert "judge again" in refusal.value.text
    world.ledger.check(held)
    world.ledger.strip_requests(SESSION, due, "gate", now)


@pytest.mark.parametrize("write", ["accept", "admit", "first"])
def test_what_was_stripped_first_is_never_taken_in(world: World, write: str) -> None:
    held = second_term(world)
    at = strip(world.ledger, {"ghost": UN, "probe": AD})
    calls: dict[str, Callable[[str], object]] = {
        "accept": lambda key: world.ledger.accept(SESSION, key, "inbox", human=True),
        "admit": lambda key: world.ledger.admit(held, key, "human"),
        "first": lambda key: world.ledger.succeed(
            SESSION, "manager/3", "host", first=First(key, "human")
        ),
    }
    if write == "first":
        world.ledger.retire(held, "continue")
    with world.refuses(AlreadyStripped) as refusal:
        calls[write]("ghost")
    assert refusal.value.evidence == {"version": at - 2, "verdict": UN}
    assert "new id" in refusal.value.text


def test_what_was_admitted_first_is_never_stripped(world: World) -> None:
    held = second_term(world)
    due = strips(world.ledger, {"ghost": UN})
    version = world.ledger.owner(SESSION).version
    at = world.ledger.admit(held, "ghost", "human")
    with world.writes() as lines:
        assert world.ledger.strip_requests(SESSION, due, "gate", version) == at
        assert strip(world.ledger, {"ghost": AD}) == at
    assert lines == []
    assert not known(world, "ghost").stripped


@pytest.mark.parametrize("write", ["accept", "admit"])
def test_of_a_strip_and_an_admission_at_one_moment_the_first_in_the_stream_wins(
    world: World, write: str
) -> None:
    held = second_term(world)
    gate, host = world.open("p2"), world.open("p1")
    won = {"strip": 0, write: 0}
    for number in count():
        key = f"g{number}"

        def take_in(key: str = key) -> int:
            if write == "admit":
                return host.admit(held, key, "assistant_run")
            return host.accept(SESSION, key, "inbox")

        def keep_out(key: str = key) -> int:
            return strip(gate, {key: UN})

        stripped, taken = together([keep_out, take_in])
        now = known(world, key)
        if now.stripped:
            assert isinstance(taken, AlreadyStripped)
            assert stripped == now.stripped
            won["strip"] += 1
        else:
            assert isinstance(taken, int)
            # It saw the other version, or the admission itself.
            assert stripped == taken or isinstance(stripped, OwnerMoved | InvalidInput)
            won[write] += 1
        assert bool(now.stripped) != bool(now.admitted or now.accepted)
        if (number >= 20 and min(won.values())) or number > 2000:
            break
    assert min(won.values()) > 0


def test_nothing_that_a_person_sent_or_anybody_worked_on_is_stripped(
    world: World,
) -> None:
    held = second_term(world)
    world.ledger.admit(held, "probe 2", "tool_probe")
    world.ledger.retire(held, "continue")
    world.ledger.succeed(SESSION, "manager/3", "host", first=First("m3", "human"))
    world.ledger.accept(SESSION, "h", "inbox")
    wrong: dict[str, tuple[e.StripVerdict, str]] = {
        "m1": (AD, "accepted, started or settled"),
        "h": (UN, "accepted, started or settled"),
        "probe": (UN, "it is stale_admitted"),
        "never seen": (AD, "it is stale_unadmitted"),
    }
    for key, (verdict, why) in wrong.items():
        with world.refuses(InvalidInput) as refusal:
            strip(world.ledger, {"zz": UN, key: verdict})
        assert why in refusal.value.text
        assert refusal.value.evidence == {"key": key}
    for key in ("m3", "w"):  # of the live term: nothing to do
        with world.writes() as lines:
            strip(world.ledger, {key: AD})
        assert lines == []
    with world.writes() as lines:
        strip(world.ledger, {"probe": AD, "probe 2": AD})
    assert len(lines) == 4


def test_a_strip_is_about_the_latest_cut(world: World) -> None:
    world.ledger.claim(JOB, "worker", "host")
    with world.refuses(InvalidInput) as refusal:
        world.ledger.strip_requests(JOB, [("g", UN, 1)], "gate", 1)
    assert "no term was cut" in refusal.value.text
    held = second_term(world)
    first = strips(world.ledger, {"ghost": UN})
    world.ledger.retire(held, "continue")
    world.ledger.succeed(SESSION, "manager/3", "host")
    version = world.ledger.owner(SESSION).version
    with world.refuses(InvalidInput) as refusal:
        world.ledger.strip_requests(SESSION, first, "gate", version)
    assert "the latest cut is at version" in refusal.value.text


def test_nothing_is_stripped_while_no_holding_is_live(world: World) -> None:
    none: Strips = [("g", UN, 1)]
    with world.refuses(UnknownOwner):
        world.ledger.strip_requests(SESSION, none, "gate", 0)
    world.ledger.accept(SESSION, "early", "inbox", human=True)
    with world.refuses(UnknownOwner):
        world.ledger.strip_requests(SESSION, none, "gate", 1)
    world.ledger.claim(SESSION, "manager/0", "host")
    gone = Evidence.gone(world.ledger.owner(SESSION))
    held = world.ledger.take_over(SESSION, ONE, "host", gone)
    world.ledger.retire(held, "continue")
    with world.refuses(TermRetired) as cut:
        strip(world.ledger, {"ghost": UN})
    assert cut.value.evidence["cut"] == version_of(
        world.ledger, SESSION, e.RetirementCut
    )
    assert "nothing is stripped" in cut.value.text
    held = world.ledger.succeed(SESSION, TWO, "host")
    world.ledger.terminate(held, "done", "ok")
    with world.refuses(OwnerEnded):
        strip(world.ledger, {"ghost": UN})


def test_a_thing_that_nobody_holds_is_fenced_out(world: World) -> None:
    held = second_term(world)
    thing = OwnerRef("browser", "b1")
    world.ledger.spawn(held, thing, author="host")
    world.ledger.retire(held, "continue")
    version = world.ledger.owner(thing).version
    with world.refuses(FencedOut):
        world.ledger.strip_requests(thing, [("g", UN, 1)], "gate", version)


def test_a_strip_is_seen_two_cuts_later_as_it_was_given(world: World) -> None:
    held = second_term(world)
    strip(world.ledger, {"probe": AD, "ghost": UN})
    before = [known(world, key) for key in ("probe", "ghost")]
    for number in (3, 4):
        world.ledger.retire(held, "continue")
        held = world.ledger.succeed(SESSION, f"manager/{number}", "host")
    assert [known(world, key) for key in ("probe", "ghost")] == before
    with world.writes() as lines:
        strip(world.ledger, {"probe": AD, "ghost": AD})
    assert lines == []
    with world.refuses(AlreadyStripped):
        world.ledger.admit(held, "probe", "human")


def test_the_same_command_strips_once_whatever_came_after(world: World) -> None:
    held = second_term(world)
    due = strips(world.ledger, {"ghost": UN})
    version = world.ledger.owner(SESSION).version

    def ask(on: Ledger) -> int:
        return on.strip_requests(SESSION, due, "gate", version, command_id="c1")

    at = ask(world.ledger)
    world.ledger.retire(held, "continue")
    with world.writes() as lines:
        assert ask(world.open("p2")) == at
    assert lines == []


def test_one_key_has_one_verdict(world: World) -> None:
    second_term(world)
    version = world.ledger.owner(SESSION).version
    cut = version_of(world.ledger, SESSION, e.RetirementCut)
    twice: Strips = [("g", UN, cut), ("g", UN, cut)]
    other: Strips = [*twice, ("g", AD, cut)]
    with world.refuses(InvalidInput):
        world.ledger.strip_requests(SESSION, other, "gate", version)
    with world.refuses(InvalidInput):
        world.ledger.strip_requests(SESSION, [], "gate", version)
    with world.writes() as lines:
        world.ledger.strip_requests(SESSION, twice, "gate", version)
    assert lines == ["ses_1 StaleRequestStripped@2 g"]
