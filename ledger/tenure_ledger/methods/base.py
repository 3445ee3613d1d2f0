"""What the methods share: checks of arguments, and the way to the shell.

The checks are pure; what waits is ``_run``, ``_body`` and the shell's ``state``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice

from tenure_ledger.bodies import Json, body_digest, body_value, encode_body
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
from tenure_ledger.values import Authority, First, OwnerRef, check_id
from tenure_ledger.views import ToolCall, call_state

__all__ = [
    "Methods",
    "body",
    "check_authority",
    "check_first",
    "check_moment",
    "check_owner",
    "check_same_owner",
    "check_seconds",
    "ids",
]

SECONDS_MAX = 10 * 366 * 86400.0
"""Ten years: a longer lease or time-out is a mistake in units."""
IDS_MAX = 10_000


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
            raise _odd(outcome)
        return outcome.authority

    def _version(self, command: Command, command_id: str | None) -> int:
        outcome = self._run(command, command_id).outcome
        if not isinstance(outcome, At):
            raise _odd(outcome)
        return outcome.version

    def _approval(self, command: Command, command_id: str | None) -> Approval:
        answer = self._run(command, command_id)
        outcome = answer.outcome
        if not isinstance(outcome, Asked):
            raise _odd(outcome)
        state = answer.state or self._shell.state(command.owner.stream)
        found = state.effects.approvals.get(outcome.request_id)
        if found is None:
            raise _odd(outcome)
        return found

    def _tool_call(self, command: Command, command_id: str | None) -> ToolCall:
        answer = self._run(command, command_id)
        outcome = answer.outcome
        if not isinstance(outcome, Called):
            raise _odd(outcome)
        state = answer.state or self._shell.state(command.owner.stream)
        call = state.effects.calls.get((outcome.key, outcome.call_id))
        if call is None:
            raise _odd(outcome)
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
        data = self._shell.store.body(owner.stream, digest)
        if data is None:
            return None
        if body_digest(data) != digest:
            msg = (
                f"the body {digest} of {owner} was changed in the store: restore it "
                "from a backup"
            )
            raise Corrupt(msg)
        return body_value(data)


def _odd(outcome: Outcome) -> Corrupt:
    return Corrupt(f"a command's stored outcome does not fit the command: {outcome}")


def check_owner(owner: object) -> OwnerRef:
    """Return the owner, or raise `InvalidInput`."""
    if not isinstance(owner, OwnerRef):
        msg = f"owner must be an OwnerRef, not {type(owner).__name__}"
        raise InvalidInput(msg)
    return owner


def check_same_owner(named: OwnerRef, owner: OwnerRef) -> None:
    """Raise `InvalidInput` when a call or a key is of another owner."""
    if named != owner:
        msg = f"this call or key is of {named}, not of {owner}: pass its own owner"
        raise InvalidInput(msg)


def check_authority(authority: object) -> Authority:
    """Return the authority, or raise `InvalidInput`: no write goes without one."""
    if not isinstance(authority, Authority):
        msg = (
            "authority must be the Authority that claim, succeed, take_over, advance "
            f"or spawn returned, not {type(authority).__name__}"
        )
        raise InvalidInput(msg)
    return authority


def check_first(first: object) -> First | None:
    """Return the first request, or raise `InvalidInput`."""
    if first is not None and not isinstance(first, First):
        msg = f"first must be a First, not {type(first).__name__}"
        raise InvalidInput(msg)
    return first


def check_seconds(what: str, seconds: object) -> float | None:
    """Return a length of time in seconds, or raise `InvalidInput`."""
    if seconds is None:
        return None
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        msg = f"{what} must be a number of seconds, not {type(seconds).__name__}"
        raise InvalidInput(msg)
    if not 0 <= seconds <= SECONDS_MAX:
        # A huge whole number has no text (and is no float) in Python.
        msg = f"{what} must be from 0 to {SECONDS_MAX:.0f} seconds"
        raise InvalidInput(msg)
    return float(seconds)


def check_moment(what: str, moment: object) -> datetime | None:
    """Return a time in UTC, or raise `InvalidInput`."""
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        msg = f"{what} must be a datetime with a time zone"
        raise InvalidInput(msg)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        msg = f"{what} is no time in UTC: {moment}"
        raise InvalidInput(msg) from None


def ids(what: str, values: Iterable[object]) -> tuple[str, ...]:
    """Return ids without repeats, in the order given, or raise `InvalidInput`."""
    if isinstance(values, (str, bytes)) or not _is_iterable(values):
        msg = f"{what} must be several ids, not {type(values).__name__}"
        raise InvalidInput(msg)
    given = list(islice(values, IDS_MAX + 1))
    if len(given) > IDS_MAX:
        msg = f"{what} has more than {IDS_MAX} ids; that is all that is kept"
        raise InvalidInput(msg)
    found = dict.fromkeys(check_id(what, value) for value in given)
    # A set has no order of its own: the same set is the same command everywhere.
    unordered = isinstance(values, (set, frozenset))
    return tuple(sorted(found) if unordered else found)


def body(what: str, value: object) -> Body:
    """Return the body of a JSON value, or raise `InvalidInput`."""
    data = encode_body(what, value)
    return Body(body_digest(data), data)


def _is_iterable(values: object) -> bool:
    return isinstance(values, Iterable)
