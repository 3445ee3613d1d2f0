"""What the methods share: checks of arguments, and the way to the shell.

The checks are pure; what waits is ``_run``, ``_body`` and the shell's ``state``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from tenure_ledger.bodies import (
    Json,
    body_digest,
    body_value,
    encode_body,
    sound_body,
)
from tenure_ledger.decisions.work import (
    Asked,
    At,
    Body,
    Called,
    Command,
    Granted,
    Outcome,
)
from tenure_ledger.errors import Corrupt, InvalidInput
from tenure_ledger.folds.effects import Approval, Call
from tenure_ledger.grouping import Answer
from tenure_ledger.shell import Shell
from tenure_ledger.values import (
    IDS_MAX,
    Authority,
    Evidence,
    First,
    OwnerRef,
    check_id,
)
from tenure_ledger.views import ToolCall, call_state

__all__ = [
    "Methods",
    "body",
    "check_evidence",
    "check_first",
    "ids",
    "odd",
    "several",
    "stored_body",
]

T = TypeVar("T")


class Methods:
    """Runs commands and turns outcomes into what the caller gets."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    def _run(self, command: Command, command_id: str | None) -> Answer:
        if command_id is not None:
            command_id = check_id("command_id", command_id)
        return self._shell.run(command, command_id)

    def _authority(self, command: Command, command_id: str | None) -> Authority:
        outcome = self._run(command, command_id).outcome
        if not isinstance(outcome, Granted):
            raise odd(outcome)
        return outcome.authority

    def _version(self, command: Command, command_id: str | None) -> int:
        outcome = self._run(command, command_id).outcome
        if not isinstance(outcome, At):
            raise odd(outcome)
        return outcome.version

    def _approval(self, command: Command, command_id: str | None) -> Approval:
        answer = self._run(command, command_id)
        outcome = answer.outcome
        if not isinstance(outcome, Asked):
            raise odd(outcome)
        state = answer.state or self._shell.state(command.owner.stream)
        found = state.effects.approvals.get(outcome.request_id)
        if found is None:
            raise odd(outcome)
        return found

    def _tool_call(self, command: Command, command_id: str | None) -> ToolCall:
        answer = self._run(command, command_id)
        outcome = answer.outcome
        if not isinstance(outcome, Called):
            raise odd(outcome)
        state = answer.state or self._shell.state(command.owner.stream)
        call = state.effects.calls.get((outcome.key, outcome.call_id))
        if call is None:
            raise odd(outcome)
        return self._call_view(command.owner, call, fresh=outcome.fresh)

    def _call_view(self, owner: OwnerRef, call: Call, *, fresh: bool) -> ToolCall:
        result = None
        if call.result is not None:
            result = self._body(owner, call.result)
        return ToolCall(
            owner=owner,
            message_id=call.key,
            call_id=call.call_id,
            tool=call.tool,
            state=call_state(call, fresh=fresh),
            idempotency_key=call.idempotency_key,
            result=result,
            late=call.late > 0,
        )

    def _body(self, owner: OwnerRef, digest: str) -> Json:
        data = stored_body(self._shell, owner, digest)
        return None if data is None else body_value(data)


def stored_body(shell: Shell, owner: OwnerRef, digest: str) -> bytes | None:
    """Return a body as it was stored, None if it was erased; or raise `Corrupt`."""
    return sound_body(shell.store.body(owner.stream, digest), digest, owner)


def odd(outcome: Outcome) -> Corrupt:
    """Return the fault of an outcome that no command of this kind has."""
    return Corrupt(f"a command's stored outcome does not fit the command: {outcome}")


def check_first(first: object) -> First | None:
    """Return the first request, or raise `InvalidInput`."""
    if first is not None and not isinstance(first, First):
        msg = f"first must be a First, not {type(first).__name__}"
        raise InvalidInput(msg)
    return first


def check_evidence(evidence: object) -> Evidence:
    """Return the evidence, or raise `InvalidInput`."""
    if not isinstance(evidence, Evidence):
        msg = "evidence must be an Evidence: Evidence.gone(ledger.owner(ref))"
        raise InvalidInput(msg)
    return evidence


def ids(what: str, values: Iterable[object]) -> tuple[str, ...]:
    """Return ids without repeats, in the order given, or raise `InvalidInput`."""
    given = several(what, "ids", values)
    if len(given) > IDS_MAX:
        msg = f"{what} has more than {IDS_MAX} ids; that is all that is kept"
        raise InvalidInput(msg)
    found = dict.fromkeys(check_id(what, value) for value in given)
    # A set has no order of its own: the same set is the same command everywhere.
    unordered = isinstance(values, (set, frozenset))
    return tuple(sorted(found) if unordered else found)


def several(what: str, kind: str, values: Iterable[T]) -> list[T]:
    """Return the first of the values, one more than is kept, or raise `InvalidInput`.

    So a caller can say that there are too many, and never waits for an endless one.
    """
    if isinstance(values, (str, bytes)) or not _is_iterable(values):
        msg = f"{what} must be several {kind}, not {type(values).__name__}"
        raise InvalidInput(msg)
    return list(islice(values, IDS_MAX + 1))


def body(what: str, value: object) -> Body:
    """Return the body of a JSON value, or raise `InvalidInput`."""
    data = encode_body(what, value)
    return Body(body_digest(data), data)


def _is_iterable(values: object) -> bool:
    return isinstance(values, Iterable)
