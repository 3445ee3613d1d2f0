"""What a recovery run and a reaper of one's own write (design section 7).

`recover` and `reap` call these, one owner at a time. They decide on what is on record;
which owners to ask about, and what the host says of them, is the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, cast

from tenure_ledger.bodies import body_digest
from tenure_ledger.decisions.recovering.command import Answers, SettleRecovery
from tenure_ledger.decisions.recovering.reaping import Reap
from tenure_ledger.decisions.work import Recovered
from tenure_ledger.errors import Corrupt, InvalidInput
from tenure_ledger.folds.stream import State
from tenure_ledger.methods.base import Methods, check_evidence
from tenure_ledger.snapshots import RestartSnapshot, Unreadable, read_payload
from tenure_ledger.values import Evidence, OwnerRef, check_id, check_owner, kind_of

__all__ = ["RecoveringMethods", "Settlement"]


class Settlement(NamedTuple):
    """What was done to one owner, and its states after it."""

    outcome: Recovered
    state: State
    """Of the owner."""
    snapshot: RestartSnapshot | None
    """Of the checkpoint that goes on, if one does."""
    changed: Mapping[str, State]
    """Of a preview: every stream that it would have changed, by name."""


class RecoveringMethods(Methods):
    """How a recovery run settles one owner."""

    def now(self) -> datetime:
        """Return the time in UTC by the ledger's clock."""
        return self._shell.now()

    def restart_snapshot(self, state: State) -> RestartSnapshot | Unreadable | None:
        """Return what an owner's live checkpoint holds; None: it has none.

        Raises `Corrupt` when the body is not what was stored.
        """
        checkpoint = _check_state("state", state).recovery.checkpoint
        if checkpoint is None:
            return None
        data = self._shell.store.body(state.stream, checkpoint.payload)
        if data is not None and body_digest(data) != checkpoint.payload:
            msg = (
                f"the body {checkpoint.payload} of {state.stream} was changed in the "
                "store: restore it from a backup"
            )
            raise Corrupt(msg)
        return read_payload(checkpoint.mode, data)

    def settle_recovery(
        self,
        seen: State,
        evidence: Evidence,
        answers: Answers,
        author: str,
        *,
        instead: Mapping[str, State] | None = None,
        command_id: str | None = None,
    ) -> Settlement:
        """Resume the owner that was seen, close it, or clear what is left over of it.

        One step: verdict, claim and all that goes with it. ``instead`` previews it and
        writes nothing: these states stand for those of their streams. Raises
        `OwnerMoved` and `OwnerIsLive` when somebody else has it by now, `InvalidInput`
        for a thing; and for an owner above it too `Quarantined` or `TooNew`.
        """
        owner = OwnerRef.of_stream(_check_state("seen", seen).stream)
        if owner is None:
            msg = f"{seen.stream} is no owner's stream"
            raise InvalidInput(msg)
        if not isinstance(answers, Answers):
            msg = f"answers must be Answers, not {kind_of(answers)}"
            raise InvalidInput(msg)
        checkpoint = seen.recovery.checkpoint
        read = self.restart_snapshot(seen)
        command = SettleRecovery(
            owner,
            check_id("author", author),
            check_evidence(evidence),
            seen.ownership.generation,
            checkpoint.payload if checkpoint else None,
            read,
            answers,
        )
        if instead is None:
            answer = self._run(command, command_id)
            outcome, state = answer.outcome, answer.state
            changed: Mapping[str, State] = {}
        else:
            decided = self._shell.preview(command, _check_states(instead))
            streams = {draft.stream for draft in decided.drafts}
            changed = {stream: decided.states[stream] for stream in streams}
            outcome, state = decided.outcome, decided.states[owner.stream]
        if not isinstance(outcome, Recovered):
            msg = f"a command's stored outcome does not fit the command: {outcome}"
            raise Corrupt(msg)
        state = state or self._shell.state(owner.stream)
        goes_on = state.recovery.checkpoint is not None
        snapshot = read if goes_on and isinstance(read, RestartSnapshot) else None
        return Settlement(outcome, state, snapshot, changed)

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
            msg = f"a command's stored outcome does not fit the command: {outcome}"
            raise Corrupt(msg)
        return outcome


def _check_state(what: str, state: object) -> State:
    if not isinstance(state, State):
        msg = f"{what} must be what fresh_state returned, not {kind_of(state)}"
        raise InvalidInput(msg)
    return state


def _check_states(instead: object) -> Mapping[str, State]:
    if not isinstance(instead, Mapping):
        msg = f"instead must be a mapping, not {kind_of(instead)}"
        raise InvalidInput(msg)
    given = cast("Mapping[object, object]", instead)
    return {str(at): _check_state("instead", state) for at, state in given.items()}
