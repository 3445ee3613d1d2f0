"""Hosts that change their list, guards that take long, marks that are no marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, overload

import pytest

from gates import Gate, Message, S, next_term, texts, user
from tenure import (
    Authority,
    First,
    GuardRejected,
    Interrupted,
    InterruptTarget,
    InvalidInput,
    Ledger,
    NarrativeTransform,
    OpenAIReader,
    RelayGateFailure,
    open_ledger,
)
from waiting import until
from worlds import World


def two_terms(ledger: Ledger) -> Authority:
    one = ledger.claim(S, f"{S}/1", "host", first=First("a1", "human"))
    ledger.start(one, "a1")
    ledger.settle(one, "a1", "completed")
    ledger.admit(one, "probe", "tool_probe")
    ledger.retire(one, "continue", "Next: B.")
    return next_term(ledger, "b1")


class Shrinking(Sequence[object]):
    """A host's list that loses its first message at every look."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[object]:
        yield from tuple(self.messages)
        del self.messages[:1]

    @overload
    def __getitem__(self, place: int) -> object: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[object]: ...
    def __getitem__(self, place: int | slice) -> object:
        return self.messages[place]


def test_one_call_shows_the_list_that_it_judged(world: World) -> None:
    two = two_terms(world.ledger)
    messages = Shrinking([user("a1"), user("b1"), user("retry")])
    gate = NarrativeTransform(world.ledger, Slow())
    view = gate.apply("ses_1", messages, authority=two, acting="b1")
    assert texts(view)[-1] == "text of b1"
    assert "text of retry" not in texts(view)


class Slow:
    """A guard that answers well, each time later than the ledger's whole deadline."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def interrupt(self, target: InterruptTarget) -> Interrupted:
        """Answer after a tenth of a second."""
        self.asked.append(target.key.physical_user_message_id)
        # How long a host takes is what this is about.
        end = monotonic() + 0.1
        until(lambda: monotonic() >= end)
        return Interrupted()


def test_a_guards_time_is_not_the_writers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url, deadline_seconds=0.15) as ledger:
        two = two_terms(ledger)
        guard = Slow()
        gate = NarrativeTransform(ledger, guard)
        messages = [
            user("a1"),
            *(user(f"r{number}") for number in range(4)),
            user("b1"),
        ]
        view = gate.apply("ses_1", messages, authority=two)
        assert texts(view)[-1] == "text of b1"
        assert len(guard.asked) == 4


def test_a_failing_guard_is_asked_about_every_leftover(world: World) -> None:
    two = two_terms(world.ledger)

    class First1:
        """Fails for the first leftover only."""

        asked: list[str] = []  # noqa: RUF012  of this test

        def interrupt(self, target: InterruptTarget) -> GuardRejected:
            key = target.key.physical_user_message_id
            self.asked.append(key)
            if key == "r1":
                raise OSError(5, "managed_session")
            return GuardRejected("managed_session")

    guard = First1()
    gate = NarrativeTransform(world.ledger, guard)
    messages = [user("a1"), user("r1"), user("r2"), user("b1")]
    for _ in range(2):
        with pytest.raises(RelayGateFailure):
            gate.apply("ses_1", messages, authority=two)
    assert guard.asked == ["r1", "r2", "r1"]


def test_a_class_is_no_guard_and_no_reader(world: World) -> None:
    make: Any = NarrativeTransform
    with pytest.raises(InvalidInput, match="class Slow"):
        make(world.ledger, Slow)
    with pytest.raises(InvalidInput, match="class OpenAIReader"):
        make(world.ledger, Slow(), reader=OpenAIReader)


def test_a_mark_on_either_copy_vouches(world: World) -> None:
    two = two_terms(world.ledger)
    plain, marked = user("h9"), {**user("h9"), "human": True}
    view = Gate(world).apply([user("a1"), plain, marked, user("b1")], two, acting="b1")
    assert {one.key: one.name for one in view.verdicts}["h9"] == "queued"


def mistaken(_message: object) -> Any:  # noqa: ANN401  a host's mistake
    return "false"


class AsyncLedger:
    """What an asynchronous ledger looks like."""

    async def fresh_state(self, _owner: object) -> None:
        """Wait."""


def test_an_asynchronous_ledger_is_refused_at_once() -> None:
    make: Any = NarrativeTransform
    with pytest.raises(TypeError, match="open_ledger"):
        make(AsyncLedger(), Slow())
    with pytest.raises(InvalidInput, match="open_ledger"):
        make(object(), Slow())


async def waits(_message: object) -> bool:
    return False


def test_only_true_vouches_whoever_says_it(world: World) -> None:
    two = two_terms(world.ledger)
    with pytest.raises(TypeError, match="plain function"):
        OpenAIReader(human=waits)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput):
        OpenAIReader(human="yes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    reader = OpenAIReader(human=mistaken)
    gate = NarrativeTransform(world.ledger, Slow(), reader=reader)
    with pytest.raises(InvalidInput, match="human"):
        gate.apply("ses_1", [user("a1"), user("retry"), user("b1")], authority=two)


def test_an_answer_to_a_leftover_that_is_not_there_stays_out(world: World) -> None:
    two = two_terms(world.ledger)
    ghost = {"role": "assistant", "content": "GHOST", "parent_id": "probe"}
    view = Gate(world).apply([user("a1"), user("b1"), ghost], two)
    assert "GHOST" not in texts(view)


def test_an_answer_behind_a_leftover_is_not_the_one_that_this_call_starts(
    world: World,
) -> None:
    two = two_terms(world.ledger)
    ghost = {"role": "assistant", "content": "GHOST"}
    messages = [user("a1"), user("b1"), user("retry"), ghost]
    assert "GHOST" not in texts(Gate(world).apply(messages, two, acting="b1"))


def test_what_a_person_said_without_an_id_is_never_dropped(world: World) -> None:
    two = two_terms(world.ledger)
    said = {"role": "user", "content": "PERSON", "human": True}
    gate = Gate(world, missing_id="strip")
    with pytest.raises(InvalidInput, match="message 1"):
        gate.apply([user("a1"), said, user("b1")], two)


@pytest.mark.parametrize(
    "last",
    [
        {"role": "assistant", "content": "answer"},
        {"role": "user", "id": "b1", "content": "text of b1"},
    ],
)
def test_a_side_calls_instruction_is_never_dropped(world: World, last: Message) -> None:
    two = two_terms(world.ledger)
    with pytest.raises(InvalidInput, match="instruction"):
        Gate(world).apply([user("a1"), user("b1"), last], two, side=True)
