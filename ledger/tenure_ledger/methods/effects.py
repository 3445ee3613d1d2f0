"""Approvals and tool calls (design sections 7 and 13)."""

from __future__ import annotations

from tenure_ledger.decisions import approvals, calls
from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import CloseReason, Decision
from tenure_ledger.folds.effects import Approval
from tenure_ledger.methods.base import Methods, body
from tenure_ledger.values import (
    Authority,
    OwnerRef,
    check_authority,
    check_choice,
    check_id,
    check_optional_id,
    check_owner,
    check_same_owner,
    check_seconds,
)
from tenure_ledger.views import ToolCall

__all__ = ["EffectMethods", "arguments_digest"]


def arguments_digest(arguments: object) -> str:
    """Return the digest that binds an approval to a call's arguments (any JSON)."""
    return body("arguments", arguments).digest


class EffectMethods(Methods):
    """What acts on the world: once, or known to be unknown."""

    def request_approval(
        self,
        authority: Authority,
        call_id: str,
        tool: str,
        arguments_digest: str,
        policy_version: str,
        timeout: float | None = None,
        *,
        command_id: str | None = None,
    ) -> Approval:
        """Ask a person about one call; return the request.

        ``arguments_digest`` is `arguments_digest` of the call's arguments, ``timeout``
        seconds. The same call asked again has the open request. Raises `KeyReused`,
        `FencedOut`.
        """
        command = approvals.RequestApproval(
            check_authority(authority),
            check_id("call_id", call_id),
            check_id("tool", tool),
            check_id("arguments_digest", arguments_digest),
            check_id("policy_version", policy_version),
            check_seconds("timeout", timeout),
        )
        return self._approval(command, command_id)

    def decide_approval(
        self,
        owner: OwnerRef,
        request_id: str,
        decision: Decision,
        author: str,
        *,
        command_id: str | None = None,
    ) -> Approval:
        """Store a person's decision; return the request as it stands.

        The first decision wins. After the time-out the request is closed instead, and
        returned with reason ``expired``. Raises `UnknownOwner`, `NotFound`,
        `AlreadyDecided` (later ones).
        """
        decision = check_choice("decision", decision, Decision)
        command = approvals.DecideApproval(
            check_owner(owner),
            check_id("request_id", request_id),
            decision,
            check_id("author", author),
        )
        return self._approval(command, command_id)

    def close_approval(
        self,
        authority: Authority,
        request_id: str,
        reason: CloseReason = "expired",
        *,
        command_id: str | None = None,
    ) -> Approval:
        """Close a request that nobody will decide or use; return it as it stands.

        ``expired``: the holder's clock says that its time is over; it is no denial, and
        what was decided is never expired. ``void``: the call is not to be made any
        more. Raises `NotFound`, `AlreadyDecided`, `FencedOut`.
        """
        reason = check_choice("reason", reason, CloseReason)
        if reason == "cut":
            msg = "reason must be expired or void: a cut closes with its term"
            raise InvalidInput(msg)
        command = approvals.CloseApproval(
            check_authority(authority), check_id("request_id", request_id), reason
        )
        return self._approval(command, command_id)

    def intend_tool_call(
        self,
        authority: Authority,
        message_id: str,
        call_id: str,
        tool: str,
        arguments: object,
        *,
        command_id: str | None = None,
    ) -> ToolCall:
        """Record a call that waits for approval, without dispatching it.

        Raises `NotAdmitted` (not admitted, barred), `AlreadyDecided` (settled),
        `KeyReused`, `FencedOut`.
        """
        command = calls.IntendToolCall(
            check_authority(authority),
            check_id("message_id", message_id),
            check_id("call_id", call_id),
            check_id("tool", tool),
            body("arguments", arguments),
        )
        return self._tool_call(command, command_id)

    def begin_tool_call(
        self,
        authority: Authority,
        message_id: str,
        call_id: str,
        tool: str,
        arguments: object,
        approval: str | None = None,
        *,
        policy_version: str | None = None,
        command_id: str | None = None,
    ) -> ToolCall:
        """Ask whether to run a call; the ``fresh`` answer is given once.

        Intent, use of the approval and dispatch are one step. ``arguments`` is any
        JSON, ``approval`` a request id, ``policy_version`` the one in force now, where
        the approval is to be of that. Raises `NotAdmitted` (not admitted, barred, not
        approved), `AlreadyDecided`, `KeyReused` (another policy too), `NotFound` (no
        such approval), `FencedOut`.
        """
        approval = check_optional_id("approval", approval)
        command = calls.BeginToolCall(
            check_authority(authority),
            check_id("message_id", message_id),
            check_id("call_id", call_id),
            check_id("tool", tool),
            body("arguments", arguments),
            approval,
            check_optional_id("policy_version", policy_version),
        )
        return self._tool_call(command, command_id)

    def complete_tool_call(
        self,
        authority: Authority,
        call: ToolCall | tuple[str, str],
        result: object,
        *,
        command_id: str | None = None,
    ) -> int:
        """Record a call's result (any JSON); return its version.

        ``call`` is what `begin_tool_call` returned, or ``(message_id, call_id)``. Under
        an ended holding the result is kept as a late one, unless one is on record or
        the call is the live holding's own, and `FencedOut` or `OwnerEnded` is raised
        with the version of what is on record in ``.late``, if any. Raises `NotFound`,
        `NotAdmitted` (never dispatched), `AlreadyDecided`.
        """
        match call:
            case ToolCall():
                check_same_owner(call.owner, check_authority(authority).owner)
                message_id, call_id = call.message_id, call.call_id
            case (message_id, call_id):
                pass
            case _:
                msg = "call must be a ToolCall or (message_id, call_id)"
                raise InvalidInput(msg)
        command = calls.CompleteToolCall(
            check_authority(authority),
            check_id("message_id", message_id),
            check_id("call_id", call_id),
            body("result", result),
        )
        return self._version(command, command_id)
