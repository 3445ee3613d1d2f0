"""One recovery run: each owner is looked at once, parents first, and settled alone.

Each is one step of the ledger. So the run can be killed anywhere and run again, two
runs at once cannot both win, and what breaks at one owner leaves the others done.
Source: design section 7.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import cast

from tenure_gate.recovery.candidates import closed_by_recovery, is_candidate, seen_last
from tenure_gate.recovery.environment import RecoveryEnvironment
from tenure_gate.recovery.plans import plan_of
from tenure_gate.recovery.results import (
    Closed,
    Discarded,
    Failed,
    Result,
    Resumed,
    Skipped,
    SuccessionDue,
)
from tenure_ledger.decisions.recovering.command import Answers
from tenure_ledger.decisions.work import blocked
from tenure_ledger.errors import InvalidInput, OwnerIsLive, OwnerMoved, Refused
from tenure_ledger.folds.stream import State
from tenure_ledger.methods.recovering import Settlement
from tenure_ledger.values import (
    Evidence,
    OwnerRef,
    check_flag,
    check_owner,
    check_seconds,
    kind_of,
)
from tenure_projections.ledger import Ledger

__all__ = ["AUTHOR", "Run"]

AUTHOR = "recovery"
"""Who is named in what a recovery run writes."""


class Run:
    """One recovery run; iterate over it once: each result is settled when it comes."""

    def __init__(
        self,
        ledger: Ledger,
        environment: RecoveryEnvironment,
        *,
        only: Iterable[OwnerRef] | None,
        dry_run: bool,
        max_age_seconds: float | None,
    ) -> None:
        if not isinstance(ledger, Ledger):
            msg = f"recover takes what open_ledger returned, not {kind_of(ledger)}"
            raise TypeError(msg)
        if not isinstance(environment, RecoveryEnvironment):
            msg = (
                f"environment must be a RecoveryEnvironment, not {kind_of(environment)}"
            )
            raise InvalidInput(msg)
        self._ledger = ledger
        self._environment = environment
        self._only = _owners(only)
        self._dry_run = check_flag("dry_run", dry_run)
        self._age = check_seconds("max_age_seconds", max_age_seconds)
        self._done: set[str] = set()
        self._failed: set[str] = set()
        self._idle: set[OwnerRef] = set()
        """Looked at, with nothing to settle: until one of them is told something."""
        self._notified: set[OwnerRef] = set()
        self._instead: dict[str, State] = {}
        """In a dry run: what was closed, as it would be."""

    def __iter__(self) -> Iterator[Result | Failed]:
        only = self._only
        named = set[OwnerRef]() if only is None else set(only)
        for owner in self._ledger.unfinished() if only is None else only:
            for at in self._downwards(owner):
                if only is None or at in named:
                    yield from self._visit(at, named=at in named)
        while again := self._notified & self._idle:
            # The notice that it was given since makes it a candidate after all.
            at = min(again, key=str)
            self._notified.discard(at)
            self._idle.discard(at)
            self._done.discard(at.stream)
            yield from self._visit(at, named=False)

    def _downwards(self, owner: OwnerRef) -> list[OwnerRef]:
        """Return the owner and all above it, the topmost first."""
        chain: dict[OwnerRef, None] = {}
        at: OwnerRef | None = owner
        try:
            while at is not None and at not in chain and at.stream not in self._done:
                chain[at] = None
                at = self._state(at).ownership.parent
        except Exception:  # noqa: BLE001  who is visited next meets it, and tells it
            return [owner]
        return [*reversed(chain)]

    def _visit(self, owner: OwnerRef, *, named: bool) -> Iterator[Result | Failed]:
        """Settle the owner, and the children of what was closed."""
        waiting = deque([owner])
        while waiting:
            at = waiting.popleft()
            if at.stream in self._done:
                continue
            self._done.add(at.stream)
            try:
                results = self._settle(at, named=named and at == owner)
                if not any(isinstance(one, Resumed) for one in results):
                    waiting.extend(self._orphans(at))
                if not results:
                    self._idle.add(at)
            except Exception as error:  # noqa: BLE001  the others are settled
                self._failed.add(at.stream)
                results = [Failed(at, error)]
            self._notified |= {one.told for one in results if isinstance(one, Closed)}
            yield from results

    def _orphans(self, owner: OwnerRef) -> list[OwnerRef]:
        """Return the children that an owner left which a recovery or reaper closed."""
        own = self._state(owner).ownership
        if not closed_by_recovery(own):
            return []
        left = [child for child in own.children.values() if not child.used]
        left.sort(key=lambda child: child.version)
        return [child.ref for child in left]

    def _state(self, owner: OwnerRef) -> State:
        known = self._instead.get(owner.stream)
        return self._ledger.fresh_state(owner) if known is None else known

    def _settle(self, owner: OwnerRef, *, named: bool) -> list[Result | Failed]:
        state = self._state(owner)
        refusal = blocked(state, owner)
        if refusal is not None:
            return [Skipped(owner, refusal.kind.code, refusal.text)]
        own = state.ownership
        if own.status != "live":
            return self._settle_ended(owner, state, named=named)
        if own.agent_id is None:
            return [Skipped(owner, "used_by_parent", str(own.parent))] if named else []
        above = None if own.parent is None else self._state(own.parent)
        if not is_candidate(state, above, named=named):
            return []
        alone = self._leave_alone(owner, state, above)
        return [alone] if alone is not None else self._settle_live(owner, state)

    def _leave_alone(
        self, owner: OwnerRef, state: State, above: State | None
    ) -> Skipped | None:
        """Return why a candidate is not touched, if so."""
        holding = state.ownership.holding
        process = holding.process if holding else None
        answer = self._environment.holder_of(owner, process)
        if answer != "gone":
            return Skipped(owner, answer, f"its process: {process}")
        failed = self._failed_above(state)
        if failed is not None:
            return Skipped(owner, "parent_failed", failed)
        orphan = above is not None and closed_by_recovery(above.ownership)
        last = seen_last(state)
        if self._age is not None and last is not None and not orphan:
            age = (self._ledger.now() - last).total_seconds()
            if age > self._age:
                return Skipped(owner, "too_old", f"last seen {last.isoformat()}")
        return None

    def _failed_above(self, state: State) -> str | None:
        """Return the stream of an owner above it that could not be settled."""
        seen: set[str] = set()
        at = state.ownership.parent
        while self._failed and at is not None and at.stream not in seen:
            if at.stream in self._failed:
                return at.stream
            seen.add(at.stream)
            at = self._state(at).ownership.parent
        return None

    def _settle_live(self, owner: OwnerRef, state: State) -> list[Result | Failed]:
        holding = state.ownership.holding
        incarnation = holding.incarnation if holding else None
        process = holding.process if holding else None
        evidence = Evidence(
            "gone", incarnation, state.version, f"its process: {process}"
        )
        answers = self._environment.answers(owner)
        try:
            settled = self._write(state, evidence, answers)
        except OwnerIsLive as error:
            return [Skipped(owner, "alive", str(error))]
        except OwnerMoved as error:
            return [Skipped(owner, "already_claimed", str(error))]
        except Refused as error:
            return [Skipped(owner, error.code, str(error))]
        return self._told(owner, state, settled)

    def _write(self, state: State, evidence: Evidence, answers: Answers) -> Settlement:
        instead = self._instead if self._dry_run else None
        settled = self._ledger.settle_recovery(
            state, evidence, answers, AUTHOR, instead=instead
        )
        if settled.outcome.disposition == "closed":
            self._instead.update(settled.changed)
        return settled

    def _told(
        self, owner: OwnerRef, before: State, settled: Settlement
    ) -> list[Result | Failed]:
        outcome, state = settled.outcome, settled.state
        if outcome.authority is not None:
            plan = plan_of(state, settled.snapshot, self._ledger.now())
            resumed = Resumed(
                owner,
                outcome.authority,
                plan,
                state.ownership.restarts,
                outcome.grants,
                outcome.discarded,
            )
            return [resumed]
        closed = Closed(
            owner,
            before.ownership.generation,
            outcome.assertion,
            outcome.reasons,
            outcome.detail,
            owner if outcome.told is None else outcome.told,
            outcome.discarded,
        )
        due = self._due(owner, state)
        return [closed] if due is None else [closed, due]

    def _settle_ended(
        self, owner: OwnerRef, state: State, *, named: bool
    ) -> list[Result | Failed]:
        results: list[Result | Failed] = []
        if state.recovery.checkpoint is not None:
            evidence = Evidence("cannot_tell", None, state.version)
            try:
                settled = self._write(state, evidence, Answers())
            except Refused as error:
                return [Skipped(owner, "already_claimed", str(error))]
            state = settled.state
            if settled.outcome.discarded is not None:
                results.append(Discarded(owner, settled.outcome.discarded))
        due = self._due(owner, state)
        if due is not None:
            results.append(due)
        elif named and not results:
            thing = state.ownership.thing
            why = "used_by_parent" if thing else "nothing_to_do"
            results.append(Skipped(owner, why, state.ownership.status))
        return results

    def _due(self, owner: OwnerRef, state: State) -> SuccessionDue | None:
        """Return which call begins the owner's next term, if it waits for one."""
        own, cut = state.ownership, state.ownership.cut
        listed = [one for one in state.executions.listed() if one.accepted]
        listed.sort(key=lambda one: one.accepted)
        waiting = tuple(one.key for one in listed if not one.started)
        if own.status == "cut" and cut is not None and not own.thing:
            handover = None
            if cut.handover is not None:
                handover = self._ledger.body(owner, cut.handover)
            return SuccessionDue(owner, "succeed", cut.outcome, handover, waiting)
        ended = own.status in {"absent", "terminal"} and waiting
        left = waiting or state.recovery.checkpoint is not None
        if ended or (own.status == "imported" and left):
            return SuccessionDue(owner, "claim", None, None, waiting)
        return None


def _owners(only: object) -> list[OwnerRef] | None:
    """Return the named owners; one alone is not several."""
    if only is None:
        return None
    if isinstance(only, OwnerRef) or not isinstance(only, Iterable):
        msg = f"only must be several owners, not {kind_of(only)}"
        raise InvalidInput(msg)
    return [check_owner(one) for one in cast("Iterable[object]", only)]
