"""Drives a ledger step by step beside the reference, and holds the two together.

After every step: the outcome or the refusal is one that the reference allows, what was
appended is what it says, the log keeps the invariants, and all that is cached, folded
and shown agrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from driving_words import Asked, Chooser, Kept, Said, case_names
from log_invariants import LogChecker
from projected import mend, right_tables, stored_tables
from reference import Owner, Plan, Reference
from tenure import (
    Authority,
    ChatExecutionKey,
    Event,
    Execution,
    Ledger,
    OwnerRef,
    Recorded,
    Refused,
    ToolCall,
)
from tenure_ledger import events as e
from tenure_ledger.folds.stream import State, evolve, fold
from worlds import World

__all__ = ["Drive"]

T = TypeVar("T")

PROCESSES = ("p1", "p2")
COMMAND_IDS = ("k1", "k2", "k3")


class Drive:
    """One store, two processes on it, the reference, and what was seen on the way."""

    def __init__(self, world: World, seen: Counter[str] | None = None) -> None:
        self.world = world
        self.ledgers = [world.open(process) for process in PROCESSES]
        self.reference = Reference(world.now)
        self.focus = 0
        """What the walk is about: a number that the steps know."""
        self.log = LogChecker()
        self.folded: dict[str, State] = {}
        self.recorded: dict[str, list[Recorded]] = {}
        self.authorities: list[Authority] = []
        self.last: Asked | None = None
        self.kept: dict[tuple[str, str], Kept] = {}
        self.seen: Counter[str] = Counter() if seen is None else seen
        self.shapes: set[tuple[object, ...]] = set()
        self.script: list[str] = []
        self._latest = world.now

    def reopen(self) -> None:
        """Close both processes and start them again with nothing in memory."""
        for ledger in self.ledgers:
            ledger.close()
        self.ledgers = [self.world.open(process) for process in PROCESSES]

    def append(self, owner: OwnerRef, *events: Event) -> None:
        """Append what no command writes, and keep the tables right beside it."""
        self.world.append(owner, *events)
        mend(self.world.store(), owner.stream)

    def ask(self, choose: Chooser, plan: Plan, said: Said) -> object:
        """Call the ledger, hold the answer against the plan, check everything."""
        at = choose((0, 0, 0, 1))
        new_id = f"command {len(self.script)}"
        command_id = choose((None,) * 9 + (new_id, new_id, *COMMAND_IDS))
        first = said.arguments[0]
        owner = first.owner if isinstance(first, Authority) else first
        assert isinstance(owner, OwnerRef)
        kept = self.kept.get((owner.stream, command_id or ""))
        plan = self._remembered(plan, said, kept, PROCESSES[at])
        self.script.append(f"{PROCESSES[at]} {command_id} {said}")
        outcome, new = self._call(self.ledgers[at], said, command_id)
        if isinstance(outcome, Refused):
            assert outcome.code in plan.refused, (outcome, plan.refused)
            self.seen[f"{said.method}: {outcome.code}"] += 1
            assert bool(new) == bool(plan.writes), new
            if new:
                kinds = [type(one.event) for one in new]
                assert kinds == [e.LateResult, e.NoticeIssued]
                assert outcome.evidence["late"] == new[0].version
                self.seen[f"late: {said.method}: {outcome.code}"] += 1
        else:
            assert not plan.refused, (outcome, plan.refused)
            assert plan.writes is None or bool(new) == plan.writes, new
            assert plan.same in {0, outcome}, (plan.same, outcome)
            self.seen[f"{said.method}: {'wrote' if new else 'nothing new'}"] += 1
            if isinstance(outcome, ToolCall):
                fresh = said.method == "begin_tool_call" and bool(new)
                assert (outcome.state == "fresh") == fresh, outcome
                self.seen[f"call {outcome.state}"] += 1
            if isinstance(outcome, Authority) and new:
                self.authorities.append(outcome)
            if command_id is not None and kept is None:
                key = (owner.stream, command_id)
                self.kept[key] = Kept(said, outcome, PROCESSES[at])
        self.reference.unfinished.clear()
        if not isinstance(outcome, Refused) or new:
            plan.then(outcome)
        self.check(new, owner)
        self._unfinished(new)
        self.last = Asked(said, at, command_id, outcome)
        return outcome

    def again(self, choose: Chooser) -> None:
        """Say the last thing again: it adds nothing, and no refusal turns into a yes.

        Only a renewal, a migration and a snapshot without revision ask for one more.
        """
        if self.last is None:
            return
        said, at, command_id, before = self.last
        more = said.method == "advance" or (
            said.method == "save_checkpoint" and said.options["revision"] is None
        )
        if more and not isinstance(before, Refused):
            return
        elsewhere = choose((False, False, True))
        ledger = self.ledgers[1 - at if elsewhere else at]
        self.script.append(f"again {elsewhere=} {said}")
        outcome, new = self._call(ledger, said, command_id)
        assert not new, (said, new)
        if isinstance(before, Refused):
            assert isinstance(outcome, Refused), outcome
            assert outcome.code == before.code, (outcome, before)
        elif elsewhere and isinstance(before, Authority):
            assert isinstance(outcome, Refused), outcome
            self.seen["authority not given to another process"] += bool(command_id)
        elif isinstance(outcome, Authority | int):
            assert outcome == before, (outcome, before)
            self.seen["first outcome again"] += bool(command_id)
        name = outcome.code if isinstance(outcome, Refused) else "same"
        self.seen[f"again: {said.method}: {name}"] += 1

    def _remembered(
        self, plan: Plan, said: Said, kept: Kept | None, process: str
    ) -> Plan:
        """Return the plan of a call whose command id may be known."""
        if kept is None:
            return plan
        if kept.said.digest() != said.digest():
            self.seen["command id of another command"] += 1
            return Plan(frozenset({"command_id_reused"}), writes=False)
        if isinstance(kept.outcome, Authority) and kept.process != process:
            self.seen["authority not given to another process"] += 1
            return Plan(plan.refused or frozenset({"command_id_reused"}), writes=False)
        self.seen["first outcome again"] += 1

        def same(outcome: object) -> None:
            if isinstance(outcome, Authority | int):
                assert outcome == kept.outcome

        return Plan(then=same, writes=False)

    def _call(
        self, ledger: Ledger, said: Said, command_id: str | None
    ) -> tuple[object, list[Recorded]]:
        method: Any = getattr(ledger, said.method)
        outcome: object
        try:
            outcome = method(*said.arguments, **said.options, command_id=command_id)
        except Refused as refused:
            outcome = refused
        return outcome, self.news()

    def news(self) -> list[Recorded]:
        """Return what was appended since it was asked last."""
        return list(self.ledgers[0].events(after=self.log.position))

    def check(self, new: Sequence[Recorded], *owners: OwnerRef) -> None:
        """Check the log and everything that was touched."""
        for one in new:
            self.log.feed(one)
            self._note(one)
            self.recorded.setdefault(one.stream, []).append(one)
            state = self.folded.get(one.stream, State(one.stream))
            self.folded[one.stream] = evolve(state, one)
        streams = dict.fromkeys([*(one.stream for one in new)])
        for stream in streams:
            for ledger in self.ledgers:
                state = ledger._shell.state(stream)  # pyright: ignore[reportPrivateUsage]
                assert state == self.folded[stream], stream
                assert state.quarantine is None, stream
        refs = [ref for one in streams if (ref := OwnerRef.of_stream(one))]
        for ref in dict.fromkeys([*owners, *refs]):
            self._same(self.reference.at(ref), self.ledgers[0])
        if new:
            self.shapes.add(self.shape())

    def _note(self, one: Recorded) -> None:
        """Note what the event says, for the reference and for the cases reached."""
        event = one.event
        assert isinstance(event, Event)
        ref = OwnerRef.of_stream(one.stream)
        own = self.reference.at(ref) if ref else None
        grant = isinstance(event, e.OwnershipClaimed | e.GenerationAdvanced)
        if own is not None:
            own.version = one.version
            own.proof = one.version if event.fenced or grant else own.proof
        if event.recorded_at < self._latest:
            self.seen["clock went back"] += 1
        self._latest = max(self._latest, event.recorded_at)
        self.seen.update(case_names(event))
        if own and own.checkpoint and isinstance(event, e.GenerationAdvanced):
            self.seen["checkpoint carried on"] += event.reason != "lease_renewal"

    def _unfinished(self, new: Sequence[Recorded]) -> None:
        """Hold the notice of an end against what it left unfinished."""
        told = [one.event for one in new if isinstance(one.event, e.NoticeIssued)]
        ends = [one for one in told if one.event_type != "instance_restart"]
        listed = [
            (one.about, str(fact.key))
            for one in ends
            for fact in one.facts
            if fact.kind == "unfinished"
        ]
        assert len({*listed}) == len(listed), ends
        # What was used may have had messages of the same ids as its owner's.
        assert {key for _, key in listed} == self.reference.unfinished, ends

    def _same(self, own: Owner, ledger: Ledger) -> None:
        """Hold what the ledger shows of an owner against the reference."""
        view = ledger.owner(own.ref)
        assert view.status == own.status, (view, own)
        assert view.generation == own.generation, (view, own)
        live = own.status == "live"
        assert view.incarnation == (own.incarnation if live else None)
        assert view.agent_id == (own.agent if live else None)
        bound = [f"agent:{own.agent}"] if view.agent_id else []
        assert self.log.bound(own.ref) == bound
        # For an owner that was deleted nothing waits any more.
        waiting = [] if own.status == "deleted" else own.waiting()
        assert view.waiting == tuple(m.key for m in waiting), own
        assert view.parent == own.parent
        assert set(view.children) == set(own.children)
        assert dict(view.grants) == own.grants
        for key in own.messages:
            self._same_message(own, key, ledger)

    def _same_message(self, own: Owner, key: str, ledger: Ledger) -> None:
        known = own.messages[key]
        at = ChatExecutionKey(own.ref.owner_id, key)
        seen = ledger.execution(at, own.ref.recovery_class)
        assert isinstance(seen, Execution)
        assert (
            bool(seen.accepted),
            seen.term,
            bool(seen.started),
            seen.outcome,
            bool(seen.stripped),
            bool(seen.late),
            seen.human,
        ) == (
            bool(known.accepted),
            known.term,
            bool(known.started),
            known.outcome,
            known.stripped,
            known.late,
            known.human,
        ), (seen, known)

    def shape(self) -> tuple[object, ...]:
        """Return what state this is, without ids that are new each time."""
        return tuple(
            (
                str(own.ref),
                own.status,
                own.agent is None,
                own.checkpoint is not None,
                *(
                    (m.key, own.running(m.key), m.started > 0, m.outcome)
                    for m in sorted(own.messages.values(), key=lambda m: m.key)
                ),
            )
            for own in sorted(self.reference.owners.values(), key=lambda o: str(o.ref))
            if own.written
        )

    def finish(self) -> None:
        """Check the whole ledger: from zero, on every handle, chain by chain."""
        for stream, history in self.recorded.items():
            assert fold(stream, history) == self.folded[stream]
        for ledger in self.ledgers:
            found = ledger.verify()
            assert found.ok, found
            assert found.head.position == self.log.position
        store = self.world.store()
        assert stored_tables(store) == right_tables(store)
