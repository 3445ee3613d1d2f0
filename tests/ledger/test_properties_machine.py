"""Always: whatever is asked in whatever order, the ledger answers like the reference.

A rule for each public write method, asked of several owners by live holders, zombies
and forgers, under all kinds of evidence and command ids, from two processes on one
store, while the clock jumps. What must hold after every step is in `driving.Drive`; the
invariants of the log are in `log_invariants`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from driving import Drive
from driving_steps import STEPS, Step, begin
from driving_words import Chooser
from worlds import World

T = TypeVar("T")

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
ALWAYS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    stateful_step_count=50,
    suppress_health_check=SLOW,
)
FILES = settings(ALWAYS, max_examples=8, stateful_step_count=40)
LONGER = settings(
    deadline=None,
    max_examples=400,
    stateful_step_count=100,
    suppress_health_check=SLOW,
)


class Machine(RuleBasedStateMachine):
    """The rules are added below, one for each step."""

    kind: ClassVar[str] = "memory"

    def __init__(self) -> None:
        super().__init__()
        self._folder = TemporaryDirectory()
        self.drive = Drive(World(self.kind, Path(self._folder.name)))

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """Choose what the run is about."""
        begin(self.drive, _chooser(data))

    def teardown(self) -> None:
        """Check the whole ledger once more, chains included."""
        for line in self.drive.script:
            note(line)
        try:
            self.drive.finish()
        finally:
            self.drive.world.close()
            self._folder.cleanup()


class FileMachine(Machine):
    """The same on a file, which is closed and opened again now and then."""

    kind = "sqlite"

    @rule()
    def reopen(self) -> None:
        """Start both processes again."""
        self.drive.reopen()


def _chooser(data: st.DataObject) -> Chooser:
    def choose(options: Sequence[T]) -> T:
        return data.draw(st.sampled_from(options))

    return choose


def _rule(step: Step) -> Callable[[Machine, st.DataObject], None]:
    def run(self: Machine, data: st.DataObject) -> None:
        step(self.drive, _chooser(data))

    run.__name__ = step.__name__
    decorate: Any = rule(data=st.data())
    decorated: Callable[[Machine, st.DataObject], None] = decorate(run)
    return decorated


for _name, _step in STEPS.items():
    setattr(Machine, _name, _rule(_step))


def test_the_ledger_in_memory_behaves_like_the_reference() -> None:
    run_state_machine_as_test(Machine, settings=ALWAYS)


def test_the_ledger_in_a_file_behaves_like_the_reference_and_survives_reopening() -> (
    None
):
    run_state_machine_as_test(FileMachine, settings=FILES)


@pytest.mark.prove
@pytest.mark.parametrize("machine", [Machine, FileMachine])
def test_the_ledger_behaves_like_the_reference_for_long(machine: type[Machine]) -> None:
    longer = LONGER if machine is Machine else settings(LONGER, max_examples=60)
    run_state_machine_as_test(machine, settings=longer)
