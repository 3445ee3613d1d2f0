"""The witness itself: it is silent on a sound log, and sees every planted violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure import Event, Evidence, First, OwnerRef, Recorded
from tenure_ledger import events as e
from witness import Acknowledged, violations
from worlds import World

S = OwnerRef("session", "ses_1")
Log = list[Recorded]


def sound(world: World) -> Log:
    """Two terms, a takeover, messages in every state, a thing, a checkpoint's end."""
    ledger = world.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    ledger.spawn(one, OwnerRef("browser", "b1"), author="host")
    ledger.accept(S, "m2", "inbox")
    one = ledger.advance(one, "lease_renewal")
    ledger.settle(one, "m1", "completed")
    ledger.retire(one, "continue", "go on")
    two = ledger.succeed(S, "t2", "host", first=First("m3", "continue_relay"))
    ledger.start(two, "m2")
    ledger.take_over(S, "t3", "host", Evidence.gone(ledger.owner(S)))
    ledger.accept(S, "m4", "inbox")
    return list(ledger.events())


def at(log: Log, kind: type[Event], number: int = 0) -> int:
    """Return the place of an event of this kind."""
    places = [n for n, one in enumerate(log) if isinstance(one.event, kind)]
    return places[number]


def changed(log: Log, place: int, **fields: object) -> Log:
    """Return the log with another event in this place."""
    one = log[place]
    assert isinstance(one.event, Event)
    other = one._replace(event=one.event.model_copy(update=fields))
    return [*log[:place], other, *log[place + 1 :]]


def without(log: Log, place: int) -> Log:
    """Return the log without this event, numbered as if it had never been there."""
    gone = log[place]
    after = [
        one._replace(version=one.version - 1) if one.stream == gone.stream else one
        for one in log[place + 1 :]
    ]
    return [*log[:place], *after]


def again(log: Log, place: int, **fields: object) -> Log:
    """Return the log with a copy of this event at its end, as a command of its own."""
    one = log[place]
    assert isinstance(one.event, Event)
    alone: dict[str, Any] = {
        "command_id": "again",
        "event_id": "again",
        "index": 0,
        "count": 1,
    }
    copy = one.event.model_copy(update={**alone, **fields})
    last = max(other.version for other in log if other.stream == one.stream)
    end = log[-1].position + 1
    return [*log, one._replace(position=end, version=last + 1, event=copy)]


PLANTED: dict[str, Callable[[Log], Log]] = {
    "a generation that is skipped": lambda log: changed(
        log, at(log, e.GenerationAdvanced), generation=3
    ),
    "a generation that is used again": lambda log: changed(
        log, at(log, e.GenerationAdvanced, 1), generation=2
    ),
    "two live holdings": lambda log: without(log, at(log, e.RetirementCut)),
    "a claim of what is held": lambda log: again(
        log, at(log, e.OwnershipClaimed), generation=4
    ),
    "fenced, of an ended holding": lambda log: again(log, at(log, e.ExecutionStarted)),
    "fenced, after a cut": lambda log: [
        *log[: at(log, e.RetirementCut) + 1],
        *again(log[: at(log, e.RetirementCut) + 1], at(log, e.ExecutionStarted))[-1:],
    ],
    "admitted without a holding's name": lambda log: changed(
        log, at(log, e.ExecutionAdmitted), fenced=False
    ),
    "under another's name": lambda log: changed(
        log, at(log, e.ExecutionStarted, 1), author="t1"
    ),
    "an agent bound to two owners": lambda log: again(
        log, at(log, e.AgentBound, 2), owner=OwnerRef("session", "ses_2")
    ),
    "an agent that is not released": lambda log: without(log, at(log, e.AgentReleased)),
    "an accepted message that is not carried over": lambda log: without(
        log,
        next(
            n
            for n, one in enumerate(log)
            if isinstance(one.event, e.ExecutionAdmitted) and one.event.key == "m2"
        ),
    ),
    "admitted after its settle": lambda log: again(
        log, at(log, e.ExecutionAdmitted), generation=4, author="t3"
    ),
    "started in a term that did not admit it": lambda log: again(
        log, at(log, e.ExecutionStarted), key="m4", generation=4, author="t3"
    ),
    "settled twice": lambda log: again(log, at(log, e.ExecutionSettled)),
    "a thing that outlives its holder": lambda log: without(
        log, at(log, e.AuthorityRevoked)
    ),
    "half a command": lambda log: without(log, len(log) - 2),
    "a command in another's middle": lambda log: [log[1], log[0], *log[2:]],
    "a command without its end": lambda log: log[: at(log, e.AgentBound)],
    "an event that is there twice": lambda log: again(
        log, at(log, e.SubmissionAccepted), event_id=ids(log)[0], key="m9"
    ),
    "a command that is there twice": lambda log: again(
        log, at(log, e.SubmissionAccepted), command_id=commands(log)[0], key="m9"
    ),
    "a version that is missing": lambda log: [*log[:3], *log[4:]],
}


def ids(log: Log) -> list[str]:
    return [one.event.event_id for one in log if isinstance(one.event, Event)]


def commands(log: Log) -> list[str]:
    return [one.event.command_id for one in log if isinstance(one.event, Event)]


@pytest.mark.parametrize("world", ["memory"], indirect=True)
@pytest.mark.parametrize("what", PLANTED)
def test_the_witness_sees(world: World, what: str) -> None:
    log = sound(world)
    assert violations(log) == []
    assert violations(PLANTED[what](log)) != []


@pytest.mark.parametrize("world", ["memory"], indirect=True)
def test_the_witness_misses_what_was_acknowledged_and_is_not_there(
    world: World,
) -> None:
    log = sound(world)
    told = [
        Acknowledged(one.event.command_id, one.stream, one.version)
        for one in log
        if isinstance(one.event, Event)
    ]
    assert violations(log, told) == []
    assert [Acknowledged.of_line(one.line()) for one in told] == told
    assert len(violations(log[:-1], told)) == 2
    unknown = Acknowledged("never", S.stream, 1)
    assert violations(log, [unknown]) != []
    assert violations(log, [unknown._replace(wrote=False)]) == []
    assert violations(log, [Acknowledged("never", S.stream, 99, wrote=False)]) != []
