"""I7 to I11 over generated histories and lists, and that every case is reached.

What must hold at each call is in `gate_walk`; the right verdicts come from the log by
`gate_reference`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driving_walk import chooser
from driving_words import Chooser
from gate_walk import ANSWERS, GateWalk
from gate_walk_steps import step
from tenure_gate.verdicts import VerdictName
from witness import violations
from worlds import World

T = TypeVar("T")

WALKS = 40
STEPS = 90
SOMETIMES = (
    *get_args(VerdictName),
    *(f"guard: {name}" for name in ANSWERS),
    "a strip on record",
    "nothing to say",
    "relay gate failure",
    "missing id refused",
    "project: fenced_out",
    "project: term_retired",
    "project: owner_ended",
    "project: unknown_owner",
    "people: admit",
    "people: hold",
    "people: refuse",
    "notices",
    "hand-over",
    "the same again",
    "the same elsewhere",
)
ALWAYS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def walk(world: World, choose: Chooser, steps: int, seen: Counter[str]) -> GateWalk:
    found = GateWalk(world, seen)
    for _ in range(steps):
        step(found, choose)
    assert world.ledger.verify().ok
    assert violations(list(world.ledger.events())) == []
    return found


@settings(ALWAYS)
@given(data=st.data(), steps=st.integers(1, 60))
def test_every_view_is_right_whatever_came_before(
    data: st.DataObject, steps: int
) -> None:
    def choose(options: Sequence[T]) -> T:
        return data.draw(st.sampled_from(options))

    with TemporaryDirectory() as folder:
        world = World("memory", Path(folder))
        walk(world, choose, steps, Counter())
        world.close()


def test_every_verdict_and_every_guard_answer_is_reached_on_a_fixed_walk(
    tmp_path: Path,
) -> None:
    seen: Counter[str] = Counter()
    for seed in range(WALKS):
        world = World("memory", tmp_path)
        walk(world, chooser(seed), STEPS, seen)
        world.close()
    assert [case for case in SOMETIMES if not seen[case]] == []


@pytest.mark.parametrize("seed", range(4))
def test_the_same_life_gets_the_same_verdicts_and_views_on_every_store(
    tmp_path: Path, seed: int
) -> None:
    told: list[list[object]] = []
    for kind in ("memory", "sqlite"):
        world = World(kind, tmp_path)
        told.append(walk(world, chooser(seed), STEPS, Counter()).told)
        world.close()
    memory, sqlite = told
    assert memory == sqlite
    assert memory


@pytest.mark.prove
@pytest.mark.parametrize("start", range(1000, 4000, 1000))
def test_a_long_walk_finds_nothing(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 60):
        world = World("memory", tmp_path)
        walk(world, chooser(seed), 300, Counter())
        world.close()
