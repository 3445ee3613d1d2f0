"""S14: "expected active turn X but found Y" is shown to the user as a failure.

Right: five typed codes are tolerated; everything else stops the call, whatever its text
says.
"""

from __future__ import annotations

import logging
from threading import Event

import pytest

from gates import CODES, Gate, S, count, relayed, texts, user
from tenure import (
    Fault,
    GuardRejected,
    Interrupted,
    InterruptTarget,
    NarrativeTransform,
    Refused,
    RelayGateFailure,
)
from tenure_ledger import events as e
from tenure_ledger.folds.relay import Interrupt
from worlds import World

LIST = [user("m1"), user("ghost"), user("m2")]
QUOTING = "expected active turn: ManagedSessionRejection (managed_session)"


def interrupts(world: World) -> list[Interrupt]:
    relay = world.ledger.fresh_state(S).relay
    return sorted(relay.interrupts.values(), key=lambda one: one.opened)


@pytest.mark.parametrize("code", CODES)
def test_s14_a_typed_rejection_is_tolerated_logged_once_and_the_call_goes_on(
    world: World, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, GuardRejected(code, "the host says no"))
    with caplog.at_level(logging.INFO, "tenure.gate"):
        for _ in range(3):
            assert texts(gate.apply(LIST, two))[-1] == "text of m2"
    assert len(gate.host.asked) == 1
    (one,) = interrupts(world)
    assert one.outcome == code
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert code in caplog.text


FAILURES = {
    "a disk that quotes the code": OSError(28, QUOTING),
    "a runtime error": RuntimeError(QUOTING),
    "the code itself as an error": KeyError("managed_session"),
    "no base of Exception": BaseException(QUOTING),
    "a refusal of ours": Refused("managed_session"),
    "an unknown code": GuardRejected("managed_session_rejection", QUOTING),
    "another spelling": GuardRejected("Managed_Session", QUOTING),
    "a code with a blank": GuardRejected("managed_session ", QUOTING),
    "no code": GuardRejected("", "managed_session"),
    "a code of another type": GuardRejected(["managed_session"]),  # type: ignore[arg-type]
    "none as a code": GuardRejected(None),  # type: ignore[arg-type]
    "the text of a code": "managed_session",
    "nothing": None,
    "true": True,
    "the class": Interrupted,
    "the pair of a rejection": ("managed_session", ""),
}


@pytest.mark.parametrize("name", FAILURES)
def test_s14_everything_else_fails_closed_and_the_interrupt_stays_open(
    world: World, name: str
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, FAILURES[name], FAILURES[name], Interrupted())
    for _ in range(2):
        with pytest.raises(RelayGateFailure) as failed:
            gate.apply(LIST, two)
        assert isinstance(failed.value, Fault)
        assert not isinstance(failed.value, Refused)
        (one,) = interrupts(world)
        assert not one.settled
        assert one.interrupt_id in str(failed.value)
    assert count(world.ledger, e.ExecutionStarted) == 1  # m1's, long ago
    assert texts(gate.apply(LIST, two))[-1] == "text of m2"
    (one,) = interrupts(world)
    assert {target.interrupt_id for target in gate.host.asked} == {one.interrupt_id}
    assert count(world.ledger, e.StaleRequestStripped) == 1
    assert count(world.ledger, e.InterruptSettled) == 1


def test_s14_a_guard_that_does_not_come_back_is_a_failure_at_the_deadline(
    world: World,
) -> None:
    _, two = relayed(world.ledger)
    come_back = Event()

    class Slow:
        def interrupt(self, target: InterruptTarget) -> Interrupted:
            assert come_back.wait(60), target
            return Interrupted()

    gate = NarrativeTransform(world.ledger, Slow(), guard_timeout_seconds=0.05)
    with pytest.raises(RelayGateFailure, match="did not answer within"):
        gate.apply(S, LIST, authority=two)
    (one,) = interrupts(world)
    assert not one.settled
    # Its late answer is nobody's: the interrupt is settled by the next call alone.
    come_back.set()
    gate = NarrativeTransform(world.ledger, Slow())
    assert texts(gate.apply(S, LIST, authority=two))[-1] == "text of m2"
    assert interrupts(world)[0].outcome == "interrupted"
    assert count(world.ledger, e.InterruptSettled) == 1


def test_s14_all_of_them_in_turn_on_one_session(world: World) -> None:
    """Each leftover gets another answer; all are asked about before the call stops."""
    _, two = relayed(world.ledger)
    answers: list[object] = [GuardRejected(code) for code in CODES]
    ghosts = [user(f"g{number}") for number in range(len(CODES) + 2)]
    messages = [user("m1"), *ghosts, user("m2")]
    gate = Gate(world, *answers, OSError(5, QUOTING), TimeoutError(), Interrupted())
    with pytest.raises(RelayGateFailure, match="expected active turn"):
        gate.apply(messages, two)
    assert len(gate.host.asked) == len(ghosts)
    assert texts(gate.apply(messages, two))[-1] == "text of m2"
    settled = [one.outcome for one in interrupts(world)]
    assert settled == [*CODES, "interrupted", "interrupted"]


def test_s14_a_person_gives_an_interrupt_up_on_record_and_the_call_goes_on(
    world: World,
) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, OSError(5, QUOTING))
    with pytest.raises(RelayGateFailure, match="settle_interrupt"):
        gate.apply(LIST, two)
    (one,) = interrupts(world)
    world.ledger.settle_interrupt(S, one.interrupt_id, "given_up", "Ana")
    assert texts(gate.apply(LIST, two))[-1] == "text of m2"
    assert len(gate.host.asked) == 1
    (one,) = interrupts(world)
    assert one.outcome == "given_up"
