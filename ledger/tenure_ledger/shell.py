"""The one shell around the pure decisions: load, decide, append, answer.

Everything that a command reads and writes is one unit of the store. A refusal writes
nothing; an ambiguous commit is settled by the command id (design section 5, rules 1 to
6). Concurrent commands of a process share a transaction (`tenure_ledger.grouping`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from time import monotonic

from tenure_ledger.cache import Cache, caught_up
from tenure_ledger.clock import Clock, read_clock
from tenure_ledger.decisions.decide import decide, reach
from tenure_ledger.decisions.work import (
    Command,
    Context,
    Decided,
    Granted,
    Recovered,
    States,
)
from tenure_ledger.doubt import honest, id_reused, id_taken, own_outcome, to_try_again
from tenure_ledger.errors import Refused, Rejection
from tenure_ledger.folds.stream import State
from tenure_ledger.freshness import Freshness
from tenure_ledger.grouping import Answer, Grouping, Job
from tenure_ledger.hook import Tables
from tenure_ledger.rows import (
    CommandRow,
    Conflict,
    Doubtful,
    Interrupted,
    RowChange,
    Store,
    Unit,
)
from tenure_ledger.sealing import Sealed, command_digest, load_outcome, seal
from tenure_ledger.values import RESTORED

__all__ = ["Shell"]


class Shell:
    """Runs commands against one store."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        process: Callable[[], str],
        deadline_seconds: float,
        tables: Tables | None = None,
    ) -> None:
        self.store = store
        self.deadline_seconds = deadline_seconds
        self.closed = False
        """Whoever follows the ledger ends when this is set."""
        self._clock = clock
        self._process = process
        self._tables = tables
        self._cache = Cache()
        self._freshness = Freshness(store.pulse, self.state)
        self._pid = os.getpid()
        self._grouping = Grouping(self._execute, deadline_seconds)

    def close(self) -> None:
        """Answer what is waiting, then release the store."""
        self.closed = True
        self._notice_fork()
        self._grouping.close()
        self.store.close()

    def now(self) -> datetime:
        """Return the time in UTC by the ledger's clock."""
        return read_clock(self._clock)

    def state(self, owner_stream: str) -> State:
        """Return a stream's state at its durable head."""
        self._notice_fork()
        return caught_up(self._cache, owner_stream, self.store.tail)

    def fresh(self, owner_stream: str) -> State:
        """Return a stream's state at its durable head, in the least time."""
        return self._freshness.state(owner_stream)

    def run(self, command: Command, command_id: str | None) -> Answer:
        """Decide the command and make its events durable; raise a refusal."""
        self._notice_fork()
        return self._grouping.run(self._job(command, command_id))

    def run_each(self, commands: Iterable[Command]) -> list[Answer | BaseException]:
        """Do what `run` does with each; those of one transaction cost one commit.

        Return for each its answer, refusal or fault. What breaks at one leaves the
        others done.
        """
        self._notice_fork()
        jobs = [self._job(command, None) for command in commands]
        return self._grouping.run_each(jobs) if jobs else []

    def _job(self, command: Command, command_id: str | None) -> Job:
        until = monotonic() + self.deadline_seconds
        job = Job(command, command_id, command_id or os.urandom(16).hex(), until)
        if job.stream not in self._cache:
            # A long stream is folded before the transaction, which others wait for.
            self.state(job.stream)
        return job

    def preview(self, command: Command, states: States) -> Decided:
        """Decide the command on what is on record now, and write nothing.

        ``states`` stand for those of the streams that they are of. Raises a refusal.
        """
        found: dict[str, State] = {}
        wanted = {command.owner.stream}
        while wanted:
            for stream in sorted(wanted):
                found[stream] = states.get(stream) or self.state(stream)
            wanted = reach(found, command)
        context = Context(self.now(), self._process(), _new_id())
        decided = decide(found, command, context)
        if isinstance(decided, Rejection):
            raise decided.error()
        return decided

    def _notice_fork(self) -> None:
        if self._pid != os.getpid():
            # Other threads of the parent may have held the locks that were copied.
            self._pid = os.getpid()
            self._cache.renew()
            self._grouping.renew()

    def _execute(self, jobs: Sequence[Job]) -> None:
        """Answer every job, in one transaction if nothing goes wrong."""
        waiting = list(jobs)
        while waiting:
            try:
                self._attempt(waiting)
            except (Conflict, Doubtful, Interrupted) as problem:
                waiting = to_try_again(problem, waiting)
            except BaseException as problem:
                if len(waiting) == 1:
                    told = honest(waiting[0], problem)
                    if told is not problem:
                        raise told from problem
                    raise
                for job in waiting:
                    self._alone(job)
                if not isinstance(problem, Exception):
                    raise
                return
            else:
                return

    def _alone(self, job: Job) -> None:
        try:
            self._execute([job])
        except BaseException as problem:  # noqa: BLE001  the job's own caller gets it
            job.fail(problem)

    def _attempt(self, jobs: Sequence[Job]) -> None:
        staged: dict[str, State] = {}
        answers: list[tuple[Job, Answer | Refused]] = []
        wrote = False
        # The last to ask has the latest deadline.
        with self.store.write(max(0.0, jobs[-1].until - monotonic())) as unit:
            for job in jobs:
                answer, added = self._one(unit, job, staged)
                answers.append((job, answer))
                wrote = wrote or added
            if wrote:
                unit.commit()
        for state in staged.values():
            self._cache.put(state)
        for job, answer in answers:
            job.answer(answer)

    def _one(
        self, unit: Unit, job: Job, staged: dict[str, State]
    ) -> tuple[Answer | Refused, bool]:
        """Return the answer to one command, and whether it added rows to the unit."""
        command, stream = job.command, job.stream
        stored = None
        if job.given_id is not None or job.doubtful:
            stored = unit.command(stream, job.command_id)
        if stored is not None:
            answer = own_outcome(unit, job, stored) or self._again(command, stored)
            if answer is not None:
                if job.doubtful:
                    unit.confirm()
                return answer, job.doubtful
        states = self._load(unit, job, staged)
        fresh = _new_id()
        context = Context(self.now(), self._process(), fresh)
        decided = decide(states, command, context)
        if isinstance(decided, Rejection):
            return decided.error(), False
        if stored is not None:
            # The same command, whose authority is another process's.
            return id_taken(job.command_id, stored).error(), False
        answer = Answer(decided.outcome, decided.states[stream])
        if not decided.drafts and job.given_id is None:
            return answer, False
        sealed = seal(decided, states, command, job.command_id, fresh, _new_id)
        self._add(unit, states, decided, sealed)
        staged.update({one.after.stream: one.after for one in sealed.changes})
        if sealed.first is not None:
            job.sent = (sealed.first, answer)
        if decided.refusal is not None:
            return decided.refusal.error(), True
        return answer, True

    def _add(
        self,
        unit: Unit,
        states: dict[str, State],
        decided: Decided,
        sealed: Sealed,
    ) -> None:
        """Add the command's rows to the unit."""
        changes: Iterable[RowChange] = ()
        if self._tables is not None and sealed.rows:
            changes = self._tables.changes(sealed.changes, unit.body)
        if len(states) > 1 or not sealed.rows:
            # A lone stream that is written to is held by the versions it gets.
            # The floor of a restored backup is left out: nobody is to wait for another
            # because of it, and who decides while it is raised has decided before.
            unit.expect(
                {
                    name: state.version
                    for name, state in states.items()
                    if name != RESTORED.stream
                }
            )
        unit.add(sealed.rows, sealed.command, sealed.bodies, changes, decided.erase)

    def _again(self, command: Command, stored: CommandRow) -> Answer | Refused | None:
        """Return the first outcome; None for an authority that is another process's."""
        if stored.digest != command_digest(command):
            return id_reused(stored.command_id, stored).error()
        outcome = load_outcome(stored.outcome)
        if isinstance(outcome, Granted | Recovered) and outcome.authority is not None:
            return Answer(outcome, None) if outcome.process == self._process() else None
        return Answer(outcome, None)

    def _load(self, unit: Unit, job: Job, staged: dict[str, State]) -> dict[str, State]:
        """Return the states of the command's own stream and of what it reaches."""
        states: dict[str, State] = {}
        wanted = {job.stream}
        while wanted:
            for stream in sorted(wanted):
                state = staged.get(stream)
                if state is None:
                    state = caught_up(self._cache, stream, unit.tail, unit.head)
                states[stream] = state
            wanted = reach(states, job.command)
        return states


_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def _new_id() -> str:
    """Return a UUID4 as text, in a third of the time that `uuid` takes."""
    digits = os.urandom(16).hex()
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}"
        f"-{_VARIANT[digits[16]]}{digits[17:20]}-{digits[20:]}"
    )
