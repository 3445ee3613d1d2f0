"""Group commit: commands that wait at the same time share a transaction.

A lone command runs on its caller's thread. Only when another is at work does a command
queue, and then one writer thread takes all that waits as one group (design section 9).
Every waiter is answered after its own commit is confirmed, whatever happens to the
thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import TIMEOUT_MAX, Condition, Lock, RLock, Thread
from time import monotonic

from msgspec import Struct

from tenure_ledger.decisions.work import Command, Outcome
from tenure_ledger.errors import (
    Contended,
    OutcomeUnknown,
    Refused,
    StoreUnavailable,
)
from tenure_ledger.folds.stream import State
from tenure_ledger.stores.fair_lock import FairLock

__all__ = ["Answer", "Grouping", "Job"]

GRACE_SECONDS = 1.0
"""How long past its deadline a command that was begun may take to be answered."""
GROUP_MAX = 128
"""Commands in one transaction: beyond this the gain is small and the wait long."""


class Answer(Struct, frozen=True):
    """The outcome of a command, and the owner's state with it."""

    outcome: Outcome
    state: State | None
    """None when the outcome was stored by an earlier call: read the state."""


class Job:
    """One command on its way, and the answer to it."""

    doubtful = False
    """A commit may have stored it already: look for its id first."""
    sent: tuple[bytes, Answer] | None = None
    """Hash of its first event in the owner's stream, and the answer with it."""
    _gate: Lock | None = None
    _answered = False
    _answer: Answer | None = None
    _problem: BaseException | None = None

    def __init__(
        self, command: Command, given_id: str | None, command_id: str, until: float
    ) -> None:
        self.command = command
        self.stream = command.owner.stream
        """Where the command id is kept: the stream of the first-named owner."""
        self.given_id = given_id
        """The caller's command id, if there is one."""
        self.command_id = command_id
        self.until = until
        """The deadline, on the clock of `time.monotonic`."""

    def queued(self) -> None:
        """Make ready to `wait`, before anybody else may answer."""
        self._gate = Lock()
        self._gate.acquire()

    def answer(self, answer: Answer | Refused) -> None:
        """Hand over the outcome, or the refusal to raise."""
        if isinstance(answer, Refused):
            self._problem = answer
        else:
            self._answer = answer
        self._done()

    def fail(self, problem: BaseException) -> None:
        """Hand over what went wrong, unless the job was answered."""
        if not self._answered:
            self._problem = problem
            self._done()

    def _done(self) -> None:
        if not self._answered:
            self._answered = True
            if self._gate is not None:
                self._gate.release()

    def wait(self, timeout_seconds: float) -> bool:
        """Wait for the answer; return whether it is there. Only until it is."""
        if self._gate is None:
            return self._answered
        return self._gate.acquire(timeout=min(max(timeout_seconds, 0), TIMEOUT_MAX))

    def result(self) -> Answer | BaseException:
        """Return the answer or the problem."""
        if self._problem is not None:
            return self._problem
        if self._answer is None:
            msg = "a command was given up without an answer: open the ledger again"
            return StoreUnavailable(msg)
        return self._answer


class Grouping:
    """Runs jobs: a lone one here and now, waiting ones together."""

    def __init__(
        self, execute: Callable[[Sequence[Job]], None], deadline_seconds: float
    ) -> None:
        self._execute = execute
        self._deadline_seconds = deadline_seconds
        self.renew()

    def renew(self) -> None:
        """Begin without a queue and with free locks: after a fork, for example."""
        self._busy = FairLock()
        self._waiting: deque[Job] = deque()
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._thread: Thread | None = None
        self._closing = False

    def run(self, job: Job) -> Answer:
        """Return the job's answer, or raise its refusal or fault."""
        (found,) = self.run_each([job])
        if isinstance(found, BaseException):
            raise found
        return found

    def run_each(self, jobs: Sequence[Job]) -> list[Answer | BaseException]:
        """Return each job's answer, refusal or fault; they run in their order.

        In one transaction, if nothing goes wrong.
        """
        if self._alone(jobs):
            return [job.result() for job in jobs]
        try:
            for job in jobs:
                self._queue(job)
            answered = [job.wait(job.until - monotonic()) for job in jobs]
        except BaseException:
            # An interrupted caller asks for nothing any more.
            for job in jobs:
                self._withdraw(job)
            raise
        return [
            job.result() if done else self._give_up(job)
            for job, done in zip(jobs, answered, strict=True)
        ]

    def _alone(self, jobs: Sequence[Job]) -> bool:
        """Run the jobs on this thread if nobody is at work; return whether they ran."""
        # By its token, since a signal may raise between taking a lock and knowing it.
        token = jobs[0]
        try:
            if self._waiting or not self._busy.acquire(token, 0):
                return False
            self._execute(jobs)
        except Exception as problem:  # noqa: BLE001  each job's own caller gets it
            for job in jobs:
                job.fail(problem)
        finally:
            try:
                self._busy.release(token)
            except BaseException:
                self._busy.release(token)
                raise
        return True

    def _withdraw(self, job: Job) -> bool:
        """Take the job out of the queue; return whether it was still there."""
        with self._lock:
            if job not in self._waiting:
                return False
            self._waiting.remove(job)
            return True

    def _give_up(self, job: Job) -> Answer | BaseException:
        """Return what is so at the deadline, or the answer that came just now."""
        if self._withdraw(job):
            msg = "other commands were in front until the deadline: call again"
            return Contended(msg)
        if job.wait(GRACE_SECONDS):
            return job.result()
        msg = f"no answer in time: ask again under command id {job.command_id}"
        return OutcomeUnknown(msg, job.command_id)

    def _queue(self, job: Job) -> None:
        with self._lock:
            if self._closing:
                msg = "the ledger is closed: open it again"
                raise StoreUnavailable(msg)
            job.queued()
            self._waiting.append(job)
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(
                    target=self._serve, name="tenure-writer", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def _serve(self) -> None:
        while True:
            with self._lock:
                while not self._waiting:
                    if self._closing:
                        return
                    self._changed.wait()
            token = object()
            self._busy.acquire(token, TIMEOUT_MAX)
            try:
                self._serve_group(self._take())
            finally:
                self._busy.release(token)

    def _take(self) -> list[Job]:
        with self._lock:
            size = min(GROUP_MAX, len(self._waiting))
            return [self._waiting.popleft() for _ in range(size)]

    def _serve_group(self, group: list[Job]) -> None:
        try:
            if group:
                self._execute(group)
        except BaseException as problem:  # noqa: BLE001  every waiter must be answered
            for job in group:
                job.fail(problem)

    def close(self) -> None:
        """Let the writer thread answer what waits, and end it."""
        with self._lock:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(self._deadline_seconds + 1)
