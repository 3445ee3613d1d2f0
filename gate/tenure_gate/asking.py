"""Asks a synchronous guard, and waits no longer than it was given."""

from __future__ import annotations

from threading import Thread

from tenure_gate.guard import InterruptTarget, SessionGuard, failure, outcome_of

__all__ = ["ask"]


def ask(guard: SessionGuard, target: InterruptTarget, timeout_seconds: float) -> str:
    """Return how the interrupt is to be settled, as `outcome_of` says.

    Raises `RelayGateFailure` for no answer in time, and for whatever the guard raises.
    """
    answers: list[object] = []
    problems: list[BaseException] = []

    def call() -> None:
        try:
            answers.append(guard.interrupt(target))
        except BaseException as problem:  # noqa: BLE001  each of them is an answer
            problems.append(problem)

    # A thread of its own: nothing else bounds a host that does not come back.
    thread = Thread(target=call, name="tenure-interrupt", daemon=True)
    thread.start()
    thread.join(timeout_seconds)
    if problems:
        problem = problems[0]
        if isinstance(problem, KeyboardInterrupt | SystemExit):
            raise problem
        kind = type(problem).__name__
        raise failure(target, f"it raised {kind}: {_text(problem)}") from problem
    if not answers:
        raise failure(target, f"it did not answer within {timeout_seconds:g} s")
    return outcome_of(target, answers[0])


def _text(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # noqa: BLE001  it is only shown
        return "(its text cannot be shown)"
