"""A side call's last message is the host's own instruction, and nobody's request."""

from __future__ import annotations

import pytest

from gates import Gate, Message, S, relayed, texts, user
from tenure import AnthropicReader, InvalidInput
from worlds import World


@pytest.mark.parametrize("key", ["waits", "m2", "ghost", "m1"])
def test_a_message_on_record_is_no_instruction(world: World, key: str) -> None:
    """Accepted, admitted, stripped or settled: what it says is a request's."""
    ledger = world.ledger
    _, two = relayed(ledger)
    gate = Gate(world)
    gate.apply([user("m1"), user("ghost"), user("m2")], two, acting="m2")
    ledger.accept(S, "waits", "inbox", human=True)
    with (
        world.writes() as lines,
        pytest.raises(InvalidInput, match=f"{key} is on record as a message") as no,
    ):
        gate.apply([user("m2"), user(key)], two, side=True)
    assert (no.value.evidence["index"], no.value.evidence["key"]) == (1, key)
    assert lines == []


@pytest.mark.parametrize("key", [None, "title_1"])
def test_an_instruction_has_an_id_of_its_own_or_none(
    world: World, key: str | None
) -> None:
    _, two = relayed(world.ledger)
    view = Gate(world).apply([user("m2"), user(key, "a title")], two, side=True)
    assert texts(view)[-1] == "a title"


def test_an_instruction_beside_results_passes_and_stands_last(world: World) -> None:
    """Whatever becomes of the turn whose call it answers."""
    _, two = relayed(world.ledger, leaves=["probe"])
    world.ledger.start(two, "m2")
    call: Message = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    done = {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}
    text = {"type": "text", "text": "Sum this up."}
    for key, shown in (("m2", [done, text]), ("probe", [text])):
        messages: list[Message] = [
            user(key),
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [done, text]},
        ]
        gate = Gate(world, reader=AnthropicReader())
        view = gate.apply(messages, two, side=True)
        assert view.messages[-1]["content"] == shown
