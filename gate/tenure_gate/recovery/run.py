"""One recovery run: each owner is looked at once, parents first, and settled alone.

Each is one step of the ledger. So the run can be killed anywhere and run again, two
runs at once cannot both win, and what breaks at one owner leaves the others done. Steps
of owners that are not above each other may share a commit. Source: design section 7.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from tenure_gate.recovery.candidates import is_candidate, seen_last
from tenure_gate.recovery.environment import RecoveryEnvironment, environment_of
from tenure_gate.recovery.results import (
    Closed,
    Failed,
    Result,
    Skipped,
    left_alone,
)
from tenure_gate.recovery.telling import told_ended, told_live
from tenure_ledger.decisions.fence import blocked
from tenure_ledger.decisions.lineage import hangs_on, line
from tenure_ledger.decisions.recovering.command import Answers
from tenure_ledger.errors import InvalidInput, Refused
from tenure_ledger.folds.stream import State
from tenure_ledger.methods.recovering import Seen, Settlement
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

_Results = list[Result | Failed]


class _Looked(NamedTuple):
    """An owner that is to be settled."""

    owner: OwnerRef
    seen: Seen
    named: bool
    """It was asked for: say what is so, also if that is nothing."""


class Run:
    """One recovery run; iterate over it once: each result is settled when it comes.

    Up to ``together`` owners are settled in one commit. With 1, what nobody was told of
    is not settled: whoever stops reading loses nothing.
    """

    def __init__(
        self,
        ledger: Ledger,
        environment: RecoveryEnvironment | None,
        *,
        only: Iterable[OwnerRef] | None,
        dry_run: bool,
        max_age_seconds: float | None,
        together: int,
    ) -> None:
        if not isinstance(ledger, Ledger):
            msg = f"recover takes what open_ledger returned, not {kind_of(ledger)}"
            raise TypeError(msg)
        self._ledger = ledger
        self._environment = environment_of(environment)
        self._only = _owners(only)
        dry_run = check_flag("dry_run", dry_run)
        self._writer = ledger.recovery_writer(AUTHOR, dry_run=dry_run)
        self._age = check_seconds("max_age_seconds", max_age_seconds)
        self._together = together
        self._group: dict[str, _Looked] = {}
        """By stream: what is settled with the next commit."""
        self._after: dict[str, _Results] = defaultdict(list)
        """By stream of one of the group: results that come after its own."""
        self._left: deque[OwnerRef] = deque()
        """Children of what was closed."""
        self._done: set[str] = set()
        self._failed: set[str] = set()
        self._idle: set[OwnerRef] = set()
        """Looked at, with nothing to settle: until one of them is told something."""
        self._notified: set[OwnerRef] = set()

    def __iter__(self) -> Iterator[Result | Failed]:
        only = self._only
        named = set[OwnerRef]() if only is None else set(only)
        for owner in self._ledger.unfinished() if only is None else only:
            for at in self._downwards(owner):
                if only is None or at in named:
                    yield from self._visit(at, named=at in named)
            yield from self._orphans()
        yield from self._rest()
        while again := self._notified & self._idle:
            # The notice that it was given since makes it a candidate after all.
            at = min(again, key=str)
            self._notified.discard(at)
            self._idle.discard(at)
            self._done.discard(at.stream)
            yield from self._visit(at, named=False)
            yield from self._rest()

    def _downwards(self, owner: OwnerRef) -> list[OwnerRef]:
        """Return the owner and all above it that was not visited, the topmost first."""
        chain: list[OwnerRef] = []
        try:
            for at, _ in line(owner, self._writer.state):
                if at.stream in self._done:
                    break
                chain.append(at)
        except Exception:  # noqa: BLE001  who is visited next meets it, and tells it
            return [owner]
        return chain[::-1]

    def _orphans(self) -> Iterator[Result | Failed]:
        while self._left:
            yield from self._visit(self._left.popleft(), named=False)

    def _rest(self) -> Iterator[Result | Failed]:
        """Settle what waits, and the children of what is closed by that."""
        while self._group or self._left:
            yield from self._settle_group()
            yield from self._orphans()

    def _visit(self, owner: OwnerRef, *, named: bool) -> Iterator[Result | Failed]:
        """Look at an owner, once: parents are settled before."""
        if owner.stream in self._done:
            return
        self._done.add(owner.stream)
        results: _Results = []
        try:
            state = self._writer.state(owner)
            if self._group and self._waits_above(owner, state):
                yield from self._settle_group()
            found = self._look(owner, state, named=named)
            if isinstance(found, _Looked):
                self._group[owner.stream] = found
            else:
                results = found
                self._children_of(state)
                if not results:
                    self._idle.add(owner)
        except Exception as error:  # noqa: BLE001  the others are settled
            results = [self._broken(owner, error)]
        if self._group:
            self._after[next(reversed(self._group))] += results
        else:
            yield from results
        if len(self._group) >= self._together:
            yield from self._settle_group()

    def _waits_above(self, owner: OwnerRef, state: State) -> bool:
        if state.ownership.parent is None:
            return False
        chain = line(owner, self._writer.state)
        return any(at.stream in self._group for at, _ in chain)

    def _settle_group(self) -> Iterator[Result | Failed]:
        group, self._group = [*self._group.values()], {}
        after, self._after = self._after, defaultdict(list)
        if not group:
            return
        found: list[Settlement | BaseException]
        try:
            found = self._writer.settle([one.seen for one in group])
        except Exception as error:  # noqa: BLE001  each of them is told it
            found = [error] * len(group)
        for one, settled in zip(group, found, strict=True):
            yield from self._results(one, settled)
            yield from after[one.owner.stream]

    def _results(self, one: _Looked, settled: Settlement | BaseException) -> _Results:
        """Return what became of an owner, and remember whom that concerns."""
        owner, before = one.owner, one.seen.state
        try:
            if isinstance(settled, Refused):
                results: _Results = [left_alone(owner, settled)]
                self._children_of(self._writer.state(owner))
            elif isinstance(settled, BaseException):
                raise settled  # noqa: TRY301  told just below, or not ours
            elif before.ownership.live:
                results = told_live(self._ledger, before, owner, settled)
                self._children_of(settled.state)
            else:
                outcome, state = settled.outcome, settled.state
                results = told_ended(
                    self._ledger, owner, state, outcome.discarded, named=one.named
                )
                self._children_of(state)
        except Exception as error:  # noqa: BLE001  the others are settled
            return [self._broken(owner, error)]
        if not results:
            self._idle.add(owner)
        self._notified |= {each.told for each in results if isinstance(each, Closed)}
        return results

    def _broken(self, owner: OwnerRef, error: Exception) -> Failed:
        self._failed.add(owner.stream)
        return Failed(owner, error)

    def _children_of(self, state: State) -> None:
        """Visit the children of what a recovery or a reaper closed.

        And those of the things that ended with it.
        """
        closed = [state] if state.ownership.closed_by_recovery else []
        for at in closed:
            children = at.ownership.children.values()
            for child in sorted(children, key=lambda child: child.version):
                if not child.used:
                    self._left.append(child.ref)
                    continue
                thing = self._writer.state(child.ref)
                if thing.ownership.status == "revoked" and thing not in closed:
                    closed.append(thing)

    def _look(
        self, owner: OwnerRef, state: State, *, named: bool
    ) -> _Looked | _Results:
        """Return what is to be settled, or what is so without that."""
        refusal = blocked(state, owner)
        if refusal is not None:
            return [Skipped(owner, refusal.kind.code, refusal.text)]
        own = state.ownership
        if own.status != "live":
            if state.recovery.checkpoint is None:
                return told_ended(self._ledger, owner, state, None, named=named)
            evidence = Evidence("cannot_tell", None, state.version)
            return _Looked(owner, Seen(state, evidence, Answers()), named)
        if own.agent_id is None:
            return [Skipped(owner, "used_by_parent", str(own.parent))] if named else []
        above = hangs_on(owner, self._writer.state)
        if not is_candidate(state, above, named=named):
            return []
        alone = self._leave_alone(owner, state, above)
        return [alone] if alone is not None else self._gone(owner, state, named=named)

    def _gone(self, owner: OwnerRef, state: State, *, named: bool) -> _Looked:
        holding = state.ownership.holding
        incarnation = holding.incarnation if holding else None
        process = holding.process if holding else None
        evidence = Evidence(
            "gone", incarnation, state.version, f"its process: {process}"
        )
        answers = self._environment.answers(owner)
        return _Looked(owner, Seen(state, evidence, answers), named)

    def _leave_alone(
        self, owner: OwnerRef, state: State, above: State | None
    ) -> Skipped | None:
        """Return why a candidate is not touched, if so."""
        holding = state.ownership.holding
        process = holding.process if holding else None
        answer = self._environment.holder_of(owner, process)
        if answer != "gone":
            return Skipped(owner, answer, f"its process: {process}")
        failed = self._failed_above(owner)
        if failed is not None:
            return Skipped(owner, "parent_failed", failed)
        orphan = above is not None and above.ownership.closed_by_recovery
        last = seen_last(state)
        if self._age is not None and last is not None and not orphan:
            age = (self._ledger.now() - last).total_seconds()
            if age > self._age:
                return Skipped(owner, "too_old", f"last seen {last.isoformat()}")
        return None

    def _failed_above(self, owner: OwnerRef) -> str | None:
        """Return the stream of an owner above it that could not be settled."""
        if not self._failed:
            return None
        chain = (at.stream for at, _ in line(owner, self._writer.state))
        return next((at for at in chain if at in self._failed), None)


def _owners(only: object) -> list[OwnerRef] | None:
    """Return the named owners; one alone is not several."""
    if only is None:
        return None
    if isinstance(only, OwnerRef) or not isinstance(only, Iterable):
        msg = f"only must be several owners, not {kind_of(only)}"
        raise InvalidInput(msg)
    return [check_owner(one) for one in cast("Iterable[object]", only)]
