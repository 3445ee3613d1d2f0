"""Checkpoints, markers, bars, late results (design sections 7 and 13)."""

from __future__ import annotations

from collections.abc import Iterable

from tenure_ledger.decisions import bars, checkpoints, late
from tenure_ledger.errors import InvalidInput
from tenure_ledger.methods.base import (
    Methods,
    body,
    ids,
)
from tenure_ledger.payloads import PAYLOADS, RestartPayload
from tenure_ledger.snapshots import config_of, to_store
from tenure_ledger.values import (
    Authority,
    ChatExecutionKey,
    OwnerRef,
    ReplayReason,
    check_authority,
    check_choice,
    check_id,
    check_integer,
    check_owner,
    check_same_owner,
)
from tenure_ledger.views import ToolCall

__all__ = ["RecoveryMethods"]

_PAYLOADS = tuple(PAYLOADS.values())


class RecoveryMethods(Methods):
    """What a restart will be judged by."""

    def save_checkpoint(
        self,
        authority: Authority,
        payload: RestartPayload,
        execution_config: object = None,
        keys: Iterable[str] | None = None,
        revision: int | None = None,
        *,
        command_id: str | None = None,
    ) -> int:
        """Replace the agent's one live restart snapshot; return its version.

        ``payload`` is one of the four ``RuntimeRestart…`` classes, ``execution_config``
        an `ExecutionConfig` or any JSON. ``keys`` None: all executions of the term that
        are not settled. ``revision`` None: one above the stored. Raises
        `StaleCheckpoint` for a revision that is not above the stored one,
        `NotAdmitted`, `AlreadyDecided`, `FencedOut`.
        """
        if not isinstance(payload, _PAYLOADS):
            msg = "payload must be one of the four RuntimeRestart… payloads"
            raise InvalidInput(msg)
        if revision is not None:
            revision = check_integer("revision", revision, 0)
        stored = to_store(payload, execution_config)
        data = body("checkpoint", stored)
        config_of(stored["execution_config"])
        command = checkpoints.SaveCheckpoint(
            check_authority(authority),
            payload.MODE,
            data,
            None if keys is None else ids("keys", keys),
            revision,
        )
        return self._version(command, command_id)

    def clear_checkpoint(
        self,
        authority: Authority,
        reason: str = "done",
        revision: int | None = None,
        *,
        command_id: str | None = None,
    ) -> int:
        """Drop the live snapshot; return the version.

        With ``revision`` a snapshot of another revision stays. Raises `StaleCheckpoint`
        then, `FencedOut`.
        """
        if revision is not None:
            revision = check_integer("revision", revision, 0)
        command = checkpoints.ClearCheckpoint(
            check_authority(authority), check_id("reason", reason), revision
        )
        return self._version(command, command_id)

    def mark_output_started(
        self, authority: Authority, message_id: str, *, command_id: str | None = None
    ) -> int:
        """Record, before the first byte, that output for a person starts.

        Return the version. From now on the execution is never run again. Raises
        `NotAdmitted`, `AlreadyDecided`, `FencedOut`.
        """
        command = checkpoints.MarkOutput(
            check_authority(authority), check_id("message_id", message_id)
        )
        return self._version(command, command_id)

    def bar_replay(
        self,
        owner: OwnerRef,
        reason: ReplayReason,
        author: str,
        keys: Iterable[str] | None = None,
        *,
        command_id: str | None = None,
    ) -> int:
        """Record why work must not run again; return the version.

        ``keys`` None: all that is known at a lower version and not settled. What a
        person cancelled and nobody started is settled in the same step; whole-stream
        bars reach down to every child spawned before. Raises `UnknownOwner`,
        `OwnerEnded`, `NotFound`.
        """
        reason = check_choice("reason", reason, ReplayReason)
        command = bars.BarReplay(
            check_owner(owner),
            reason,
            check_id("author", author),
            None if keys is None else ids("keys", keys),
        )
        return self._version(command, command_id)

    def late_result(
        self,
        owner: OwnerRef,
        author: str,
        key_or_call: str | ChatExecutionKey | ToolCall | tuple[str, str],
        result: object,
        *,
        command_id: str | None = None,
    ) -> int:
        """Record what became of work whose holding ended; return the version.

        ``key_or_call``: a message id, a key, a `ToolCall` or ``(message_id, call_id)``.
        The first stands; a second returns its version. Raises `UnknownOwner`,
        `NotFound`, `NotAdmitted` (never an execution), `AlreadyDecided` (completed in
        time), `InvalidInput` while the live holding can report it itself.
        """
        message_id, call_id = _key_or_call(check_owner(owner), key_or_call)
        command = late.LateFact(
            check_owner(owner),
            check_id("author", author),
            message_id,
            call_id,
            body("result", result),
        )
        return self._version(command, command_id)


def _key_or_call(
    owner: OwnerRef,
    value: str | ChatExecutionKey | ToolCall | tuple[str, str],
) -> tuple[str, str | None]:
    match value:
        case ToolCall():
            check_same_owner(value.owner, owner)
            return (
                check_id("message_id", value.message_id),
                check_id("call_id", value.call_id),
            )
        case ChatExecutionKey():
            check_same_owner(OwnerRef(owner.recovery_class, value.session_id), owner)
            return value.physical_user_message_id, None
        case (message_id, call_id):
            return check_id("message_id", message_id), check_id("call_id", call_id)
        case _:
            return check_id("key_or_call", value), None
