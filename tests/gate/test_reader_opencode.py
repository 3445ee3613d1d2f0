"""OpenCode session messages: parents, tool parts, and what is refused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gate_homes import belonging
from tenure import InvalidInput
from tenure_gate.readers import Message, OpenCodeReader
from tenure_gate.turns import split

READER = OpenCodeReader()


def user(name: str | None, says: str = "do", **info: object) -> Message:
    about: dict[str, Any] = {"role": "user", "sessionID": "ses_1", **info}
    if name is not None:
        about["id"] = name
    part = {"id": f"prt_{name}", "type": "text", "text": says, "messageID": name}
    return {"info": about, "parts": [part]}


def answer(name: str, parent: str | None, *parts: dict[str, Any]) -> Message:
    info: dict[str, Any] = {"id": name, "role": "assistant", "sessionID": "ses_1"}
    if parent is not None:
        info["parentID"] = parent
    return {"info": info, "parts": [{"type": "step-start"}, *parts]}


def tool(call: str, status: str) -> dict[str, Any]:
    state: dict[str, Any] = {"status": status, "input": {}}
    return {"type": "tool", "callID": call, "tool": "bash", "state": state}


def test_an_answer_hangs_on_the_request_it_names() -> None:
    messages = [user("m1"), user("m2"), answer("a1", "m1"), answer("a2", "m2")]
    found = belonging(split(messages, READER))
    assert found == {"m1": (0, 2), "m2": (1, 3)}


def test_a_call_and_its_result_are_one_part() -> None:
    message = answer("a1", "m1", tool("c1", "completed"), tool("c2", "error"))
    assert READER.calls(message) == READER.results(message) == ["c1", "c2"]
    parts = split([user("m1"), message], READER)
    assert (dict(parts.answers), parts.unanswered) == ({}, ())


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_call_at_work_has_no_result(status: str) -> None:
    parts = split([user("m1"), answer("a1", "m1", tool("c1", status))], READER)
    assert parts.unanswered == ((1, "c1"),)


def test_the_same_parts_under_other_ids_are_the_same() -> None:
    other = user("m1")
    other["parts"][0] |= {"id": "prt_9", "time": {"start": 1}, "messageID": "x"}
    assert READER.same(user("m1"), other)
    assert not READER.same(user("m1"), user("m1", "something else"))


def test_a_note_belongs_to_the_session_and_is_the_same_every_time() -> None:
    like = user("m1", agent="build", model={"modelID": "x"}, summary={"title": "t"})
    note = READER.note("hello", like)
    assert (
        note["info"].items()
        >= {
            "role": "user",
            "sessionID": "ses_1",
            "agent": "build",
        }.items()
    )
    assert "summary" not in note["info"]
    (part,) = note["parts"]
    assert (part["text"], part["synthetic"]) == ("hello", True)
    assert part["messageID"] == note["info"]["id"]
    assert note == READER.note("hello", like)
    assert note["info"]["id"] != READER.note("hello?", like)["info"]["id"]
    assert READER.role(READER.note("alone")) == "user"


def test_copies_leave_the_hosts_message_alone() -> None:
    message = answer("a1", "m1", tool("c1", "completed"), tool("c2", "running"))
    before = deepcopy(message)
    replaced = READER.replace(message, "gone")
    assert [part["text"] for part in replaced["parts"]] == ["gone"]
    assert replaced["info"] == before["info"]
    assert READER.part(message, {0}, rest=False)["parts"] == [before["parts"][1]]
    assert READER.part(message, {0}, rest=True) == before
    assert message == before


def test_the_host_vouches_by_mark_or_callable() -> None:
    assert READER.human(user("m1", human=True))
    assert not READER.human(user("m1"))
    assert OpenCodeReader(human=lambda m: bool(m["info"]["id"])).human(user("m1"))


BAD: list[tuple[Any, str]] = [
    (None, "a message must be a dict"),
    ({"role": "user", "content": "x"}, "info must be a dict"),
    ({"info": {"role": "user"}}, "parts must be a list"),
    ({"info": {"role": "user"}, "parts": [1]}, "each of parts must be a dict"),
    ({"info": {"role": "user"}, "parts": [{}]}, "each of parts must have a type"),
    ({"info": {"role": "tool"}, "parts": []}, "info.role must be"),
    ({"info": {}, "parts": []}, "info.role must be"),
    (user(None, id=3), "info.id must be text"),
    (user("m1", human=1), "human must be true or false"),
    (answer("a1", ""), "info.parentID must be text, not empty"),
    (answer("a1", "m1", {"type": "tool"}), "callID is missing"),
]


@pytest.mark.parametrize(("message", "says"), BAD)
def test_a_bad_shape_is_refused_with_its_index(message: Message, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        split([user(None), message], READER)
    assert refused.value.evidence["index"] == 1


def test_a_state_that_is_none_of_ours_is_no_result() -> None:
    states: list[Any] = [None, [], {"status": []}]
    odd = [{**tool("c1", "x"), "state": state} for state in states]
    assert READER.results(answer("a1", "m1", *odd)) == []
