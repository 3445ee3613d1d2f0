"""What a recovery run and a reaper of one's own write (design section 7).

`recover` settles by a `RecoveryWriter`, `reap` by `reap_owner`; `settle_recovery` is
for one owner. They decide on what is on record; which owners to ask about, and what the
host says of them, is the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tenure_ledger.collecting import collecting_later
from tenure_ledger.decisions.recovering.command import Answers, SettleRecovery
from tenure_ledger.decisions.recovering.reaping import Reap
from tenure_ledger.decisions.work import Recovered
from tenure_ledger.errors import InvalidInput
from tenure_ledger.folds.stream import State
from tenure_ledger.grouping import Answer
from tenure_ledger.methods.base import Methods, check_evidence, odd, stored_body
from tenure_ledger.shell import Shell
from tenure_ledger.snapshots import RestartSnapshot, Unreadable, read_payload
from tenure_ledger.values import (
    Evidence,
    OwnerRef,
    check_flag,
    check_id,
    check_owner,
    kind_of,
)

__all__ = ["RecoveringMethods", "RecoveryWriter", "Seen", "Settlement"]


class Seen(NamedTuple):
    """An owner as it was looked at, and what the host says of it."""

    state: State
    """Its `fresh_state`."""
    evidence: Evidence
    answers: Answers


class Settlement(NamedTuple):
    """What was done to one owner, and its state after it."""

    outcome: Recovered
    state: State
    snapshot: RestartSnapshot | None
    """Of the checkpoint that goes on, if one does."""


class RecoveryWriter:
    """Settles owners for one recovery run, or says what it would do."""

    def __init__(self, shell: Shell, author: str, *, dry_run: bool) -> None:
        self._shell = shell
        self._author = author
        self._instead: dict[str, State] | None = {} if dry_run else None
        """In a dry run: the streams of what was closed, as they would be."""

    def state(self, owner: OwnerRef) -> State:
        """Return all that is on record of an owner; in a dry run, as it would be."""
        known = self._instead.get(owner.stream) if self._instead else None
        return self._shell.fresh(owner.stream) if known is None else known

    def settle(self, seen: Sequence[Seen]) -> list[Settlement | BaseException]:
        """Settle each owner, in one step each; return what was done, or what broke.

        Those of one call are committed together, in their order, so none of them may
        be above another. What is refused, or breaks, at one leaves the others done.
        """
        commands: list[SettleRecovery | Exception] = []
        for one in seen:
            try:
                commands.append(_command(self._shell, one, self._author))
            except Exception as problem:  # noqa: BLE001  the others are settled
                commands.append(problem)
        asked = [one for one in commands if isinstance(one, SettleRecovery)]
        if self._instead is None:
            with collecting_later():
                answers = iter(self._shell.run_each(asked))
        else:
            answers = iter([self._preview(command) for command in asked])
        return [
            _settled(one, next(answers)) if isinstance(one, SettleRecovery) else one
            for one in commands
        ]

    def _preview(self, command: SettleRecovery) -> Answer | BaseException:
        instead = self._instead or {}
        try:
            decided = self._shell.preview(command, instead)
        except Exception as problem:  # noqa: BLE001  as of a command that is run
            return problem
        outcome = decided.outcome
        if isinstance(outcome, Recovered) and outcome.disposition == "closed":
            streams = {draft.stream for draft in decided.drafts}
            self._instead = instead | {at: decided.states[at] for at in streams}
        return Answer(outcome, decided.states[command.owner.stream])


class RecoveringMethods(Methods):
    """How a recovery run, or a reaper, settles owners."""

    def now(self) -> datetime:
        """Return the time in UTC by the ledger's clock."""
        return self._shell.now()

    def settle_recovery(
        self,
        seen: State,
        evidence: Evidence,
        answers: Answers,
        author: str,
        *,
        command_id: str | None = None,
    ) -> Settlement:
        """Resume the owner that was seen, close it, or clear what is left over of it.

        One step: verdict, claim and all that goes with it. Raises `OwnerMoved` and
        `OwnerIsLive` when somebody else has it by now, `InvalidInput` for a thing; and
        for an owner above it too `Quarantined` or `TooNew`.
        """
        check_id("author", author)
        command = _command(self._shell, Seen(seen, evidence, answers), author)
        answer = self._run(command, command_id)
        if answer.state is None:
            answer = Answer(answer.outcome, self._shell.state(command.owner.stream))
        settled = _settled(command, answer)
        if isinstance(settled, BaseException):
            raise settled
        return settled

    def recovery_writer(self, author: str, *, dry_run: bool = False) -> RecoveryWriter:
        """Return what settles many owners, several in one commit, or previews it."""
        check_id("author", author)
        dry_run = check_flag("dry_run", dry_run)
        return RecoveryWriter(self._shell, author, dry_run=dry_run)

    def reap_owner(
        self,
        owner: OwnerRef,
        evidence: Evidence,
        author: str,
        *,
        command_id: str | None = None,
    ) -> Recovered:
        """Close an owner whose lease ran out and whose holder is gone.

        Nothing may have been written to it since the evidence. Raises `OwnerMoved`,
        `OwnerIsLive`, `InvalidInput` (no lease that ran out).
        """
        command = Reap(
            check_owner(owner), check_id("author", author), check_evidence(evidence)
        )
        outcome = self._run(command, command_id).outcome
        if not isinstance(outcome, Recovered):
            raise odd(outcome)
        return outcome


def _command(shell: Shell, one: Seen, author: str) -> SettleRecovery:
    """Return the command, with the checkpoint that was seen read from its body.

    Raises `Corrupt` when the body is not what was stored, and `InvalidInput`.
    """
    state: object = one.state
    if not isinstance(state, State):
        msg = f"seen must be what fresh_state returned, not {kind_of(state)}"
        raise InvalidInput(msg)
    owner = OwnerRef.of_stream(state.stream)
    if owner is None:
        msg = f"{state.stream} is no owner's stream"
        raise InvalidInput(msg)
    answers: object = one.answers
    if not isinstance(answers, Answers):
        msg = f"answers must be Answers, not {kind_of(answers)}"
        raise InvalidInput(msg)
    checkpoint = state.recovery.checkpoint
    return SettleRecovery(
        owner,
        author,
        check_evidence(one.evidence),
        state.ownership.generation,
        checkpoint.payload if checkpoint else None,
        _snapshot(shell, owner, state),
        answers,
    )


def _snapshot(
    shell: Shell, owner: OwnerRef, state: State
) -> RestartSnapshot | Unreadable | None:
    """Return what an owner's live checkpoint holds; None: it has none."""
    checkpoint = state.recovery.checkpoint
    if checkpoint is None:
        return None
    data = stored_body(shell, owner, checkpoint.payload)
    return read_payload(checkpoint.mode, data)


def _settled(
    command: SettleRecovery, answer: Answer | BaseException
) -> Settlement | BaseException:
    if isinstance(answer, BaseException):
        return answer
    outcome, state = answer.outcome, answer.state
    if not isinstance(outcome, Recovered) or state is None:
        return odd(outcome)
    read = command.snapshot
    goes_on = state.recovery.checkpoint is not None
    snapshot = read if goes_on and isinstance(read, RestartSnapshot) else None
    return Settlement(outcome, state, snapshot)
