"""Contenders take turns: round after round, in random order, so that none has luck."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from threading import Barrier, Thread
from typing import NamedTuple

from figures import Figures

__all__ = ["Took", "Turn", "taken", "timed", "together"]


class Took(NamedTuple):
    """What one turn took, in seconds."""

    wall: float
    cpu: float
    """Of the calling thread: what a busy machine does not change much."""


Turn = Callable[[], Took]
"""Runs the next command of a contender."""


def timed(call: Callable[[], object]) -> Turn:
    """Return turns of a call."""

    def once() -> Took:
        began, worked = time.perf_counter(), time.thread_time()
        call()
        return Took(time.perf_counter() - began, time.thread_time() - worked)

    return once


def taken(
    contenders: dict[str, Turn], rounds: int, *, warm: int = 0
) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """Return the times of each contender, and what of them its thread worked.

    The first ``warm`` rounds do not count.
    """
    rng = random.Random(1)  # noqa: S311  the order of turns is no secret
    wall = {name: Figures() for name in contenders}
    work = {name: Figures() for name in contenders}
    order = list(contenders)
    for nth in range(rounds + warm):
        rng.shuffle(order)
        for name in order:
            took = contenders[name]()
            if nth >= warm:
                wall[name].add(took.wall)
                work[name].add(took.cpu)
    return wall, work


def together(each: Sequence[Turn], count: int) -> float:
    """Return the rate of as many threads, each of which takes ``count`` turns."""
    ready = Barrier(len(each) + 1)

    def work(turn: Turn) -> None:
        ready.wait()
        for _ in range(count):
            turn()

    threads = [Thread(target=work, args=(turn,)) for turn in each]
    for thread in threads:
        thread.start()
    ready.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return count * len(each) / (time.perf_counter() - began)
