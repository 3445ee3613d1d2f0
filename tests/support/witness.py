"""The log as its own witness: what must not be in it, whoever wrote at the same time.

Writers say what was acknowledged to them; afterwards `violations` walks the ledger once
and returns what cannot be. The rules of one event are `LogChecker`'s; here are those of
commands: whole, once, by whom they claim to be, and none of the acknowledged missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from log_invariants import LogChecker
from tenure import Event, Recorded
from tenure_ledger import events as e

__all__ = ["Acknowledged", "violations"]


class Acknowledged(NamedTuple):
    """What a writer was told: this command is at this version of its first stream."""

    command_id: str
    stream: str
    version: int
    wrote: bool = True
    """It must be in the log; False: it may have been on record before."""

    def line(self) -> str:
        """Return the words that a process says over a pipe."""
        return f"{self.command_id} {self.stream} {self.version} {int(self.wrote)}"

    @classmethod
    def of_line(cls, line: str) -> Acknowledged:
        """Read what `line` wrote."""
        command_id, stream, version, wrote = line.split(" ")
        return cls(command_id, stream, int(version), wrote == "1")


def violations(
    log: Iterable[Recorded], acknowledged: Iterable[Acknowledged] = ()
) -> list[str]:
    """Return what is wrong with this log, in a few words each; empty: nothing."""
    events = list(log)
    return [
        *_against_the_rules(events),
        *_commands_in_pieces(events),
        *_under_a_wrong_name(events),
        *_twice(events),
        *_lost(events, acknowledged),
    ]


def _against_the_rules(events: list[Recorded]) -> list[str]:
    """Return the first event that breaks a rule; behind it nothing can be judged."""
    checker = LogChecker()
    for one in events:
        try:
            checker.feed(one)
        except (AssertionError, KeyError) as broken:
            return [f"{one.position}: {one.stream} {one.version}: {broken!r}"]
    return []


def _commands_in_pieces(events: list[Recorded]) -> list[str]:
    """A command's events stand together, in order, and are all there."""
    wrong: list[str] = []
    expected = ("", 0, 0)
    for one in events:
        event = one.event
        assert isinstance(event, Event)
        command_id, index, count = expected
        begins = event.index == 0 and index == count
        if not begins and (event.command_id, event.index, event.count) != expected:
            wrong.append(f"{one.position}: not the next event of {command_id}")
        expected = (event.command_id, event.index + 1, event.count)
    if expected[1] != expected[2]:
        wrong.append(f"the last command, {expected[0]}, is in pieces")
    return wrong


def _under_a_wrong_name(events: list[Recorded]) -> list[str]:
    """What a holding writes bears the name of the agent that holds the owner."""
    wrong: list[str] = []
    holders: dict[str, str] = {}
    for one in events:
        event = one.event
        assert isinstance(event, Event)
        renewal = isinstance(event, e.GenerationAdvanced)
        if event.fenced and not renewal and event.author != holders.get(one.stream):
            wrong.append(f"{one.position}: {event.author} is not the holder")
        if isinstance(event, e.OwnershipClaimed | e.GenerationAdvanced):
            holders[one.stream] = event.agent_id or event.author
    return wrong


def _twice(events: list[Recorded]) -> list[str]:
    """No event, and no event of a command, is there twice."""
    ids: Counter[object] = Counter()
    for one in events:
        event = one.event
        assert isinstance(event, Event)
        ids[event.event_id] += 1
        ids[event.command_id, event.index] += 1
    return [
        f"{what} is there {count} times" for what, count in ids.items() if count > 1
    ]


def _lost(events: list[Recorded], acknowledged: Iterable[Acknowledged]) -> list[str]:
    """Each acknowledged command is in the log, with the version that was told."""
    at: dict[str, set[tuple[str, int]]] = {}
    for one in events:
        assert isinstance(one.event, Event)
        at.setdefault(one.event.command_id, set()).add((one.stream, one.version))
    versions = Counter(one.stream for one in events)
    wrong: list[str] = []
    for told in acknowledged:
        if told.version > versions[told.stream]:
            wrong.append(f"{told.command_id}: {told.stream} has no {told.version}")
        if told.wrote and (told.stream, told.version) not in at.get(
            told.command_id, set()
        ):
            wrong.append(f"{told.command_id} was acknowledged and is not in the log")
    return wrong
