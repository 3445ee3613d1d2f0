"""Several processes race on the same owners of one file; the log is the witness."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

import postgres
from processes import other
from tenure import Event, OwnerRef, open_ledger
from tenure_ledger import events as e
from witness import Acknowledged, violations

RACER = """
    from racer import race
    store.setup()
    say("ready")
    hear()
    race(url, {name!r}, {steps})
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the URL of a ledger that several processes can share."""
    if request.param == "postgres":
        return postgres.new_url()
    return f"sqlite:///{tmp_path}/relay.db"


def run_race(url: str, racers: int, steps: int) -> list[str]:
    """Start all, let them go at the same moment, and return all that they said."""
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                other(RACER.format(name=f"racer{number}", steps=steps), url)
            )
            for number in range(racers)
        ]
        assert [one.hear() for one in running] == ["ready"] * racers
        for one in running:
            one.say()
        return [line for one in running for line in one.end()]


def judge(
    url: str, said: list[str], *, killed: bool = False
) -> tuple[Counter[str], list[Event]]:
    """Hold that the log is sound and whole; return the refusals, and all events."""
    acks = [
        Acknowledged.of_line(line.removeprefix("ack "))
        for line in said
        if line.startswith("ack ")
    ]
    refused: Counter[str] = Counter()
    for line in said:
        if line.startswith("refused "):
            _, code, count = line.split()
            refused[code] += int(count)
    with open_ledger(url) as ledger:
        log = list(ledger.events())
        assert violations(log, acks) == []
        assert ledger.verify(ledger.head()).ok
        for stream in {one.stream for one in log if one.stream.startswith("owner:")}:
            kind, name = stream.removeprefix("owner:").split(":", 1)
            view = ledger.owner(OwnerRef(kind, name))
            assert view.status != "quarantined"
    told = [ack.command_id for ack in acks]
    assert len(told) == len(set(told))
    # What else they wrote: a thing, a late fact, and what each was killed over.
    silent = Counter(
        one.event.command_id.split("/")[0]
        for one in log
        if isinstance(one.event, Event) and one.event.index == 0
        if one.event.command_id not in told
        if not isinstance(one.event, e.ChildSpawned | e.LateResult)
    )
    assert max(silent.values(), default=0) <= (1 if killed else 0), silent
    return refused, [one.event for one in log if isinstance(one.event, Event)]


def assert_it_was_a_race(refused: Counter[str], events: list[Event]) -> None:
    """Sometimes: what the race is about did happen."""
    reasons = Counter(
        event.reason for event in events if isinstance(event, e.GenerationAdvanced)
    )
    kinds = Counter(type(event) for event in events)
    assert min(reasons["takeover"], reasons["succession"]) > 0, reasons
    assert kinds[e.ExecutionAdmitted] > kinds[e.OwnershipClaimed]
    assert kinds[e.ExecutionStarted] > 0
    assert kinds[e.RetirementCut] > 0
    assert refused["owner_is_live"] > 0, refused
    assert refused["fenced_out"] + refused["term_retired"] > 0, refused
    assert refused["agent_is_bound"] > 0, refused


def test_processes_that_race_leave_a_log_that_proves_itself(url: str) -> None:
    refused, events = judge(url, run_race(url, racers=4, steps=120))
    assert_it_was_a_race(refused, events)


def kill_under_load(url: str, rounds: int, racers: int, chance: Random) -> list[str]:
    """Kill each racer after some of its words, then begin again on the same file."""
    said: list[str] = []
    for number in range(rounds):
        with ExitStack() as stack:
            running = [
                stack.enter_context(
                    other(RACER.format(name=f"r{number}k{at}", steps=10**6), url)
                )
                for at in range(racers)
            ]
            assert [one.hear() for one in running] == ["ready"] * racers
            for one in running:
                one.say()
            chance.shuffle(running)
            for one in running:
                said.extend(one.hear() for _ in range(chance.randrange(1, 25)))
                said.extend(one.kill())
    return said


def test_nothing_acknowledged_is_lost_or_doubled_by_kill_9_under_load(
    url: str,
) -> None:
    chance = Random(26)  # noqa: S311  a test that can be run again
    said = kill_under_load(url, rounds=2, racers=3, chance=chance)
    assert all(said)
    judge(url, said, killed=True)


@pytest.mark.prove
def test_nothing_is_lost_by_many_kills(url: str) -> None:
    said = kill_under_load(url, rounds=10, racers=4, chance=Random())  # noqa: S311
    judge(url, said, killed=True)


@pytest.mark.prove
def test_a_long_race_of_many_processes_proves_itself(url: str) -> None:
    refused, events = judge(url, run_race(url, racers=6, steps=400))
    assert_it_was_a_race(refused, events)
