"""What may happen in a session's life besides a call of the gate, and that call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from driving_words import Chooser
from gate_walk import GateWalk
from gate_walk_list import a_list, by_a_person
from gates import Gate, S
from tenure import (
    Evidence,
    First,
    NothingToSay,
    Refused,
    View,
)
from tenure_ledger.decisions.executions import HostOutcome
from tenure_ledger.values import Origin, ReplayReason

ORIGINS: tuple[Origin, ...] = (
    "human",
    "continue_relay",
    "human_successor_root",
    "assistant_run",
    "runtime_recovery",
    "tool_probe",
)


OUTCOMES: tuple[HostOutcome, ...] = ("completed", "completed", "failed", "cancelled")


CUTS: tuple[Literal["accepted", "continue"], ...] = ("accepted", "continue")


def _begin(walk: GateWalk, choose: Chooser) -> None:
    first = choose((None, *walk.keys))
    begins = None if first is None else First(first, choose(ORIGINS))
    way = walk.ledger.claim
    if walk.ledger.owner(S).status == "cut":
        way = walk.ledger.succeed
    walk.given(way(S, walk.agent(), "host", first=begins))
    walk.terms += 1


def _take_over(walk: GateWalk, choose: Chooser) -> None:
    view = walk.ledger.owner(S)
    agent = view.agent_id if choose((0, 1)) and view.agent_id else walk.agent()
    gone = Evidence.gone(view, "so it seems")
    walk.given(walk.ledger.take_over(S, agent, "host", gone))


def _renew(walk: GateWalk, choose: Chooser) -> None:
    mine = walk.mine(choose)
    walk.given(walk.ledger.advance(mine, "lease_renewal", lease_seconds=60))


def _accept(walk: GateWalk, choose: Chooser) -> None:
    key = choose(walk.keys)
    walk.ledger.accept(S, key, "inbox", human=by_a_person(key))


def _admit(walk: GateWalk, choose: Chooser) -> None:
    key = choose(walk.keys)
    absorbed = [one for one in walk.keys if one != key and choose((0,) * 12 + (1,))]
    walk.ledger.admit(walk.mine(choose), key, choose(ORIGINS), absorbed=absorbed)


def _start(walk: GateWalk, choose: Chooser) -> None:
    walk.ledger.start(walk.mine(choose), choose(walk.keys))


def _settle(walk: GateWalk, choose: Chooser) -> None:
    walk.ledger.settle(walk.mine(choose), choose(walk.keys), choose(OUTCOMES))


def _retire(walk: GateWalk, choose: Chooser) -> None:
    note = choose((None, "Done: A."))
    boundary = choose((None, None, None, *walk.keys[:3]))
    walk.ledger.retire(walk.mine(choose), choose(CUTS), note, boundary)
    if choose((0, 1, 1)):
        _begin(walk, choose)


def _cancel(walk: GateWalk, choose: Chooser) -> None:
    reasons: tuple[ReplayReason, ...] = ("user_cancelled", "context_reset")
    walk.ledger.bar_replay(S, choose(reasons), "Ana", [choose(walk.keys)])


def _terminate(walk: GateWalk, choose: Chooser) -> None:
    if choose((0, 0, 0, 1)):
        walk.ledger.terminate(walk.mine(choose), "closed", "Closed by the host.")


def _rewrite(walk: GateWalk, choose: Chooser) -> None:
    walk.rewrites += 1
    floor = choose((None, *walk.keys))
    walk.ledger.history_rewritten(walk.mine(choose), walk.rewrites, floor)


def _again(walk: GateWalk, choose: Chooser) -> None:
    """Ask the same twice: the second time nothing is written and the view is the same.

    And what the ledger knows has the same verdict in any arrangement of the list.
    """
    gate = Gate(walk.ledger, missing_id="strip")
    messages, _ = a_list(walk.keys, choose)
    mine = walk.mine(choose)
    key = choose([str(one["id"]) for one in messages if one.get("id")] or [None])
    first = _seen(lambda: gate.apply(messages, mine, acting=key))
    head = walk.ledger.head()
    again = _seen(lambda: gate.apply(messages, mine, acting=key))
    assert walk.ledger.head() == head
    assert again.messages == first.messages
    assert again.verdicts == first.verdicts
    walk.seen["the same again"] += 1
    if key is None:
        return
    bare = [one for one in messages if one["role"] == "user"]
    other = [one for one in bare if one.get("id") == key or choose((0, 1, 1))]
    for at in range(len(other)):
        to = choose(range(len(other)))
        other[at], other[to] = other[to], other[at]
    other += [choose(other)] if choose((0, 1)) else []
    here = _seen(lambda: gate.apply(bare, mine, acting=key, record=False))
    there = _seen(lambda: gate.apply(other, mine, acting=key, record=False))
    known = {one.key: one.name for one in here.verdicts if one.known}
    for verdict in there.verdicts:
        if verdict.known:
            assert known[verdict.key] == verdict.name
            walk.seen["the same elsewhere"] += 1


def _seen(apply: Callable[[], View]) -> View:
    view: View | None = None
    try:
        view = apply()
    except NothingToSay as nothing:
        view = nothing.view
    assert view is not None
    return view


Step = Callable[[GateWalk, Any], None]


STEPS: Sequence[Step] = (
    _begin,
    _begin,
    _begin,
    _take_over,
    _renew,
    _accept,
    _accept,
    _admit,
    _admit,
    _admit,
    _start,
    _settle,
    _retire,
    _retire,
    _cancel,
    _terminate,
    _rewrite,
    _again,
    GateWalk.project,
    GateWalk.project,
    GateWalk.project,
    GateWalk.project,
    GateWalk.project,
)


def step(walk: GateWalk, choose: Chooser) -> None:
    """Do one thing; a refusal is a normal answer."""
    act = choose(STEPS)
    try:
        act(walk, choose)
    except Refused as refused:
        walk.seen[f"{act.__name__}: {refused.code}"] += 1
