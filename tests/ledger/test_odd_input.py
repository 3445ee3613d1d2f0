"""Values of classes that are not quite what they seem, and odd places and clocks.

A subclass of `str` or `int` is stored as the plain value, so that the same thing asked
with a plain one is the same thing; what has no plain value is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import pytest

from tenure import (
    Authority,
    Boundary,
    ChatExecutionKey,
    Evidence,
    First,
    Head,
    InvalidInput,
    Ledger,
    OwnerRef,
    StoreUnavailable,
    arguments_digest,
    open_ledger,
)
from worlds import World

S, CHILD = OwnerRef("session", "ses_1"), OwnerRef("subagent", "child_1")


class Text(str):
    """Text by another name, whose own words are others."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"

    def __repr__(self) -> str:
        return "Text()"


class Name(str, Enum):  # noqa: UP042  a StrEnum would say its value
    """An enumeration of texts."""

    HUMAN = "human"


class Number(IntEnum):
    """An enumeration of numbers."""

    ONE = 1


class Float(float):
    """A number with other words."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "0"


class Two(dict[str, int]):
    """A mapping that says one thing when asked for its items."""

    def items(self) -> Any:  # noqa: ANN401
        return [("a", 1)]


def tell(ledger: Ledger, text: Callable[[str], Any]) -> None:
    """The same story in words of one class, each call under a command id."""
    owner = OwnerRef(text("session"), text("ses_1"))
    child = OwnerRef(text("subagent"), text("child_1"))
    host, c = text("host"), iter(map(text, "abcdefghijklmnopqrst"))
    first = First(text("m1"), text("human"), text("ann"), text("d1"))
    one = ledger.claim(owner, text("t1"), host, first=first, command_id=next(c))
    ledger.accept(owner, text("m2"), host, text("ann"), text("d2"), command_id=next(c))
    admit, key = text("assistant_run"), text("m3")
    ledger.admit(one, key, admit, text("ann"), text("d3"), command_id=next(c))
    ledger.start(one, text("m1"), command_id=next(c))
    ledger.start(one, key, text("m1"), command_id=next(c))
    call = (text("m1"), text("c1"))
    ledger.begin_tool_call(one, *call, text("mail"), {}, command_id=next(c))
    ledger.complete_tool_call(one, call, text("sent"), command_id=next(c))
    grants = [text("read")]
    ledger.spawn(
        one, child, text("k/1"), grants=grants, author=host, command_id=next(c)
    )
    moved = ledger.advance(one, text("migration"), text("t1"), command_id=next(c))
    ledger.settle(moved, text("m1"), text("completed"), command_id=next(c))
    ledger.history_rewritten(moved, 1, text("m1"), text("m1"), command_id=next(c))
    handover, end = text("Next: B."), Boundary(text("m1"), Number.ONE)
    ledger.retire(moved, text("continue"), handover, end, command_id=next(c))
    two = ledger.succeed(owner, text("t2"), host, command_id=next(c))
    assert type(two.owner.owner_id) is type(two.agent_id) is str


def test_a_subclass_of_text_is_stored_as_the_plain_text(world: World) -> None:
    tell(world.ledger, Text)
    story, head = world.story(), world.ledger.head()
    # Each command is found again under its id, by its digest: it was the same.
    tell(world.ledger, str)
    assert world.ledger.head() == head
    gone = Evidence.gone(world.ledger.owner(S), Text("seen"))
    world.ledger.take_over(S, Text("t3"), Text("host"), gone)
    assert world.ledger.verify().ok
    assert "another text" not in "".join(story)
    cold = world.open()
    state = cold.execution(ChatExecutionKey("ses_1", "m1"))
    assert state is not None
    assert (state.key, state.outcome) == ("m1", "completed")
    assert cold.owner(S).agent_id == "t3"


def test_the_values_hold_plain_text_and_numbers() -> None:
    origin: Any = Name.HUMAN
    first = First(Text("m1"), origin)
    held = [
        OwnerRef(Text("session"), Text("x")).owner_id,
        OwnerRef(Text("session"), Text("x")).recovery_class,
        first.message_id,
        first.origin,
        ChatExecutionKey(Text("a"), Text("b")).session_id,
        Authority(S, Number.ONE, Text("e"), Text("a")).agent_id,
        Authority(S, Number.ONE, Text("e"), Text("a")).incarnation,
        Evidence("gone", Text("e"), Number.ONE, Text("d")).detail,
        Boundary(Text("m"), Number.ONE).message_id,
        Head(1, 1, Text("0" * 64)).digest,
    ]
    assert [type(one) for one in held] == [str] * len(held)
    assert first == First("m1", "human")
    assert type(Authority(S, Number.ONE, "e").generation) is int
    assert type(Boundary("m", Number.ONE).index) is int


def test_an_authority_of_odd_values_travels(world: World) -> None:
    one = world.ledger.claim(OwnerRef("session", Text("ses_1")), "t1", "host")
    odd = Authority(S, Number.ONE, Text(one.incarnation), Text("t1"))
    assert Authority.from_json(odd.to_json()) == odd == one
    world.ledger.check(odd)


def test_odd_values_in_a_body_are_stored_equal_or_refused() -> None:
    odd = {Text("a"): [Number.ONE, Float(1.5), Name.HUMAN, Text("t"), True, None]}
    plain = {"a": [1, 1.5, "human", "t", True, None]}
    assert arguments_digest(odd) == arguments_digest(plain)
    with pytest.raises(InvalidInput, match="convert it"):
        arguments_digest([Two(b=2)])


SAYS: list[tuple[Any, str]] = [
    ({"a": (1,)}, "arguments.a is a tuple, .*: use a list"),
    ([{1}], r"arguments\[0\] is a set, .*: use a list"),
    (b"x", "arguments is a bytes, .*: use text"),
    (object(), "arguments is an object, "),
    ({1: 2}, "arguments has a key that is an int, not text"),
]


@pytest.mark.parametrize(("value", "says"), SAYS)
def test_a_refused_body_says_what_to_use(value: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        arguments_digest(value)


OWNER = '"owner": {"recovery_class": "session", "owner_id": "s"}'
JSON: list[tuple[Any, str, str]] = [
    (Authority, "{}", "lacks owner, generation, incarnation"),
    (Authority, f"{{{OWNER}}}", "lacks generation, incarnation"),
    (Authority, '{"owner": {}, "generation": 1, "incarnation": "e"}', "lacks recovery"),
    (Authority, '{"owner": 5, "generation": 1, "incarnation": "e"}', "not an int"),
    (Authority, "[]", "not a list"),
    (Authority, f'{{{OWNER}, "generation": 1, "incarnation": "e", "x": 1}}', "'x'"),
    (Head, "{}", "lacks position, count, digest"),
    (Head, "null", "not a NoneType"),
]


@pytest.mark.parametrize(("kind", "text", "says"), JSON)
def test_json_that_lacks_a_field_says_which(
    kind: type[Authority | Head], text: str, says: str
) -> None:
    with pytest.raises(InvalidInput, match=says):
        kind.from_json(text)


@pytest.mark.parametrize("path", ["\ud800.db", "folder\udbff/x.db", "\ud800"])
def test_a_path_that_no_file_can_have_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        open_ledger(f"sqlite:///{path}")


@pytest.mark.parametrize(
    "name",
    ["x" * 5000, "x" * 300, "y" * 250, "x/" * 2500 + "x", "a" * 200 + "/x" * 200],
)
def test_a_path_that_is_too_long_says_so(tmp_path: Path, name: str) -> None:
    with open_ledger(f"sqlite:///{tmp_path}/{name}") as ledger:
        uses: list[Callable[[], object]] = [
            ledger.setup,
            ledger.head,
            lambda: ledger.owner(S),
            lambda: ledger.accept(S, "m1", "inbox"),
        ]
        for use in uses:
            with pytest.raises(StoreUnavailable, match="too long") as fault:
                use()
            assert len(str(fault.value)) < 1500
    # Where only the files beside it are too long, SQLite leaves an empty one.
    assert [path for path in tmp_path.iterdir() if path.stat().st_size] == []


def test_a_path_as_long_as_the_message_says_is_taken(tmp_path: Path) -> None:
    folder = tmp_path
    while len(str(folder)) < 260:
        folder /= "f" * 100
    folder.mkdir(parents=True)
    path = folder / ("n" * min(240, 500 - len(str(folder)) - 1))
    with open_ledger(f"sqlite:///{path}") as ledger:
        assert ledger.accept(S, "m1", "inbox") == 1


def test_a_file_whose_name_is_no_utf_8_is_opened(tmp_path: Path) -> None:
    with open_ledger(f"sqlite:///{tmp_path}/%FF.db") as ledger:
        ledger.accept(S, "m1", "inbox")
    assert b"\xff.db" in {os.fsencode(path.name) for path in tmp_path.iterdir()}


CLOCKS: list[Any] = [
    None,
    5,
    10**5000,
    "2026-01-01T00:00:00Z",
    object(),
    datetime(2026, 1, 1),  # noqa: DTZ001  the missing zone is what is wrong
    datetime.max.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC) - timedelta(days=3660),
    datetime.min.replace(tzinfo=UTC),
]


@pytest.mark.parametrize("now", CLOCKS, ids=lambda now: type(now).__name__)
def test_a_clock_that_tells_no_time_is_refused_and_nothing_is_written(
    tmp_path: Path,
    now: Any,  # noqa: ANN401  no clock returns these
) -> None:
    url = f"sqlite:///{tmp_path}/relay.db"
    with open_ledger(url, clock=lambda: now) as ledger:
        for lease in (None, 60.0, 10 * 366 * 86400.0):
            with pytest.raises(InvalidInput, match="clock"):
                ledger.claim(S, "t1", "host", lease_seconds=lease)
        assert ledger.head().count == 0


def test_the_latest_clock_that_is_taken_has_room_for_the_longest_lease(
    tmp_path: Path,
) -> None:
    now = datetime(9899, 12, 31, 23, 59, 59, tzinfo=UTC)
    with open_ledger(f"sqlite:///{tmp_path}/relay.db", clock=lambda: now) as ledger:
        longest = 10 * 366 * 86400.0
        one = ledger.claim(S, "t1", "host", lease_seconds=longest)
        asked = ledger.request_approval(one, "c1", "mail", "d", "p", timeout=longest)
        assert asked.expires_at == now + timedelta(seconds=longest)
