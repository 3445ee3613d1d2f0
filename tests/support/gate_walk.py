"""A walk through a session's life with its gate, and what must hold at every call.

After each projection: its verdicts are those of `gate_reference`, the view holds what
they allow and nothing else, and the log has each strip and each final answer once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from driving_words import Chooser
from gate_reference import Log, Request, right_acting, right_verdicts
from gates import CODES, Gate, Message, S, asks, result, said, user
from tenure import (
    Authority,
    Evidence,
    First,
    GuardRejected,
    Interrupted,
    InvalidInput,
    JournalSnapshot,
    NothingToSay,
    Refused,
    RelayGateFailure,
    View,
    is_admitted_successor_request,
)
from tenure_ledger import events as e
from tenure_ledger.decisions.executions import HostOutcome
from tenure_ledger.values import Origin, ReplayReason
from worlds import World

__all__ = ["ANSWERS", "STEPS", "GateWalk"]

KEYS = 10
"""How many keys are in use at one time; each new term brings two new ones."""
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
ANSWERS: Mapping[str, object] = {
    "interrupted": Interrupted(),
    **{code: GuardRejected(code) for code in CODES},
    "an unknown code": GuardRejected("managed"),
    "an exception": OSError("managed_session"),
    "another type": "managed_session",
}
PASSING = {"current", "successor", "history"}


class GateWalk:
    """One session, its authorities, its list, and what was seen on the way."""

    def __init__(self, world: World, seen: Counter[str]) -> None:
        self.world = world
        self.ledger = world.ledger
        self.seen = seen
        self.held: list[Authority] = []
        self.agents = 0
        self.rewrites = 0
        self.terms = 0
        self.told: list[object] = []
        """Every verdict with its evidence, to compare with another store's."""
        self.successors: set[tuple[int, str]] = set()
        self.strips: dict[str, str] = {}

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys in use."""
        return tuple(
            f"k{number}" for number in range(self.terms * 2, self.terms * 2 + KEYS)
        )

    def mine(self, choose: Chooser) -> Authority:
        """Mostly the authority that was given last."""
        if not self.held:
            return Authority(S, 1, "never given", None)
        return choose((*self.held, *[self.held[-1]] * 9))

    def given(self, authority: Authority) -> None:
        """Keep it, longer than is wise."""
        self.held = [*self.held[-2:], authority]

    def agent(self) -> str:
        self.agents += 1
        return f"manager/{self.agents}"

    def step(self, choose: Chooser) -> None:
        """Do one thing; a refusal is a normal answer."""
        act = choose(STEPS)
        try:
            act(self, choose)
        except Refused as refused:
            self.seen[f"{act.__name__}: {refused.code}"] += 1

    def project(self, choose: Chooser) -> None:
        """Call the gate, and hold the answer against the reference."""
        how = choose(("apply", "apply", "apply", "no record", "no authority", "side"))
        policy = choose(("admit", "admit", "hold", "refuse"))
        missing = choose(("strip", "refuse"))
        name = choose(tuple(ANSWERS))
        gate = Gate(
            self.ledger,
            ANSWERS[name],
            unadmitted_human=policy,
            missing_id=missing,
            history=choose(("auto", "keep", "handover")),
            record_verdicts=choose((False, False, True)),
        )
        messages, requests = a_list(self.keys, choose)
        instruction = [user(None, "the host's own")] if how == "side" else []
        authority = None if how == "no authority" else self.mine(choose)
        acting = choose((None, None, *self.keys))
        before = len(self.ledger.history(S))
        failed = False
        view: View | None = None
        try:
            view = gate.apply(
                [*messages, *instruction],
                authority,
                acting=acting,
                side=how == "side",
                record=how != "no record",
            )
        except NothingToSay as nothing:
            self.seen["nothing to say"] += 1
            view = nothing.view
            self._nothing(nothing, view)
        except RelayGateFailure:
            failed = True
            self.seen["relay gate failure"] += 1
        except InvalidInput:
            assert missing == "refuse"
            assert any(one.key is None for one in requests)
            self.seen["missing id refused"] += 1
        finally:
            # Also where the caller was fenced out, which leaves nothing behind.
            self._log(before, writes=how not in {"side", "no record"})
        self._guard(gate, name, failed=failed)
        if view is not None:
            place = right_place(acting, requests)
            self._view(view, messages, requests, place, side=how == "side")
            self.seen.update(verdict.name for verdict in view.verdicts)
            self.seen[f"people: {policy}"] += "unadmitted_human" in {
                verdict.name for verdict in view.verdicts
            }

    def _nothing(self, nothing: NothingToSay, view: View | None) -> None:
        assert view is not None
        key = view.acting
        assert (nothing.verdict.key if nothing.verdict else None) == key

    def _view(
        self,
        view: View,
        messages: Sequence[Message],
        requests: Sequence[Request],
        acting: int | Literal["default"] | None,
        *,
        side: bool,
    ) -> None:
        """Hold the verdicts and the messages of one view."""
        version = view.verdicts[0].journal.version if view.verdicts else 0
        log = Log(self.ledger.history(S)[:version])
        if side:
            at: int | None = None
        elif acting == "default":
            at = right_acting(log, requests)
        else:
            at = acting
        names = [verdict.name for verdict in view.verdicts]
        assert names == right_verdicts(log, requests, at), (names, requests, at)
        assert [verdict.key for verdict in view.verdicts] == [
            request.key for request in requests
        ]
        shown = {
            str(message.get("id"))
            for message in view.messages
            if message.get("role") == "user" and message.get("id")
        }
        passing = {one.key for one in view.verdicts if one.name in PASSING}
        assert shown <= passing, (shown, passing)
        calls: set[str] = set()
        for message in view.messages:
            calls |= {call["id"] for call in message.get("tool_calls") or ()}
            if message["role"] == "tool":
                assert message["tool_call_id"] in calls, "a result without its call"
        answered = {one["tool_call_id"] for one in messages if one["role"] == "tool"}
        there = {one["tool_call_id"] for one in view.messages if one["role"] == "tool"}
        assert calls & answered == there, "a call without its result"
        for verdict in view.verdicts:
            assert verdict.explain()
            self.told.append((verdict.name, verdict.key, dict(verdict.evidence)))
            if verdict.key in self.strips:
                assert verdict.name == self.strips[verdict.key]
                self.seen["a strip on record"] += 1
        self.told.append([str(message["content"]) for message in view.messages])
        self.seen["notices"] += bool(view.notices)
        self.seen["hand-over"] += any(
            str(message["content"]).startswith("Handed over")
            for message in view.messages
        )

    def _log(self, before: int, *, writes: bool) -> None:
        """Hold what the call wrote, and what no call ever changes."""
        history = self.ledger.history(S)
        new = history[before:]
        assert writes or not new, "a call that writes nothing wrote"
        for one in new:
            if isinstance(one.event, e.StaleRequestStripped):
                log = Log(history[: one.version - 1])
                key = one.event.key
                assert key not in self.strips, "stripped twice"
                assert log.live
                assert not log.running(key)
                known = log.known.get(key)
                assert known is None or not (known.accepted or known.started)
                self.strips[key] = one.event.verdict
        journal = JournalSnapshot.of(self.ledger.fresh_state(S))
        for cut, key in self.successors:
            assert is_admitted_successor_request(cut, key, journal)
        self.successors |= {
            (cut, key)
            for cut in (0, *journal.cuts)
            for key in self.keys
            if is_admitted_successor_request(cut, key, journal)
        }

    def _guard(self, gate: Gate, name: str, *, failed: bool) -> None:
        """Hold that each clean-up ends once, by the five codes or by a stop."""
        answers = [
            one.event
            for one in self.ledger.history(S)
            if isinstance(one.event, e.InterruptSettled)
        ]
        ids = [one.interrupt_id for one in answers]
        assert len(ids) == len(set(ids)), "settled twice"
        assert {one.outcome for one in answers} <= {"interrupted", *CODES}
        if gate.host.asked:
            self.seen[f"guard: {name}"] += 1
            tolerated = name == "interrupted" or name in CODES
            assert failed != tolerated, (failed, name)
            live = {one.live.incarnation for one in gate.host.asked}
            assert live == {self.ledger.owner(S).incarnation}
            for one in gate.host.asked:
                assert one.key.physical_user_message_id in self.strips
                assert one.ended is None or one.ended.incarnation not in live
            settled = {one.interrupt_id for one in gate.host.asked} <= set(ids)
            assert settled == tolerated
        else:
            assert not failed


def right_place(
    acting: str | None, requests: Sequence[Request]
) -> int | Literal["default"] | None:
    """Where the named request stands; ``default`` where none is named."""
    if acting is None:
        return "default"
    keys = [request.key for request in requests]
    return keys.index(acting) if acting in keys else None


def by_a_person(key: str | None) -> bool:
    """Every third message is vouched for, in every list."""
    return key is not None and int(key[1:]) % 3 == 1


def a_list(keys: Sequence[str], choose: Chooser) -> tuple[list[Message], list[Request]]:
    """A host's list: some keys in some order, some of them twice, some answered."""
    messages: list[Message] = []
    requests: list[Request] = []
    calls = 0
    if choose((True, False)):
        messages.append({"role": "system", "content": "be good"})
    for _ in range(choose((1, 2, 3, 4, 5, 6, 7, 8))):
        key = choose((*keys, *keys, None))
        known = [one.key for one in requests]
        if key is not None and key in known:
            messages.append(user(key, human=by_a_person(key)))
        else:
            human = by_a_person(key)
            messages.append(user(key, human=human))
            requests.append(Request(key, answered=False, human=human))
        if choose((False, False, True)):
            calls += 1
            parent = key or ""
            answer: Message = asks(f"c{calls}") if choose((0, 1)) else said("so far")
            if parent:
                # An answer that names its request hangs on it, wherever it stands.
                messages.append({**answer, "parent_id": parent})
                place = [one.key for one in requests].index(key)
                requests[place] = requests[place]._replace(answered=True)
                if answer.get("tool_calls") and choose((0, 1)):
                    messages.append(result(f"c{calls}"))
    return messages, requests


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
