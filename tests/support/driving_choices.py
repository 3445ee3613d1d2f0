"""What the steps are called with: owners, agents, messages, authorities."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar, get_args

from driving import Drive
from driving_words import Chooser, Said
from reference import Message, Owner
from tenure import (
    Authority,
    First,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
)
from tenure_ledger.values import Origin, ReplayReason

__all__ = [
    "AGENTS",
    "ARGUMENTS",
    "BROWSER",
    "CHILDREN",
    "DIGESTS",
    "FOCUS",
    "GRANTS",
    "HELPER",
    "KEYS",
    "OLD",
    "ORIGINS",
    "OWNERS",
    "PAYLOADS",
    "REASONS",
    "anybody",
    "authority",
    "first",
    "free",
    "idle",
    "ids_of",
    "in_state",
    "inbox",
    "lease",
    "message",
    "said",
    "seldom",
    "some",
    "somebody",
    "somebodys_child",
]

T = TypeVar("T")

SESSION, OTHER, OLD = (OwnerRef("session", name) for name in ("s1", "s2", "old"))
HELPER, NESTED = OwnerRef("subagent", "h1"), OwnerRef("subagent", "h2")
BROWSER, TAB = OwnerRef("browser", "b1"), OwnerRef("browser", "t1")
OWNERS = (SESSION, OTHER, HELPER, NESTED, BROWSER, TAB, OLD)
CHILDREN = frozenset({HELPER, NESTED, BROWSER, TAB, OTHER})
FOCUS = (
    (SESSION,),
    (SESSION, SESSION, HELPER),
    (SESSION, SESSION, BROWSER),
    (SESSION, SESSION, HELPER, BROWSER, TAB),
    (SESSION, OTHER, OLD),
    (HELPER, NESTED, SESSION),
    OWNERS,
)
"""A walk has one of these: its steps ask mostly about these owners."""
AGENTS = ("a1", "a2", "a3", "a4", "a5")
KEYS = ("m1", "m2", "m3", "m4", "m5", "m6")
DIGESTS = (None, None, None, "d1", "d2")
ORIGINS: tuple[Origin, ...] = get_args(Origin)
REASONS: tuple[ReplayReason, ...] = get_args(ReplayReason)
GRANTS = ((), ("read",), ("read", "write"), ("write",))
PAYLOADS = (
    RuntimeRestartReactionLoopState(consecutive_batches=1),
    RuntimeRestartReactionLoopState(consecutive_batches=2),
    RuntimeRestartQueuedSubmission(submission_key="m1"),
)
ARGUMENTS = ({"path": "a"},) * 7 + ({"path": "b"},)


def anybody(drive: Drive, choose: Chooser) -> OwnerRef:
    """Choose an owner, seldom one that this walk is not about."""
    focus = FOCUS[drive.focus]
    return choose((*focus * (48 // len(focus)), *OWNERS))


def somebodys_child(drive: Drive, choose: Chooser) -> OwnerRef:
    """Choose an owner that may be spawned."""
    focus = [one for one in FOCUS[drive.focus] if one in CHILDREN]
    return choose((*focus * 8, HELPER, BROWSER))


def somebody(drive: Drive, choose: Chooser) -> Owner:
    """Choose an owner, mostly one that is held, and mostly a session."""
    owners = list(drive.reference.owners.values())
    live = [one for one in owners if one.status == "live"]
    known = [one for one in owners if one.written and one.status != "deleted"]
    any_one = drive.reference.at(anybody(drive, choose))
    return choose([*live * 12, *known, any_one])


def in_state(drive: Drive, choose: Chooser, *wanted: str) -> Owner:
    """Choose an owner, mostly one in one of these states."""
    owners = list(drive.reference.owners.values())
    found = [one for one in owners if one.status in wanted]
    return choose([*found * 6, somebody(drive, choose)])


def authority(drive: Drive, choose: Chooser) -> Authority:
    """Choose whose authority speaks: mostly a live one, or a zombie, or forged."""
    owners = drive.reference.owners
    held = {o.incarnation: o for o in owners.values() if o.status == "live"}
    live = [one for one in drive.authorities if one.incarnation in held]
    own = somebody(drive, choose)
    forged = Authority(own.ref, own.generation + 1, own.incarnation or "none", "a1")
    made_up = Authority(own.ref, max(own.generation, 1), "made up", "a1")
    old = drive.authorities[-8:]
    strange = choose((forged, made_up, *old * 3))
    one = choose(choose((live or [strange],) * 5 + ([strange],)))
    return choose((one, Authority.from_json(one.to_json())))


def some(choose: Chooser, options: Sequence[T]) -> tuple[T, ...]:
    """Choose up to two, none mostly."""
    number, second = choose((0, 0, 0, 1, 1, 2)), choose(options)
    return tuple(dict.fromkeys([choose(options), second]))[:number]


def message(own: Owner, choose: Chooser) -> str:
    """Choose a message, mostly one that the live term runs, else the first."""
    running = [m.key for m in own.messages.values() if own.running(m.key) and m.open]
    others = KEYS if running else KEYS[:1]
    found: str = choose([*running * 8, *others])
    return found


def free(drive: Drive, choose: Chooser) -> str:
    """Choose an agent, mostly one that holds nothing."""
    live = [o.agent for o in drive.reference.owners.values() if o.status == "live"]
    return choose([*[a for a in AGENTS if a not in live] * 4, *AGENTS])


def first(drive: Drive, own: Owner, choose: Chooser) -> First | None:
    """Choose a first request, or none."""
    del drive
    waiting = [m.key for m in own.waiting()]
    new = First(choose([*waiting, *KEYS]), choose(ORIGINS), digest=choose(DIGESTS))
    return choose((None, None, new))


def ids_of(messages: Sequence[Message]) -> list[str]:
    """Return the ids of the messages."""
    return [one.key for one in messages]


def inbox(drive: Drive, by: Authority) -> Collection[Message]:
    """Return the messages that the authority's owner knows."""
    return drive.reference.at(by.owner).messages.values()


def idle(choose: Chooser, options: Collection[object]) -> bool:
    """Say that there is nothing for this step to work on, and skip it mostly."""
    skipped = choose((True,) * 7 + (False,))
    return skipped and not options


def seldom(choose: Chooser) -> bool:
    """Say that a step which ends much is not made this time."""
    return choose((True, True, True, False))


def lease(choose: Chooser) -> float | None:
    """Choose a lease."""
    return choose((None, None, 60.0))


def said(method: str, *arguments: object, **options: object) -> Said:
    """Return the call."""
    return Said(method, arguments, options)
