"""The rules of the gate are steps: who performs them, in what kind of code, is free.

What is driven here by coroutines is the very generator that `apply` drives.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest

from gates import Gate, Host, Message, S, count, first_term, relayed, said, user
from tenure import (
    Authority,
    Fault,
    GuardRejected,
    Interrupted,
    Ledger,
    Refused,
    RelayGateFailure,
    View,
)
from tenure_gate.calling import call
from tenure_gate.guard import failure, outcome_of
from tenure_gate.looking import Asked
from tenure_gate.steps import (
    Accept,
    Admit,
    Ask,
    Deliver,
    GiveVerdicts,
    Look,
    ReadBody,
    Settle,
    Start,
    Step,
    Steps,
    Strip,
)
from tenure_ledger import events as e
from worlds import STORES, World


class Coroutines:
    """Performs the steps of one call in an event loop."""

    def __init__(self, ledger: Ledger, guard: Host) -> None:
        self.ledger = ledger
        self.guard = guard
        self.done: list[Step] = []

    async def run(self, steps: Steps[View]) -> View:
        try:
            step = next(steps)
            while True:
                self.done.append(step)
                try:
                    came = await self.perform(step)
                except (Refused, Fault) as problem:
                    step = steps.throw(problem)
                else:
                    step = steps.send(came)
        except StopIteration as end:
            view: View = end.value
            return view

    async def perform(  # noqa: C901  a case for each kind
        self, step: Step
    ) -> Any:  # noqa: ANN401  as the step says
        ledger, of = self.ledger, asyncio.to_thread
        match step:
            case Look(owner):
                return await of(ledger.fresh_state, owner)
            case ReadBody(owner, digest):
                return await of(ledger.body, owner, digest)
            case Accept(owner, key):
                return await of(ledger.accept, owner, key, "gate", human=True)
            case Admit(authority, key, origin):
                return await of(ledger.admit, authority, key, origin)
            case Strip(owner, strips, version):
                return await of(ledger.strip_requests, owner, strips, "gate", version)
            case Ask(target):
                try:
                    answer = await of(self.guard.interrupt, target)
                except OSError as problem:
                    raise failure(target, f"it raised {problem}") from problem
                return outcome_of(target, answer)
            case Settle(target, outcome):
                name = target.interrupt_id
                settle = ledger.settle_interrupt
                return await of(settle, target.owner, name, outcome, "gate")
            case Start(authority, key):
                return await of(ledger.start, authority, key)
            case Deliver(by, key):
                return await of(ledger.deliver_notices, by, key, "gate")
            case GiveVerdicts(authority, verdicts):
                return await of(ledger.record_verdicts, authority, verdicts)


def driven(
    gate: Gate, messages: list[Message], held: Authority | None
) -> tuple[View, list[Step]]:
    """Drive one call in an event loop; return the view and what was performed."""
    asked = Asked(S, messages, held, None, side=False, writes=True)
    performer = Coroutines(gate.ledger, gate.host)
    view = asyncio.run(performer.run(call(gate.transform.settings, asked)))
    return view, performer.done


def lived(world: World) -> Authority:
    """Two terms: a notice waits, a person's message does; leftovers are in `LIST`."""
    ledger = world.ledger
    one = first_term(ledger)
    ledger.admit(one, "probe", "tool_probe")
    ledger.accept(S, "w", "inbox", human=True)
    ledger.admit(one, "w", "human")
    ledger.start(one, "w")
    ledger.retire(one, "continue", "Done: A.")
    return ledger.succeed(S, "manager/2", "host")


LIST = [
    user("m1"),
    said("done"),
    user("w"),
    user("ghost"),
    user("probe"),
    user("hey", human=True),
]
Shape = tuple[list[object], list[str], list[str | None], tuple[str, ...]]


def shape(view: View) -> Shape:
    return (
        [message["content"] for message in view.messages],
        [verdict.name for verdict in view.verdicts],
        [verdict.key for verdict in view.verdicts],
        view.stripped,
    )


def events(world: World) -> list[str]:
    return [type(one.event).__name__ for one in world.ledger.history(S)]


@pytest.mark.parametrize("kind", STORES)
def test_coroutines_get_the_view_and_leave_the_record_that_apply_does(
    tmp_path: Path, kind: str
) -> None:
    told: list[tuple[Shape, list[str], list[str]]] = []
    for way in ("apply", "coroutines"):
        folder = tmp_path / way
        folder.mkdir()
        world = World(kind, folder)
        held = lived(world)
        gate = Gate(world, record_verdicts=True)
        if way == "apply":
            view = gate.apply(LIST, held)
        else:
            view, done = driven(gate, LIST, held)
            assert {type(step) for step in done} == {*get_args(Step)} - {Accept}
        told.append((shape(view), events(world), gate.host.keys))
        world.close()
    assert told[0] == told[1]


def test_each_step_is_asked_for_only_where_it_is_due(world: World) -> None:
    held = lived(world)
    gate = Gate(world)
    _, done = driven(gate, LIST, held)
    written = [type(step) for step in done if not isinstance(step, Look | ReadBody)]
    assert written == [Admit, Strip, Ask, Settle, Ask, Settle, Start, Deliver]
    _, again = driven(gate, LIST, held)
    assert [type(step) for step in again] == [Look, ReadBody]


def test_without_an_authority_a_person_is_accepted(world: World) -> None:
    relayed(world.ledger, handover=None)
    _, done = driven(Gate(world), [*LIST[:1], LIST[-1], user("m2")], None)
    assert [type(step) for step in done] == [Look, Accept, Look]


@pytest.mark.parametrize("answer", [OSError("disk"), GuardRejected("unheard of"), 7])
def test_a_failure_is_thrown_in_and_comes_out_after_all_were_asked(
    world: World, answer: object
) -> None:
    held = lived(world)
    gate = Gate(world, answer, Interrupted())
    with pytest.raises(RelayGateFailure):
        driven(gate, LIST, held)
    assert sorted(gate.host.keys) == ["ghost", "probe"]
    assert count(world.ledger, e.InterruptSettled) == 1
