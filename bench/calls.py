"""What a list of 1,000 messages costs the gate: step by step, and in whole calls."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tenure import (
    Authority,
    First,
    GuardRejected,
    InterruptTarget,
    Ledger,
    NarrativeTransform,
    OpenAIReader,
    OwnerRef,
    open_ledger,
)
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import judge, locate
from tenure_gate.readers import hear
from tenure_gate.turns import split
from tenure_gate.verdicts import Verdict
from tenure_gate.view import assemble
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.stream import State

__all__ = ["BARE", "Row", "first_call", "steps", "whole_calls"]

BARE = "for each of the 1,000 messages its id, and two look-ups in dicts"
REQUESTS = 200
SESSION = OwnerRef("session", "ses_1")

Message = dict[str, object]
Work = Callable[[], object]


class Row(NamedTuple):
    """Median seconds of processor time, of the work and of the bare loop; and ratio."""

    name: str
    ratio: float
    ours: float
    bare: float


class Guard:
    """A host that protects its session."""

    def interrupt(self, target: InterruptTarget) -> GuardRejected:
        """Answer as the host of the accident does."""
        del target
        return GuardRejected("managed_session")


def key_of(number: int) -> str:
    """Return the id of a request."""
    return f"msg_{number:08d}"


def messages_of(requests: int) -> list[Message]:
    """Return a list of five messages for each request."""
    found: list[Message] = []
    for number in range(requests):
        call = f"call_{number}"
        function = {"name": "look", "arguments": "{}"}
        calls = [{"id": call, "type": "function", "function": function}]
        each: list[Message] = [
            {"role": "user", "id": key_of(number), "content": f"question {number}"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": call, "content": "found"},
            {"role": "assistant", "content": "thinking"},
            {"role": "assistant", "content": f"answer {number}"},
        ]
        found += each
    return found


def bare_loop(state: State, messages: list[Message]) -> Work:
    """Return the loop that everything is held against."""
    by_key = state.executions.by_key.items()
    admitted: dict[object, Execution] = dict(by_key)
    settled: dict[object, int] = {key: one.settled for key, one in by_key}

    def bare() -> None:
        for message in messages:
            key = message.get("id")
            admitted.get(key)
            settled.get(key)

    return bare


def steps(state: State, samples: int) -> Iterator[Row]:
    """Measure each step of a call by itself, with that state in memory."""
    journal, messages, reader = JournalSnapshot.of(state), messages_of(200), _READER
    parts = split(messages, reader, journal)

    def judged() -> list[Verdict]:
        list_facts = locate(journal, parts.keys)
        return [judge(journal, turn, list_facts) for turn in parts.requests]

    verdicts = judged()
    bare = bare_loop(state, messages)
    for name, work in (
        ("verdicts of the 200 requests", judged),
        ("reading the messages", lambda: hear(messages, reader)),
        (
            "taking the list apart, with reading it",
            lambda: split(messages, reader, journal),
        ),
        (
            "putting the view together",
            lambda: assemble(messages, parts, verdicts, reader, journal),
        ),
    ):
        yield _row(name, samples, bare, work)


def whole_calls(samples: int) -> Iterator[Row]:
    """Measure `apply` as a host calls it; the ledger is in memory, so are its writes.

    A call looks at the record, writes what is due, and looks again.
    """
    with _lived("memory://") as (ledger, held):
        messages = [*messages_of(REQUESTS), _user("now")]
        ledger.admit(held, "now", "human")
        ledger.start(held, "now")
        gate = NarrativeTransform(ledger, Guard())
        bare = bare_loop(ledger.fresh_state(SESSION), messages)

        def later() -> object:
            return gate.apply(SESSION, messages, authority=held)

        yield _row("apply, nothing to write: 1 look", samples, bare, later)
        numbers = iter(range(10**6))

        def starts() -> Work:
            _next_request(ledger, held, messages, f"now_{next(numbers)}")
            return later

        name = "apply, starts the request: 2 looks, 1 write"
        yield _row_of_new(name, samples, bare, starts)
        ledger.retire(held, "accepted", finishes=[_last_id(messages)])
        after = ledger.succeed(SESSION, "agent/2", "host")

        def strips() -> Work:
            number = next(numbers)
            ghost = _user(f"ghost_{number}")
            _next_request(ledger, after, messages, f"now_{number}")
            given = [*messages[:-1], ghost, messages[-1]]
            return lambda: gate.apply(SESSION, given, authority=after)

        name = "apply, strips, interrupts, starts: 4 looks, 3 writes"
        yield _row_of_new(name, samples, bare, strips)


def first_call(folder: Path, samples: int) -> Iterator[Row]:
    """Measure the first call of a new process, and a later one, on a SQLite file."""
    url = f"sqlite:///{folder}/first.db"
    messages = [*messages_of(REQUESTS), _user("now")]
    with _lived(url) as (ledger, held):
        ledger.admit(held, "now", "human")
        ledger.start(held, "now")
        bare = bare_loop(ledger.fresh_state(SESSION), messages)
        gate = NarrativeTransform(ledger, Guard())

        def later() -> object:
            return gate.apply(SESSION, messages, authority=held)

        yield _row("apply on SQLite, nothing to write", samples, bare, later)

    def first() -> None:
        with open_ledger(url) as cold:
            new = NarrativeTransform(cold, Guard())
            new.apply(SESSION, messages, authority=held)

    name = "the first one of a process: opens the file, folds 800 events"
    yield _row(name, samples, bare, first)


_READER = OpenAIReader()
_TIMES = range(10)
"""The bare loop, so often in one sample, to be as long as a call."""


@contextmanager
def _lived(url: str) -> Generator[tuple[Ledger, Authority]]:
    """Open a ledger that knows each request of the list, all but the last settled."""
    with open_ledger(url) as ledger:
        first = First(key_of(0), "human")
        held = ledger.claim(SESSION, "agent/1", "host", first=first)
        for number in range(REQUESTS):
            if number:
                ledger.admit(held, key_of(number), "assistant_run")
            ledger.start(held, key_of(number))
            ledger.settle(held, key_of(number), "completed")
        yield ledger, held


def _user(key: str) -> Message:
    return {"role": "user", "id": key, "content": f"text of {key}"}


def _last_id(messages: list[Message]) -> str:
    return str(messages[-1]["id"])


def _next_request(
    ledger: Ledger, held: Authority, messages: list[Message], key: str
) -> None:
    """Let another request be the last of the list, admitted and not started."""
    last = _last_id(messages)
    known = ledger.fresh_state(SESSION).executions.by_key.get(last)
    if known is not None and known.open:
        ledger.settle(held, known.key, "completed")
    ledger.admit(held, key, "assistant_run")
    messages[-1] = _user(key)


def _row(name: str, samples: int, bare: Work, work: Work) -> Row:
    """Let the two take turns."""
    return _row_of_new(name, samples, bare, lambda: work)


def _row_of_new(
    name: str, samples: int, bare: Work, prepare: Callable[[], Work]
) -> Row:
    """Let the two take turns; each sample of the second is prepared off the clock."""
    bares: list[float] = []
    ours: list[float] = []
    for _ in range(samples):
        one = prepare()
        bares.append(_seconds(lambda: [bare() for _ in _TIMES]) / len(_TIMES))
        ours.append(_seconds(one))
    ratios = [mine / base for mine, base in zip(ours, bares, strict=True)]
    median = statistics.median
    return Row(name, median(ratios), median(ours), median(bares))


def _seconds(work: Work) -> float:
    """Return the processor's time: a call is long enough to be interrupted."""
    began = time.process_time()
    work()
    return time.process_time() - began
