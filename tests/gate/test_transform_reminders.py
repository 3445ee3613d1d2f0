"""What a harness says beside tool results, without an id, is no request of its own."""

from __future__ import annotations

import pytest

from gates import Gate, Message, relayed, user, verdicts
from tenure import AnthropicReader, InvalidInput
from worlds import World


def block(kind: str, **fields: object) -> Message:
    return {"type": kind, **fields}


def text(said: str) -> Message:
    return block("text", text=said)


def calls(*names: str, parent: str | None = None) -> Message:
    made = [block("tool_use", id=name, name="look", input={}) for name in names]
    message: Message = {"role": "assistant", "content": made}
    return message if parent is None else {**message, "parent_id": parent}


def results(*names: str, reminder: str | None = None, **more: object) -> Message:
    done = [block("tool_result", tool_use_id=name, content="seen") for name in names]
    said = [] if reminder is None else [text(reminder)]
    return {"role": "user", "content": [*done, *said], **more}


REMINDER = "<reminder>3 files changed</reminder>"


def test_it_passes_whole_with_the_turn_of_the_call(world: World) -> None:
    _, two = relayed(world.ledger, handover=None)
    gate = Gate(world, reader=AnthropicReader())
    messages = [
        user("m1"),
        calls("c1"),
        results("c1", reminder=REMINDER),
        user("m2"),
        calls("c2"),
        results("c2", reminder=REMINDER),
    ]
    view = gate.apply(messages, two)
    assert verdicts(view) == {"m1": "history", "m2": "successor"}
    assert view.messages == messages
    assert view.unanswered == ()


def test_it_stays_out_with_the_turn_of_the_call(world: World) -> None:
    _, two = relayed(world.ledger, leaves=["probe"])
    gate = Gate(world, reader=AnthropicReader())
    late = [user("probe"), calls("c2", parent="probe"), user("m2")]
    view = gate.apply(
        [user("m1"), calls("c1"), results("c1", reminder=REMINDER), *late], two
    )
    assert view.messages[1:] == [late[2]]
    view = gate.apply([*late, results("c2", reminder=REMINDER)], two)
    assert view.messages == [late[2]]


def test_it_stands_behind_the_results_of_all_parallel_calls(world: World) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, reader=AnthropicReader())
    messages = [user("m2"), calls("c1", "c2"), results("c1", reminder="x")]
    view = gate.apply([*messages, results("c2")], two)
    contents = [message["content"] for message in view.messages[2:]]
    assert contents == [
        results("c1")["content"],
        results("c2")["content"],
        [text("x")],
    ]
    assert view.sources == (0, 1, 2, 3, 2)
    assert view.unanswered == ()


@pytest.mark.parametrize(
    "message",
    [
        results("c1", reminder="and B", human=True),
        results("gone", reminder="and B"),
        {"role": "user", "content": [text("and B")]},
    ],
    ids=["a person said it", "it answers no call", "it holds no result"],
)
def test_all_else_without_an_id_is_refused(world: World, message: Message) -> None:
    _, two = relayed(world.ledger)
    gate = Gate(world, reader=AnthropicReader())
    with pytest.raises(InvalidInput, match=r"message 3: a request without an id") as no:
        gate.apply([user("m1"), user("m2"), calls("c1"), message], two, acting="m2")
    assert no.value.evidence["index"] == 3


def test_under_an_id_it_is_a_request_of_its_own(world: World) -> None:
    _, two = relayed(world.ledger)
    world.ledger.admit(two, "m3", "human")
    gate = Gate(world, reader=AnthropicReader())
    both = results("c1", reminder="and B", id="m3")
    messages = [user("m2"), calls("c1"), both]
    view = gate.apply(messages, two, acting="m2")
    assert [one["content"] for one in view.messages[2:]] == [results("c1")["content"]]
    said = {"role": "assistant", "parent_id": "m2", "content": "A is done."}
    world.ledger.settle(two, "m2", "completed")
    view = gate.apply([*messages, said], two, acting="m3")
    assert view.sources == (0, 1, 2, 3, 2)
    assert [one["content"] for one in view.messages[-2:]] == [
        "A is done.",
        [text("and B")],
    ]
