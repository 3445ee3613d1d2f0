"""A walk through a session's life with its gate, and what must hold at every call.

After each projection: its verdicts are those of `gate_reference`, the view holds what
they allow and nothing else, and the log has each strip and each final answer once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from driving_words import Chooser
from gate_reference import Log, Request, right_acting, right_verdicts
from gate_walk_list import a_list
from gates import CODES, Gate, Message, S, user
from provider import complaint
from tenure import (
    Authority,
    GuardRejected,
    Interrupted,
    InvalidInput,
    JournalSnapshot,
    NothingToSay,
    RelayGateFailure,
    View,
    is_admitted_successor_request,
)
from tenure_ledger import events as e
from worlds import World

__all__ = ["ANSWERS", "GateWalk"]

KEYS = 10
"""How many keys are in use at one time; each new term brings two new ones."""
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
        if view.verdicts:
            assert view.acting == (None if at is None else requests[at].key)
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
        assert complaint(view.messages) is None
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
