"""Turns: which request each message hangs on, whatever became of the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gate_homes import belonging, orphans, outside
from gate_lists import FORMATS, Format, Line, a, journal, s, t, u
from tenure import InvalidInput, KeyReused
from tenure_gate.readers import Message, OpenAIReader, Role
from tenure_gate.reading import COPY
from tenure_gate.turns import Split, split

OPENAI = FORMATS["openai"]
ANTHROPIC = FORMATS["anthropic"]


@pytest.fixture(params=FORMATS)
def host(request: pytest.FixtureRequest) -> Format:
    return FORMATS[request.param]


def apart(host: Format, lines: Sequence[Line]) -> Split:
    return split(host.make(lines), host.reader)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_turn_is_a_request_with_answers_calls_and_results(name: str) -> None:
    lines = [u("m1"), a("", "c1"), t("c1"), a("done"), u("m2"), a("done")]
    parts = apart(FORMATS[name], lines)
    assert belonging(parts) == {"m1": (0, 1, 2, 3), "m2": (4, 5)}
    assert parts.keys == ("m1", "m2")
    assert [turn.index for turn in parts.requests] == [0, 4]


def test_what_stands_before_the_first_request_is_no_part_of_it(host: Format) -> None:
    parts = apart(host, [s(), a("Hello, I am ready."), u("m1"), s("Be brief."), a("x")])
    assert belonging(parts) == {"m1": (2, 4)}
    assert outside(parts) == {"prefix": (1,), "system": (0, 3)}


def test_a_request_is_answered_when_something_hangs_on_it(host: Format) -> None:
    parts = apart(host, [u("m1"), a("done"), u("m2")])
    assert [turn.answered for turn in parts.requests] == [True, False]


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_late_result_belongs_to_the_turn_of_its_call(name: str) -> None:
    lines = [u("m1"), a("", "c1"), u("m2"), a("", "c2"), t("c1"), t("c2"), a("done")]
    parts = apart(FORMATS[name], lines)
    assert belonging(parts) == {"m1": (0, 1, 4), "m2": (2, 3, 5, 6)}


def test_one_message_may_answer_calls_of_two_turns() -> None:
    lines = [u("m1"), a("", "c1"), u("m2"), a("", "c2"), t("c1", "c2")]
    parts = apart(ANTHROPIC, lines)
    assert belonging(parts) == {"m1": (0, 1, 4), "m2": (2, 3, 4)}


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_result_of_the_prefix_is_no_part_of_a_turn(name: str) -> None:
    parts = apart(FORMATS[name], [a("", "c1"), u("m1"), t("c1"), a("done")])
    assert belonging(parts) == {"m1": (1, 3)}
    assert (outside(parts), orphans(parts)) == ({"prefix": (0, 2)}, ())


def test_a_missing_result_of_parallel_calls_is_named(host: Format) -> None:
    parts = apart(host, [u("m1"), a("", "c1", "c2", "c3"), t("c1"), t("c3")])
    assert parts.unanswered == ((1, "c2"),)


def test_a_call_id_used_again_is_answered_by_the_nearest_call() -> None:
    again = [u("m1"), a("", "c"), t("c"), u("m2"), a("", "c"), t("c")]
    assert belonging(apart(OPENAI, again)) == {"m1": (0, 1, 2), "m2": (3, 4, 5)}
    # The first is answered late: the second call has its result by then.
    late = [u("m1"), a("", "c"), u("m2"), a("", "c"), t("c"), t("c")]
    assert belonging(apart(OPENAI, late)) == {"m1": (0, 1, 5), "m2": (2, 3, 4)}


def test_a_second_result_of_one_call_belongs_to_the_same_turn() -> None:
    parts = apart(OPENAI, [u("m1"), a("", "c"), t("c"), u("m2"), t("c")])
    assert belonging(parts) == {"m1": (0, 1, 2, 4), "m2": (3,)}


def test_a_result_before_its_call_is_given_to_it() -> None:
    parts = apart(OPENAI, [t("c1"), u("m1"), t("c1"), u("m2"), a("", "c1")])
    assert belonging(parts) == {"m1": (1,), "m2": (0, 2, 3, 4)}
    assert orphans(parts) == ()


def test_of_two_later_calls_the_first_is_given_the_result() -> None:
    parts = apart(OPENAI, [t("c"), u("m1"), a("", "c"), u("m2"), a("", "c")])
    assert belonging(parts) == {"m1": (0, 1, 2), "m2": (3, 4)}


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_result_without_any_call_is_an_orphan(name: str) -> None:
    parts = apart(FORMATS[name], [u("m1"), a("x"), t("lost"), a("done")])
    assert belonging(parts) == {"m1": (0, 1, 3)}
    assert orphans(parts) == (2,)


def test_an_answer_hangs_on_the_parent_that_it_names(host: Format) -> None:
    lines = [u("m1"), u("m2"), a("one", parent="m1"), a("two", parent="m2")]
    assert belonging(apart(host, lines)) == {"m1": (0, 2), "m2": (1, 3)}


def test_a_parent_may_be_an_answer_and_stand_further_down(host: Format) -> None:
    last = Line("assistant", "last", "a2", parent="a1")
    first = Line("assistant", "first", "a1", parent="m2")
    lines = [u("m1"), last, first, u("m2")]
    assert belonging(apart(host, lines)) == {"m1": (0,), "m2": (1, 2, 3)}


def test_a_parent_may_be_a_result() -> None:
    result = Line("tool", "", "r1", results=("c1",))
    lines = [u("m1"), a("", "c1"), result, u("m2"), a("done", parent="r1")]
    assert belonging(apart(OPENAI, lines)) == {"m1": (0, 1, 2, 4), "m2": (3,)}


def test_an_answer_to_an_orphan_result_is_loose() -> None:
    lines = [Line("tool", "", "r1", results=("lost",)), u("m1"), a("x", parent="r1")]
    parts = apart(OPENAI, lines)
    assert (belonging(parts), outside(parts)) == ({"m1": (1,)}, {"loose": (2,)})


def test_parents_in_a_circle_say_nothing(host: Format) -> None:
    one = Line("assistant", "one", "a1", parent="a2")
    two = Line("assistant", "two", "a2", parent="a1")
    alone = Line("assistant", "alone", "a3", parent="a3")
    parts = apart(host, [u("m1"), one, two, u("m2"), alone])
    assert belonging(parts) == {"m1": (0, 1, 2), "m2": (3, 4)}


def test_an_answer_to_a_request_that_is_not_here_is_loose(host: Format) -> None:
    lost = Line("assistant", "lost", "a1", parent="gone")
    more = Line("assistant", "more", "a2", parent="a1")
    parts = apart(host, [u("m1"), lost, more])
    assert (belonging(parts), outside(parts)) == ({"m1": (0,)}, {"loose": (1, 2)})
    assert parts.parents == {1: "gone", 2: "gone"}
    assert not parts.requests[0].answered


def test_a_long_chain_of_parents_is_followed_to_its_request() -> None:
    answers = [
        Line("assistant", "x", f"a{n}", parent=f"a{n + 1}") for n in range(3_000)
    ]
    last = Line("assistant", "x", "a3000", parent="m1")
    parts = apart(OPENAI, [u("m1"), u("m2"), *answers, last])
    assert len(belonging(parts)["m1"]) == 3_002


def test_requests_without_ids_are_turns_of_their_own(host: Format) -> None:
    parts = apart(host, [u(None), a("x"), u(None), a("y")])
    assert parts.keys == (None, None)
    assert list(parts.homes) == [0, 0, 1, 1]


def test_a_second_message_with_one_id_is_a_copy(host: Format) -> None:
    lines = [u("m1"), a("half"), u("m2"), a("x"), u("m1"), a("whole")]
    parts = apart(host, lines)
    assert belonging(parts) == {"m1": (0, 1, 5), "m2": (2, 3)}
    assert parts.homes[4] == COPY


def test_one_id_with_two_contents_is_refused(host: Format) -> None:
    with pytest.raises(KeyReused) as refused:
        apart(host, [u("m1"), u("m2"), u("m1", "something else")])
    assert refused.value.evidence == {"key": "m1", "indices": (0, 2)}


def test_the_same_id_in_an_answer_is_no_copy(host: Format) -> None:
    parts = apart(host, [u("m1"), Line("assistant", "done", "m1")])
    assert belonging(parts) == {"m1": (0, 1)}


def test_an_empty_list_has_no_turns(host: Format) -> None:
    parts = split([], host.reader)
    assert (parts.requests, parts.homes) == ((), [])


class Odd(OpenAIReader):
    """A reader that is wrong about a role."""

    def __init__(self, says: Any) -> None:  # noqa: ANN401  a role, or nonsense
        super().__init__()
        self._says = says

    def role(self, message: Message) -> Role:
        says: Role = self._says
        return says if message["content"] == "odd" else super().role(message)


@pytest.mark.parametrize(
    ("says", "why"), [("robot", "which is no role"), ("tool", "finds no result")]
)
def test_a_reader_that_is_wrong_loses_no_message(says: str, why: str) -> None:
    messages = OPENAI.make([u("m1"), u("m2", "odd")])
    with pytest.raises(InvalidInput, match=why) as refused:
        split(messages, Odd(says))
    assert refused.value.evidence["index"] == 1


WORKED_ON = {"admitted": 2, "started": 3}
DONE: dict[str, object] = {**WORKED_ON, "settled": 4, "outcome": "completed"}
WAITS = {"accepted": 5, "admitted": 5}


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@pytest.mark.parametrize("later", [WAITS, {"stripped": 6}, None])
def test_nothing_hangs_on_what_nobody_started_while_one_is_at_work(
    name: str, later: dict[str, int] | None
) -> None:
    host = FORMATS[name]
    lines = [u("m1"), a("", "c1"), u("m2"), t("c1"), a("", "c2"), t("c2")]
    known = {"m1": WORKED_ON} if later is None else {"m1": WORKED_ON, "m2": later}
    parts = split(host.make(lines), host.reader, journal(known))
    assert belonging(parts) == {"m1": (0, 1, 3, 4, 5), "m2": (2,)}
    assert not parts.requests[1].answered


def test_what_was_done_besides_keeps_its_answers() -> None:
    lines = [u("m1"), u("m2"), a("two"), u("m3"), a("more of two")]
    known: dict[str, Any] = {"m1": WORKED_ON, "m2": DONE, "m3": WAITS}
    parts = split(OPENAI.make(lines), OPENAI.reader, journal(known))
    assert belonging(parts) == {"m1": (0,), "m2": (1, 2, 4), "m3": (3,)}


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"m1": DONE, "m2": WORKED_ON},
        {"m1": WORKED_ON, "m2": WORKED_ON},
        {"m1": WORKED_ON, "m2": DONE},
        {"m1": DONE, "m2": WAITS},
        {"m1": WAITS, "m2": WAITS},
    ],
)
def test_else_an_answer_hangs_on_the_last_request(
    known: dict[str, dict[str, object]],
) -> None:
    lines = [u("m1"), a("", "c1"), u("m2"), t("c1"), a("done")]
    parts = split(OPENAI.make(lines), OPENAI.reader, journal(known))
    assert belonging(parts) == {"m1": (0, 1, 3), "m2": (2, 4)}
