"""S26 and its kind: a bad value is InvalidInput before anything is written.

Every parameter of every public method is given every value that it must not take, on
every store. The table names what each parameter takes; a parameter that it does not
know is an error here, so a new one cannot be forgotten.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from following import Counts
from tenure import (
    ChatExecutionKey,
    Evidence,
    First,
    InvalidInput,
    Ledger,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    arguments_digest,
)
from tenure_ledger.decisions.recovering.command import Answers
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import RestartPayload
from worlds import World

S = OwnerRef("session", "ses_1")
CHILD = OwnerRef("subagent", "child_1")
HUGE = 10**5000


class Nowhere(tzinfo):
    """A time zone that does not know its offset."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        """Return nothing."""
        del dt
        return None

    def dst(self, dt: datetime | None) -> timedelta | None:
        """Return nothing."""
        del dt
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        """Return nothing."""
        del dt
        return None


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


def cyclic() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


# What no parameter takes but those of any JSON (``json``), or a flag, or a number.
THINGS: list[Any] = [object(), b"bytes", 1.5, {1: 2}, {"a"}, Ledger, ("a",), 10**400]
NUMBERS: list[Any] = [float("nan"), float("inf"), float("-inf"), -1, HUGE, -HUGE]
TEXTS: list[Any] = ["a\0b", "\0", "\ud83d", "a\udc00b"]
IDS: list[Any] = [*THINGS, *NUMBERS, *TEXTS, 7, True, "", "x" * 257, "\U0001f600" * 201]
NAMES: list[Any] = [*IDS, None, "UPPER", "a b", "x" * 65, "\u00e9", "a\n", "a:b"]
CHOICES: list[Any] = [*THINGS, *NUMBERS, *TEXTS, None, 7, True, "", "forced", "other"]
INTEGERS: list[Any] = [*THINGS, *NUMBERS, *TEXTS, "1", True, 2**63, -(2**63) - 1, []]
SECONDS: list[Any] = [x for x in THINGS if x != 1.5] + [*NUMBERS, "1", True, 2**63]
ONE_OF: list[Any] = [*THINGS, *NUMBERS, *TEXTS, "x", 7, True, S.owner_id, []]
SEVERAL: list[Any] = [
    *[thing for thing in THINGS if thing not in ({"a"}, ("a",))],
    *NUMBERS,
    *TEXTS,
    *[[bad] for bad in IDS],
    "m1",
    b"",
    True,
    [None],
    ["m1", ["m1"]],
    map(str, count()),
]
STRIPS: list[Any] = [
    *ONE_OF,
    None,
    (),
    ("m9", "stale_unadmitted"),
    ("m9", "stale_unadmitted", 1, 1),
    *[(bad, "stale_unadmitted", 1) for bad in IDS],
    *[("m9", bad, 1) for bad in [*CHOICES, "current"]],
    *[("m9", "stale_unadmitted", bad) for bad in [*INTEGERS, None]],
    # No term of this session has ended: nothing is left over.
    ("m9", "stale_unadmitted", 1),
    ("m9", "stale_unadmitted", 0),
]
JSON: list[Any] = [
    object(),
    b"bytes",
    ("a",),
    {"a"},
    {1: 2},
    {None: 1},
    {"a\ud83d": 1},
    {"a": [1, {"b": float("nan")}]},
    [float("inf")],
    -float("inf"),
    "\ud83d",
    ["a", "\udc00"],
    HUGE,
    {"a": -HUGE},
    Decimal(1),
    datetime(2026, 1, 1, tzinfo=UTC),
    nested(201),
    nested(5000),
    cyclic(),
    1j,
]
MOMENTS: list[Any] = [
    *THINGS,
    *NUMBERS,
    "2026-01-01T00:00:00Z",
    datetime(2026, 1, 1),  # noqa: DTZ001  the missing zone is what is wrong
    datetime(2026, 1, 1, tzinfo=Nowhere()),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=12))),
]

NO_STATE: list[Any] = [*ONE_OF, None, State("agent:a"), OwnerRef("session", "x")]

TAKES: dict[str, list[Any]] = {
    "owner": [*ONE_OF, None],
    "owner or nothing": ONE_OF,
    "authority": [*ONE_OF, None, S],
    "id": [*IDS, None],
    "id or nothing": IDS,
    "name": NAMES,
    "status": [*THINGS, *NUMBERS, *TEXTS, None, 7, "x" * 100_001],
    "flag": [*THINGS, *NUMBERS, *TEXTS, None, 0, 1, "yes", "", []],
    "choice": CHOICES,
    "integer": [*INTEGERS, None],
    "integer or nothing": INTEGERS,
    "seconds": SECONDS,
    "ids": [*SEVERAL, None],
    "ids or nothing": SEVERAL,
    "json": JSON,
    "text or nothing": [*THINGS, *NUMBERS, 7, True, "\ud83d", ["a"]],
    "evidence": ONE_OF,
    "first": ONE_OF,
    "boundary": [*THINGS, *NUMBERS, *TEXTS, 7, True, "", "x" * 257],
    "payload": [*ONE_OF, None, RestartPayload(), {"submission_key": "m1"}],
    "moment": MOMENTS,
    "key": [*ONE_OF, None, ("ses_1", "m1")],
    "call": [*THINGS, *NUMBERS, *TEXTS, None, 7, "xyz", (), ("m1",), ("m1", 5)],
    "key or call": [*IDS, None, ("m1",), ("m1", None), ("m1", "c1", "x"), (1, 2)],
    "head": [*ONE_OF, (0, 0, ""), {"position": 0}],
    "place": [*INTEGERS, None, *[one for one in MOMENTS if one is not None]],
    "table": [*THINGS, *NUMBERS, 7, "", "nowhere", "stored_events"],
    "one table": [*THINGS, *NUMBERS, None, 7, "", "nowhere", "stored_events"],
    "progress": [*[one for one in THINGS if one is not Ledger], 7, "show it"],
    "stop": [*THINGS, *NUMBERS, 7, "now"],
    "model": [*ONE_OF, None],
    "budget": [one for one in SECONDS if one is not None],
    "strips": [*ONE_OF, None, *[[bad] for bad in STRIPS], iter(STRIPS)],
    "verdicts": [
        *[thing for thing in ONE_OF if thing],
        None,
        {},
        *[{"m1": bad} for bad in NAMES],
        *[{bad: "current"} for bad in TEXTS],
    ],
    "seen": NO_STATE,
    "needed evidence": [*ONE_OF, None],
    "answers": [*ONE_OF, None],
}

PARAMETERS: dict[str, str] = {
    "seen": "seen",
    "answers": "answers",
    "instead": "instead",
    "owner": "owner",
    "child": "owner",
    "ref": "owner",
    "authority": "authority",
    "authority_or_owner": "owner",
    "agent_id": "id or nothing",
    "author": "id",
    "message_id": "id",
    "call_id": "id",
    "tool": "id",
    "arguments_digest": "id",
    "policy_version": "id",
    "request_id": "id",
    "interrupt_id": "id",
    "sender": "id or nothing",
    "digest": "id or nothing",
    "into": "id or nothing",
    "approval": "id or nothing",
    "prompt_floor": "id or nothing",
    "checkpoint_seq": "id or nothing",
    "command_id": "id or nothing",
    "recovery_class": "name",
    "event_type": "name",
    "status": "status",
    "human": "flag",
    "override": "flag",
    "dry_run": "flag",
    "origin": "choice",
    "outcome": "choice",
    "decision": "choice",
    "reason": "choice",
    "keep": "integer",
    "above": "integer or nothing",
    "version": "integer",
    "after": "integer",
    "history_rewrite_generation": "integer",
    "revision": "integer or nothing",
    "timeout": "seconds",
    "lease_seconds": "seconds",
    "grants": "ids",
    "absorbed": "ids",
    "finishes": "ids",
    "keys": "ids or nothing",
    "arguments": "json",
    "result": "json",
    "state": "json",
    "execution_config": "json",
    "handover": "text or nothing",
    "evidence": "evidence",
    "first": "first",
    "boundary": "boundary",
    "payload": "payload",
    "strips": "strips",
    "verdicts": "verdicts",
    "until": "moment",
    "key": "key",
    "call": "call",
    "key_or_call": "key or call",
    "at": "place",
    "a": "place",
    "b": "place",
    "table": "table",
    "check": "flag",
    "progress": "progress",
    "stop": "stop",
    "model": "model",
    "events_max": "integer",
    "seconds_max": "budget",
    "since": "head",
    "against": "head",
}
ELSEWHERE: dict[str, str] = {
    "settle_recovery.evidence": "needed evidence",
    "reap_owner.evidence": "needed evidence",
    # The same name takes something else here.
    "claim.agent_id": "id",
    "succeed.agent_id": "id",
    "settle_interrupt.outcome": "id",
    "clear_checkpoint.reason": "id",
    "begin_tool_call.policy_version": "id or nothing",
    "body.digest": "id",
    "revoke.grants": "ids or nothing",
    "rows.table": "one table",
    "rows.owner": "owner or nothing",
    "diff.owner": "owner or nothing",
}

METHODS = sorted(
    name
    for name, _ in inspect.getmembers(Ledger, inspect.isfunction)
    if not name.startswith("_")
)
NO_PARAMETERS = {"setup", "close", "now", "unfinished"}


def given(world: World) -> Mapping[str, Any]:
    """A live term in which every method finds what it needs."""
    ledger = world.ledger
    one = ledger.claim(S, "t1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    ledger.spawn(one, CHILD, "c/1", grants=["read"], author="host")
    call = ledger.begin_tool_call(one, "m1", "c1", "shell", {})
    request = ledger.request_approval(one, "c2", "shell", arguments_digest({}), "p1")
    return {
        "owner": S,
        "child": CHILD,
        "ref": S,
        "authority": one,
        "authority_or_owner": one,
        "strips": [("m9", "stale_unadmitted", 1)],
        "verdicts": {"m1": "current"},
        "version": ledger.owner(S).version,
        "agent_id": "t2",
        "author": "host",
        "message_id": "m1",
        "call_id": "c3",
        "tool": "shell",
        "arguments": {},
        "arguments_digest": arguments_digest({}),
        "policy_version": "p1",
        "request_id": request.request_id,
        "interrupt_id": "i1",
        "recovery_class": "session",
        "event_type": "done",
        "status": "done",
        "origin": "human",
        "outcome": "completed",
        "decision": "approved",
        "reason": "lease_renewal",
        "keep": 1,
        "history_rewrite_generation": 1,
        "grants": ["read"],
        "at": 1,
        "a": 1,
        "b": 2,
        "table": "recovery_owners",
        "model": Counts(),
        "payload": RuntimeRestartQueuedSubmission(submission_key="m1"),
        "key": ChatExecutionKey("ses_1", "m1"),
        "call": call,
        "key_or_call": "m1",
        "digest": "d1",
        "result": None,
        "evidence": Evidence.gone(ledger.owner(S)),
        "seen": ledger.fresh_state(S),
        "state": ledger.fresh_state(S),
        "answers": Answers(),
    }


def parameters(method: str) -> list[inspect.Parameter]:
    """The parameters of a public method, without self."""
    return list(inspect.signature(getattr(Ledger, method)).parameters.values())[1:]


CASES = [
    (method, parameter.name) for method in METHODS for parameter in parameters(method)
]


def test_every_public_method_is_under_test() -> None:
    assert {method for method, _ in CASES} == set(METHODS) - NO_PARAMETERS
    assert len(CASES) > 150


@pytest.mark.parametrize(("method", "parameter"), CASES)
def test_a_bad_value_is_invalid_input_and_writes_nothing(
    world: World, method: str, parameter: str
) -> None:
    good = given(world)
    kind = ELSEWHERE.get(f"{method}.{parameter}") or PARAMETERS[parameter]
    needed = {
        one.name: good[one.name]
        for one in parameters(method)
        if one.default is inspect.Parameter.empty or one.name == "evidence"
    }
    head = world.ledger.head()
    wrong: list[str] = []
    for number, bad in enumerate(TAKES[kind]):
        call: Callable[..., object] = getattr(world.ledger, method)
        what = f"{number}: a {type(bad).__name__}"
        try:
            call(**{**needed, parameter: bad})
        except InvalidInput as refused:
            if type(refused) is not InvalidInput or not refused.text:
                wrong.append(f"{what} says nothing")
        except BaseException as error:  # noqa: BLE001  what came is the finding
            wrong.append(f"{what} is {error!r:.150}")
        else:
            wrong.append(f"{what} is taken")
    assert wrong == []
    assert world.ledger.head() == head
