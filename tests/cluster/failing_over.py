"""One failover under load: what was done, and how long it took."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from failures import Failure
from nodes import Cluster, Node
from overseeing import await_whole, leader, timeline
from telling import all_said
from waiting import until

__all__ = ["Round", "fail_over"]


class Round(NamedTuple):
    """One failover; times are those of the monotonic clock."""

    failure: str
    struck: float
    led: float
    """Another leader writes, or the same one on another timeline."""
    over: float
    """All nodes are whole again."""
    timelines: tuple[int, int]
    two_wrote: bool
    """Two servers took writes at once."""
    first: float = 0.0
    """The first command that was acknowledged after all were held up."""


def fail_over(
    cluster: Cluster, failure: Failure, folder: Path, *, synchronous: bool
) -> Round:
    """Strike the leader, and return when all is whole again and work goes on."""
    old = await_whole(cluster, synchronous=synchronous)
    before = timeline(old)
    _until_acknowledged(folder, monotonic())
    struck = monotonic()
    failure.strike(cluster, old)
    new = _successor(cluster, before)
    led = monotonic()
    two = new != old and 0 < timeline(old) < timeline(new)
    if failure.two_leaders:
        # The old one goes on until somebody was answered by the new one.
        _until_acknowledged(folder, led, by_all=True)
        two = two and 0 < timeline(old) < timeline(new)
    else:
        _until_acknowledged(folder, led)
    failure.heal(cluster, old)
    now = await_whole(cluster, synchronous=synchronous)
    after = timeline(now)
    _until_acknowledged(folder, monotonic())
    one = Round(failure.name, struck, led, monotonic(), (before, after), two)
    return one._replace(first=_first(folder, one))


def _successor(cluster: Cluster, before: int) -> Node:
    found: list[Node] = []

    def is_there() -> bool:
        one = leader(cluster)
        if one is not None and timeline(one) > before:
            found.append(one)
        return bool(found)

    until(is_there)
    return found[0]


def _until_acknowledged(folder: Path, since: float, *, by_all: bool = False) -> None:
    """Wait until something, or something of each writer, was acknowledged since."""

    def said() -> bool:
        lines = all_said(folder)
        who = {one.who for one in lines if one.who != "ended"}
        now = {one.who for one in lines if _is_answer(one.word) and one.at > since}
        return now >= who - {"hunter", "prove"} if by_all else bool(now)

    until(said)


def _is_answer(word: str) -> bool:
    return word == "acknowledged"


def _first(folder: Path, one: Round) -> float:
    """Return the end of the longest time in which nothing was acknowledged."""
    times = [one.struck]
    times += [
        said.at
        for said in all_said(folder)
        if _is_answer(said.word) and one.struck <= said.at <= one.over
    ]
    gaps = [(late - early, late) for early, late in pairwise(times)]
    return max(gaps)[1]
